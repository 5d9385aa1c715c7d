"""The `glow` dialect: the typed graph of tensors (high-level and lowered nodes).

| file               | nodes                                                       |
|--------------------|-------------------------------------------------------------|
| `storage.py`       | weights, inline constants, splats                           |
| `state.py`         | variables, which keep their values between calls            |
| `arithmetic.py`    | element-wise arithmetic, comparison, logic, choice          |
| `bits.py`          | element-wise functions of the bits of integers              |
| `functions.py`     | element-wise functions of one number                        |
| `activations.py`   | element-wise non-linearities                                |
| `fused.py`         | scalar functions as regions                                 |
| `convolution.py`   | convolution and pooling                                     |
| `spatial_convolution.py` | convolution over volumes, transposed convolution      |
| `matmul.py`        | matrix products                                             |
| `normalization.py` | normalizations, softmax, reductions                         |
| `attention.py`     | attention                                                   |
| `training/`        | losses, steps of optimizers, quantization in floats         |
| `shape.py`         | element movement                                            |
| `sampling.py`      | weighted sums of elements at places that tables name        |
| `indexing.py`      | positions of several coordinates: gather_nd, scatter         |
| `segments.py`      | sums and largest elements of bags of rows                   |
| `recurrent.py`     | recurrent layers                                            |
| `quantization.py`  | rescaling, tables, profiles, integer and dynamic products   |

`elementwise.py` says how an element-wise node is defined, in one entry. Any other node is
one class in the file of its theme; `docs/add-an-operator.md` goes through both. This file
exports every node of these files, and lists none.
"""

from xdsl.ir import Dialect

from glow.dialects.glow import (
    activations,
    arithmetic,
    attention,
    bits,
    convolution,
    functions,
    fused,
    indexing,
    matmul,
    normalization,
    quantization,
    recurrent,
    sampling,
    segments,
    shape,
    spatial_convolution,
    state,
    storage,
)
from glow.dialects.glow.activations import *
from glow.dialects.glow.arithmetic import *
from glow.dialects.glow.attention import *
from glow.dialects.glow.bits import *
from glow.dialects.glow.convolution import *
from glow.dialects.glow.convolution import ACTIVATIONS as ACTIVATIONS
from glow.dialects.glow.elementwise import *
from glow.dialects.glow.elementwise import FACTS, BinaryOp, UnaryOp
from glow.dialects.glow.elementwise import ScalarNode as ScalarNode
from glow.dialects.glow.elementwise import broadcast_shape as broadcast_shape
from glow.dialects.glow.elementwise import is_integer as is_integer
from glow.dialects.glow.functions import *
from glow.dialects.glow.fused import *
from glow.dialects.glow.fused import YieldOp
from glow.dialects.glow.fused import verify_scalar_region as verify_scalar_region
from glow.dialects.glow.indexing import *
from glow.dialects.glow.matmul import *
from glow.dialects.glow.normalization import *
from glow.dialects.glow.quantization import *
from glow.dialects.glow.quantization import QuantizationProfileOp
from glow.dialects.glow.recurrent import *
from glow.dialects.glow.sampling import *
from glow.dialects.glow.segments import *
from glow.dialects.glow.shape import *
from glow.dialects.glow.spatial_convolution import *
from glow.dialects.glow.state import SaveOp as SaveOp
from glow.dialects.glow.state import VariableOp as VariableOp
from glow.dialects.glow.storage import *
from glow.dialects.glow.storage import MAX_INLINE_ELEMENTS as MAX_INLINE_ELEMENTS
from glow.dialects.glow.storage import scalar_attr as scalar_attr
from glow.dialects.glow.storage import splat_number as splat_number
from glow.dialects.glow.target import TargetAttr
from glow.dialects.glow.training import (
    adaptive,
    fake_quantization,
    layers,
    loss,
    optimizers,
)
from glow.dialects.glow.training.adaptive import *
from glow.dialects.glow.training.fake_quantization import *
from glow.dialects.glow.training.layers import *
from glow.dialects.glow.training.loss import *
from glow.dialects.glow.training.optimizers import *
from glow.dialects.node import DataParallel as DataParallel
from glow.dialects.node import NodeOp, nodes_of
from glow.dialects.quant import UnsignedStorageCastOp
from glow.dialects.simplification import Patterns, register_patterns
from glow.dialects.weight_table import WeightsAttr

NODES = nodes_of(
    storage,
    arithmetic,
    bits,
    functions,
    activations,
    fused,
    convolution,
    spatial_convolution,
    matmul,
    normalization,
    segments,
    shape,
    sampling,
    indexing,
    recurrent,
    attention,
    fake_quantization,
    layers,
    loss,
    optimizers,
    adaptive,
)

QUANTIZATION_NODES = nodes_of(quantization)
"""Nodes of quantized networks only; backends lower them before there are buffers."""

UNARY: tuple[type[NodeOp], ...] = tuple(n for n in FACTS if UnaryOp in n.__mro__)
BINARY: tuple[type[NodeOp], ...] = tuple(n for n in FACTS if BinaryOp in n.__mro__)


def _patterns() -> Patterns:
    from glow.dialects.glow.canonicalization import PATTERNS

    return PATTERNS


register_patterns("glow", _patterns)

Glow = Dialect(
    "glow",
    [
        *NODES,
        *QUANTIZATION_NODES,
        QuantizationProfileOp,
        UnsignedStorageCastOp,
        *state.OPS,
        YieldOp,
    ],
    [TargetAttr, WeightsAttr],
)
