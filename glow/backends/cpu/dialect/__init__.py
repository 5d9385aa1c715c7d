"""The `cpu` dialect: nodes that only the CPU backend has (Glow's backend-specific nodes).

Blocked tensors are [N, C / lanes, H, W, lanes]: a pixel's `lanes` channels are one
vector. Lanes beyond the last channel are padding: written by nobody, read as nothing.
Weights are packed at compile time into the order in which the kernel reads them, so
they are one-dimensional here; shape facts that packing hides are attributes.

The `epilogue` region computes one result element from the accumulated one and one
element of each extra operand (residuals, scales), so activation and residual additions
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
| `epilogue.py`    | the base of nodes with an epilogue                      |
| `convolution.py` | convolutions                                            |
| `matmul.py`      | matrix products                                         |
| `attention.py`   | attention                                               |
| `recurrence.py`  | recurrent layers                                        |
| `dynamic.py`     | quantization of rows at run time                        |
| `int8.py`        | convolutions and products of bytes                      |
| `rows.py`        | softmax and layer normalization with an epilogue        |
| `embedding.py`   | rows of quantized tables                                |
"""

from xdsl.ir import Dialect

from glow.backends.cpu.dialect.attention import AttentionOp
from glow.backends.cpu.dialect.blocked import (
    LocalResponseNormOp,
    PackOp,
    UnpackOp,
    blocks,
)
from glow.backends.cpu.dialect.convolution import (
    BlockedWindowOp,
    Conv2dOp,
    DepthwiseConv2dOp,
    PlainConv2dOp,
    SparseConv2dOp,
    WinogradConv2dOp,
)
from glow.backends.cpu.dialect.dynamic import QuantizeRowsOp, RowRangeOp
from glow.backends.cpu.dialect.embedding import PARAMETER_BYTES, GatherRowsOp, row_bytes
from glow.backends.cpu.dialect.epilogue import (
    ConvertingOp,
    EpilogueOp,
    ExtraKind,
    extra_kind,
)
from glow.backends.cpu.dialect.int8 import (
    Int8BatchMatmulOp,
    Int8Conv2dOp,
    Int8DepthwiseConv2dOp,
    Int8MatmulOp,
    Int8Op,
    Int8WindowOp,
)
from glow.backends.cpu.dialect.matmul import (
    BatchMatmulOp,
    MatmulOp,
    QuadrantSumsOp,
    StrassenMatmulOp,
)
from glow.backends.cpu.dialect.recurrence import RecurrenceOp
from glow.backends.cpu.dialect.rows import LayerNormOp, RowOp, SoftmaxOp
from glow.dialects.node import NodeOp

__all__ = [
    "NODES", "PARAMETER_BYTES", "AttentionOp", "BatchMatmulOp", "BlockedWindowOp",
    "Conv2dOp", "ConvertingOp", "Cpu", "DepthwiseConv2dOp", "EpilogueOp", "ExtraKind",
    "GatherRowsOp", "Int8BatchMatmulOp", "Int8Conv2dOp", "Int8DepthwiseConv2dOp",
    "Int8MatmulOp", "Int8Op", "Int8WindowOp", "LayerNormOp", "LocalResponseNormOp",
    "MatmulOp", "PackOp", "PlainConv2dOp", "QuadrantSumsOp", "QuantizeRowsOp",
    "RecurrenceOp", "RowOp", "RowRangeOp", "SoftmaxOp", "SparseConv2dOp",
    "StrassenMatmulOp", "UnpackOp", "WinogradConv2dOp", "blocks", "extra_kind",
    "row_bytes",
]  # fmt: skip

NODES: tuple[type[NodeOp], ...] = (
    PackOp,
    UnpackOp,
    Conv2dOp,
    SparseConv2dOp,
    WinogradConv2dOp,
    DepthwiseConv2dOp,
    PlainConv2dOp,
    MatmulOp,
    BatchMatmulOp,
    QuadrantSumsOp,
    StrassenMatmulOp,
    AttentionOp,
    RecurrenceOp,
    LocalResponseNormOp,
    QuantizeRowsOp,
    GatherRowsOp,
    RowRangeOp,
    Int8Conv2dOp,
    Int8DepthwiseConv2dOp,
    Int8MatmulOp,
    Int8BatchMatmulOp,
    SoftmaxOp,
    LayerNormOp,
)

Cpu = Dialect("cpu", [*NODES], [])
