"""The `cpu` dialect: nodes that only the CPU backend has (Glow's backend-specific nodes).

Blocked tensors are [N, C / lanes, H, W, lanes]: a pixel's `lanes` channels are one
vector. Lanes beyond the last channel are padding: written by nobody, read as nothing.
Weights are packed at compile time into the order in which the kernel reads them, so
they are one-dimensional here; shape facts that packing hides are attributes.

The `epilogue` region computes one result element from the accumulated one and one
element of each epilogue operand (residuals, scales), so activation and residual additions
cost no pass over memory:

    %y = cpu.conv2d %x, %w, %b, %residual input_channels 64 output_channels 64
        kernel [3, 3] pads [1, 1, 1, 1] {
    ^bb0(%sum: f32, %r: f32):
      %s = arith.addf %sum, %r : f32
      %zero = arith.constant 0.0 : f32
      %m = arith.maximumf %s, %zero : f32
      glow.yield %m
    } : tensor<1x4x56x56x16xf32>

| file             | nodes                                                   |
|------------------|---------------------------------------------------------|
| `blocked.py`     | packing into channel blocks and back, normalization     |
| `config.py`      | how kernels were configured                             |
| `epilogue.py`    | the base of nodes with an epilogue                      |
| `convolution.py` | convolutions                                            |
| `matmul.py`      | matrix products                                         |
| `indexed.py`     | products with matrices that indices name                |
| `attention.py`   | attention                                               |
| `recurrence.py`  | recurrent layers                                        |
| `dynamic.py`     | quantization of rows at run time                        |
| `int8.py`        | convolutions and matmuls of int8                        |
| `requantize.py`  | sums as bytes                                           |
| `rows.py`        | softmax and layer normalization with an epilogue        |
| `fused_rows.py`  | sums over rows with element-wise work around them       |
| `embedding.py`   | rows of quantized tables                                |
| `weights.py`     | weights of convolutions that are packed at run time     |
"""

from xdsl.ir import Dialect

from glow.backends.cpu.dialect import (
    attention,
    blocked,
    convolution,
    dynamic,
    embedding,
    fused_rows,
    indexed,
    int8,
    matmul,
    recurrence,
    requantize,
    rows,
    weights,
)
from glow.backends.cpu.dialect.attention import *
from glow.backends.cpu.dialect.blocked import *
from glow.backends.cpu.dialect.blocked import blocks as blocks
from glow.backends.cpu.dialect.config_attributes import CONFIGS
from glow.backends.cpu.dialect.convolution import *
from glow.backends.cpu.dialect.dynamic import *
from glow.backends.cpu.dialect.embedding import *
from glow.backends.cpu.dialect.embedding import PARAMETER_BYTES as PARAMETER_BYTES
from glow.backends.cpu.dialect.embedding import row_bytes as row_bytes
from glow.backends.cpu.dialect.epilogue import *
from glow.backends.cpu.dialect.epilogue import OperandKind as OperandKind
from glow.backends.cpu.dialect.epilogue import operand_kind as operand_kind
from glow.backends.cpu.dialect.fused_rows import *
from glow.backends.cpu.dialect.fused_rows import RowSumOp as RowSumOp
from glow.backends.cpu.dialect.indexed import *
from glow.backends.cpu.dialect.int8 import *
from glow.backends.cpu.dialect.matmul import *
from glow.backends.cpu.dialect.recurrence import *
from glow.backends.cpu.dialect.requantize import *
from glow.backends.cpu.dialect.rows import *
from glow.backends.cpu.dialect.weights import *
from glow.dialects.node import nodes_of

NODES = nodes_of(
    blocked,
    convolution,
    weights,
    matmul,
    indexed,
    attention,
    recurrence,
    dynamic,
    embedding,
    int8,
    requantize,
    rows,
    fused_rows,
)

Cpu = Dialect("cpu", [*NODES, RowSumOp], [*CONFIGS])
