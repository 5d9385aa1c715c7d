"""The `glow` dialect: the typed graph of tensors (high-level and lowered nodes).

| file               | nodes                                                       |
|--------------------|-------------------------------------------------------------|
| `storage.py`       | weights, inline constants, splats                           |
| `elementwise.py`   | data-parallel arithmetic, logic, non-linearities, fusion    |
| `convolution.py`   | convolution and pooling                                     |
| `matmul.py`        | matrix products                                             |
| `normalization.py` | normalizations, softmax, reductions                         |
| `shape.py`         | element movement                                            |
| `recurrent.py`     | recurrent layers                                            |

A new node is one class in the file of its theme and its entry in that file's `OPS`;
`docs/add-an-operator.md` lists the tables that it also needs.
"""

from glow.dialects.glow import (
    convolution,
    elementwise,
    matmul,
    normalization,
    recurrent,
    shape,
    storage,
)
from glow.dialects.glow.convolution import (
    ACTIVATIONS,
    AvgPool2dOp,
    Conv2dOp,
    MaxPool2dOp,
    Pool2dOp,
)
from glow.dialects.glow.elementwise import *  # noqa: F403
from glow.dialects.glow.matmul import FullyConnectedOp, GemmOp, MatmulOp
from glow.dialects.glow.normalization import (
    ArgMaxOp,
    ArgMinOp,
    BatchNormOp,
    LayerNormOp,
    LocalResponseNormOp,
    LogSoftmaxOp,
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceOp,
    ReduceProdOp,
    ReduceSumOp,
    SoftmaxOp,
)
from glow.dialects.glow.recurrent import LstmOp
from glow.dialects.glow.shape import (
    BroadcastOp,
    ConcatOp,
    DynamicSliceOp,
    DynamicUpdateOp,
    GatherOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    TileOp,
    TransposeOp,
)
from glow.dialects.glow.storage import (
    MAX_INLINE_ELEMENTS,
    ConstantOp,
    SplatOp,
    scalar_attr,
    splat_number,
)
from glow.dialects.node import DataParallel, NodeOp
from glow.dialects.weight_table import WeightsAttr
from xdsl.ir import Dialect

NODES: tuple[type[NodeOp], ...] = (
    *storage.OPS,
    *elementwise.OPS,
    *convolution.OPS,
    *matmul.OPS,
    *normalization.OPS,
    *shape.OPS,
    *recurrent.OPS,
)

Glow = Dialect("glow", [*NODES, elementwise.YieldOp], [WeightsAttr])
