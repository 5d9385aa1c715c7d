"""A small kernel of every family, for tests that are not about what kernels compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from support.kernels.attention_kernels import ATTENTION
from support.kernels.conv_testing import LANES, SAME, TARGET, AddScaleRelu
from support.kernels.indexing_kernels import INDEXING
from support.kernels.kernel_testing import with_transposed_b
from xdsl.dialects import math
from xdsl.dialects.builtin import f32, f64, i1, i64
from xdsl.ir import Attribute

from glow.backends.cpu.dialect.fused_rows import RowSumOp
from glow.backends.cpu.kernels.channelwise.depthwise import (
    DepthwiseSpec,
    build_depthwise,
)
from glow.backends.cpu.kernels.channelwise.planes import BlockedPlanes
from glow.backends.cpu.kernels.channelwise.pool import PoolSpec, build_pool
from glow.backends.cpu.kernels.convolution.conv2d import Conv2dSpec, build_conv2d
from glow.backends.cpu.kernels.convolution.direct_conv import (
    DirectConvSpec,
    build_direct_conv,
)
from glow.backends.cpu.kernels.convolution.fused_prologue import build_prologue_conv2d
from glow.backends.cpu.kernels.convolution.prologue_spec import PrologueConv2dSpec
from glow.backends.cpu.kernels.convolution.sparse_conv2d import build_sparse_conv2d
from glow.backends.cpu.kernels.convolution.sparse_conv2d_spec import SparseConv2dSpec
from glow.backends.cpu.kernels.elementwise import activations
from glow.backends.cpu.kernels.elementwise.kernel import (
    ElementwiseSpec,
    build_elementwise,
)
from glow.backends.cpu.kernels.matmul.batch_matmul import build_batch_matmul
from glow.backends.cpu.kernels.matmul.batch_matmul_spec import BatchMatmulSpec
from glow.backends.cpu.kernels.matmul.indexed_matmul import (
    IndexedMatmulSpec,
    build_indexed_matmul,
)
from glow.backends.cpu.kernels.matmul.matmul import build_matmul
from glow.backends.cpu.kernels.matmul.matmul_spec import MatmulSpec
from glow.backends.cpu.kernels.movement.gather import (
    GatherElementsSpec,
    GatherSpec,
    RepeatSpec,
    build_gather,
    build_gather_elements,
    build_repeat,
)
from glow.backends.cpu.kernels.movement.pack import PackSpec, build_pack, build_unpack
from glow.backends.cpu.kernels.movement.sample import SampleSpec, build_sample
from glow.backends.cpu.kernels.movement.transpose import (
    CopySpec,
    PadSpec,
    TransposeSpec,
    build_copy,
    build_pad,
    build_transpose,
)
from glow.backends.cpu.kernels.recurrence.kernel import RecurrenceSpec, build_recurrence
from glow.backends.cpu.kernels.recurrence.weights import StepShape
from glow.backends.cpu.kernels.reduction.arg_reduce import (
    ArgReduceSpec,
    build_arg_reduce,
)
from glow.backends.cpu.kernels.reduction.fused_rows import (
    FusedRowsSpec,
    RowOperand,
    build_fused_rows,
)
from glow.backends.cpu.kernels.reduction.layer_norm import (
    LayerNormSpec,
    build_layer_norm,
)
from glow.backends.cpu.kernels.reduction.local_response_norm import (
    LocalResponseNormSpec,
    build_local_response_norm,
)
from glow.backends.cpu.kernels.reduction.reduce import (
    REDUCTIONS,
    ReduceSpec,
    build_reduce,
)
from glow.backends.cpu.kernels.reduction.softmax import SoftmaxSpec, build_softmax
from glow.backends.cpu.kernels.reduction.structured import (
    Affine,
    Dimension,
    Operand,
    StructuredSpec,
    build_structured,
)
from glow.backends.cpu.kernels.reduction.structured import Window as StructuredWindow
from glow.backends.cpu.kernels.strassen.kernel import build_strassen
from glow.backends.cpu.kernels.strassen.linear_combinations import (
    StrassenCombinationsSpec,
    build_strassen_combinations,
)
from glow.backends.cpu.kernels.strassen.spec import StrassenSpec
from glow.backends.cpu.kernels.winograd.direct import (
    WinogradDirectSpec,
    build_winograd_direct,
)
from glow.backends.cpu.kernels.winograd.kernel import (
    build_winograd_phase,
    winograd_phases,
)
from glow.backends.cpu.kernels.winograd.pixel_sizes import (
    PixelSizesSpec,
    build_pixel_sizes,
)
from glow.backends.cpu.kernels.winograd.spec import WinogradSpec
from glow.backends.cpu.kernels.winograd.tiling import winograd_tiling
from glow.dialects import arith
from glow.lowering.loop_builder import math_functions
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.scalar_region import RegionEpilogue, ScalarRegion
from glow.lowering.loop_builder.window import Window

BuildKernel: TypeAlias = Callable[[], Kernel]

GELU_AND_ADD = RegionEpilogue(
    ScalarRegion.trace(
        lambda b, x, r, s, c: b.addf(b.mulf(activations.gelu(b, x), s), b.mulf(r, c)),
        [f32] * 4,
    ),
    ("full", "scalar", "channel"),
)
PLANES = BlockedPlanes(1, 20, Window((7, 9), (3, 3), (2, 2), pads=SAME), LANES)
LAYOUT = PackSpec(2, 20, (5, 7), LANES)


def conv2d(window: Window, inputs: int = 20, *, plain: bool = False) -> BuildKernel:
    """A blocked convolution with everything that may follow it."""
    spec = Conv2dSpec(
        2,
        inputs,
        24,
        window,
        lanes=LANES,
        has_bias=True,
        epilogue=AddScaleRelu(),
        plain_input=plain,
    )
    return lambda: build_conv2d("kernel", spec, TARGET)


def elementwise(region: ScalarRegion, *shapes: tuple[int, ...]) -> BuildKernel:
    """A region on inputs of those shapes; the first is the result's."""
    spec = ElementwiseSpec(shapes[0], shapes, region)
    return lambda: build_elementwise(spec, TARGET)


def sparse_conv2d() -> BuildKernel:
    """A convolution that reads the channels which a table names."""
    spec = SparseConv2dSpec(
        1,
        20,
        40,
        Window((5, 7), (3, 3), pads=SAME),
        lanes=LANES,
        tile_blocks=1,
        entries=(5 * -(-40 // LANES),),
    )
    return lambda: build_sparse_conv2d("kernel", spec, TARGET)


def prologue_conv2d() -> BuildKernel:
    """A 1 x 1 convolution with element-wise work on its input."""
    spec = Conv2dSpec(2, 20, 40, Window((5, 8), (1, 1)), lanes=LANES, has_bias=True)
    shape, channel = spec.input_type.get_shape(), (1, spec.input_blocks, 1, 1, LANES)
    region = ScalarRegion.trace(
        lambda b, x, y: b.maximumf(b.mulf(x, y), b.constant(0.0, f32)), [f32, f32]
    )
    work = ElementwiseSpec(shape, (shape, channel), region)
    fused = PrologueConv2dSpec(spec, work)
    return lambda: build_prologue_conv2d("kernel", fused, TARGET)


def unary(operation: type, element: Attribute = f32) -> BuildKernel:
    """A function of math on each element."""
    region = ScalarRegion.trace(lambda b, x: b.unary(operation, x), [element])
    return elementwise(region, (3, 50))


def choice() -> BuildKernel:
    """Booleans, integers and conversions."""
    region = ScalarRegion.trace(
        lambda b, c, x, n: b.select(c, x, b.cast(arith.SIToFPOp, n, f32)),
        [i1, f32, i64],
    )
    return elementwise(region, (70,), (70,), (70,))


def lstm_cell() -> BuildKernel:
    """A region with two results."""

    def cell(b, i, o, f, c, state):
        sigmoid, tanh = activations.sigmoid, math_functions.tanh
        new = b.addf(b.mulf(sigmoid(b, f), state), b.mulf(sigmoid(b, i), tanh(b, c)))
        return b.mulf(sigmoid(b, o), tanh(b, new)), new

    return elementwise(ScalarRegion.trace(cell, [f32] * 5), *[(3, 50)] * 5)


def recurrence(rows: int, units: int, **more: bool) -> BuildKernel:
    """A step whose cell has two gates, a second state and a number of each unit."""

    def cell(b, *values):
        first, second, x, y, hidden, state, number = values
        total = b.addf(b.mulf(first, x), b.mulf(second, y))
        return b.addf(total, hidden), b.fma(state, number, total)

    region = ScalarRegion.trace(cell, [f32] * 7)
    shape = StepShape(rows, units, 2, **more)
    return lambda: build_recurrence(
        RecurrenceSpec(shape, region, (True, False)), TARGET
    )


def batch_matmul(
    rows: int, columns: int, depth: int, *, transposed_b: bool = False
) -> BuildKernel:
    """A product of two computed matrices."""
    spec = BatchMatmulSpec.dense(
        (2,), rows, columns, depth, has_bias=True, epilogue=GELU_AND_ADD
    )
    if transposed_b:
        spec = with_transposed_b(spec)
    return lambda: build_batch_matmul(spec, TARGET)


def fused_rows(rows: int, extent: int) -> BuildKernel:
    """Rows less their sums."""
    region = ScalarRegion.trace(
        lambda b, x: b.subf(x, b.value(RowSumOp, (x,), f32)), [f32]
    )
    whole = RowOperand(rows, True)
    spec = FusedRowsSpec(rows, extent, (whole,), (whole,), region)
    return lambda: build_fused_rows(spec, TARGET)


def transposed_convolution() -> BuildKernel:
    """A plain loop nest that skips what lies outside."""
    step = ScalarRegion.trace(lambda b, acc, x, y: b.addf(acc, b.mulf(x, y)), [f32] * 3)
    source = StructuredWindow((Dimension(4, 1, (1, -1), 0, 2, exact=True),))
    operands = (Operand(4, source), Operand(3, Affine((0, 1))))
    spec = StructuredSpec((9,), (3,), operands, step)
    return lambda: build_structured(spec, TARGET)


def winograd(
    tile: int, kernel: int = 3, *, fused: bool = False
) -> dict[str, BuildKernel]:
    """The phases of a convolution."""
    spec = WinogradSpec(
        1, 20, 24, (9, 11), tile=tile, kernel=kernel, lanes=LANES, has_bias=True
    )
    tiling = winograd_tiling(spec, TARGET, 1, fused=fused)
    phases = winograd_phases(spec, TARGET, tiling)
    form = f"{kernel}x{kernel} {'fused' if fused else 'phase'}"
    return {
        f"winograd {tile} {form} {number}": partial(
            build_winograd_phase, "kernel", phase, TARGET, tiling
        )
        for number, phase in enumerate(phases)
    }


CONVOLUTIONS: dict[str, BuildKernel] = {
    "conv2d 3x3": conv2d(Window((5, 7), (3, 3), pads=SAME)),
    "conv2d 3x3 strided": conv2d(Window((7, 9), (3, 3), (2, 2), pads=SAME)),
    "conv2d 1x1": conv2d(Window((5, 7), (1, 1))),
    "conv2d 1x1 strided": conv2d(Window((5, 7), (1, 1), (2, 2))),
    "conv2d plain input": conv2d(
        Window((11, 13), (5, 5), (2, 2), pads=(2, 2, 2, 2)), 3, plain=True
    ),
    "conv2d one channel": conv2d(Window((6, 5), (3, 3), (2, 2), pads=SAME), 1),
    "conv2d sparse": sparse_conv2d(),
    "prologue conv2d": prologue_conv2d(),
    "depthwise": lambda: build_depthwise(
        "kernel", DepthwiseSpec(PLANES, has_bias=True), TARGET
    ),
    "grouped": lambda: build_depthwise(
        "kernel", DepthwiseSpec(replace(PLANES, group=4), has_bias=True), TARGET
    ),
    "plain conv2d": lambda: build_direct_conv(
        "kernel", DirectConvSpec(2, 6, 9, Window((5, 7), (3, 3), pads=SAME), 3), TARGET
    ),
    "max pool": lambda: build_pool("kernel", PoolSpec(PLANES, "max"), TARGET),
    "average pool": lambda: build_pool("kernel", PoolSpec(PLANES, "average"), TARGET),
    "global average pool": lambda: build_pool(
        "kernel",
        PoolSpec(BlockedPlanes(2, 20, Window((3, 5), (3, 5)), LANES), "average"),
        TARGET,
    ),
    "pack": lambda: build_pack("kernel", LAYOUT, TARGET),
    "unpack": lambda: build_unpack("kernel", LAYOUT, TARGET),
    **winograd(2),
    **winograd(4),
    **winograd(2, kernel=5),
    **winograd(4, fused=True),
    **winograd(6),
    "pixel sizes": lambda: build_pixel_sizes(PixelSizesSpec(2, 20, 35, LANES), TARGET),
    "winograd direct": lambda: build_winograd_direct(
        WinogradDirectSpec(
            WinogradSpec(1, 20, 24, (9, 11), lanes=LANES, has_bias=True)
        ),
        TARGET,
    ),
}

PRODUCTS: dict[str, BuildKernel] = {
    "matmul": lambda: build_matmul(
        MatmulSpec(7, 48, 5, has_bias=True, epilogue=GELU_AND_ADD), TARGET
    ),
    "matrix times vector": lambda: build_matmul(MatmulSpec(1, 10, 7), TARGET),
    "matmul that widens weights": lambda: build_matmul(
        MatmulSpec(2, 20, 6, widens=True), TARGET
    ),
    "batch matmul": batch_matmul(6, 17, 16),
    "batch matmul transposed": batch_matmul(6, 17, 16, transposed_b=True),
    "batch matmul of rows": batch_matmul(1, 21, 50, transposed_b=True),
    "indexed matmul": lambda: build_indexed_matmul(
        IndexedMatmulSpec(7, 20, 5, 3, LANES, reports=True), TARGET
    ),
    **ATTENTION,
    "recurrence": recurrence(1, 33),
    "recurrence of rows": recurrence(3, 32),
    "recurrence of bf16": recurrence(1, 34, widens=True),
    "strassen": lambda: build_strassen(StrassenSpec(18, 160, 34), TARGET),
    "strassen of two levels": lambda: build_strassen(
        StrassenSpec(36, 320, 20, levels=2), TARGET
    ),
    "strassen combinations": lambda: build_strassen_combinations(
        StrassenCombinationsSpec(6, 14), TARGET
    ),
    "sums of two levels": lambda: build_strassen_combinations(
        StrassenCombinationsSpec(8, 28, 2), TARGET
    ),
}

FUNCTIONS: dict[str, BuildKernel] = {
    "exp": unary(math.ExpOp),
    "log": unary(math.LogOp),
    "erf": unary(math.ErfOp),
    "erf of f64": unary(math.ErfOp, f64),
    "tanh": unary(math.TanhOp),
    "sqrt": unary(math.SqrtOp),
    "lstm cell": lstm_cell(),
    "choice": choice(),
}

ROWS: dict[str, BuildKernel] = {
    **{
        f"reduce {kind}": partial(
            build_reduce, ReduceSpec(kind, (3, 5, 33), (0, 2)), TARGET
        )
        for kind in REDUCTIONS
    },
    "reduce short rows": lambda: build_reduce(
        ReduceSpec("sum", (4, 3, 5, 7), (1, 3)), TARGET
    ),
    "softmax": lambda: build_softmax(SoftmaxSpec(4, 133), TARGET),
    "softmax of columns": lambda: build_softmax(SoftmaxSpec(2, 9, 30), TARGET),
    "fused rows": fused_rows(6, 40),
    "layer norm": lambda: build_layer_norm(LayerNormSpec(5, 100), TARGET),
    "arg max": lambda: build_arg_reduce(ArgReduceSpec(3, 40), TARGET),
    "arg max of columns": lambda: build_arg_reduce(ArgReduceSpec(2, 9, 20), TARGET),
    "local response norm": lambda: build_local_response_norm(
        LocalResponseNormSpec(2, 20, 30, 5), TARGET
    ),
}

MOVEMENT: dict[str, BuildKernel] = {
    "transpose": lambda: build_transpose(TransposeSpec((5, 20, 33), (2, 0, 1)), TARGET),
    "slice": lambda: build_copy(
        CopySpec((3, 13), (100, -3), (13, 1), 300, 39, 90, 0), TARGET
    ),
    "pad": lambda: build_pad(PadSpec((2, 3, 20), (0, 1, 1), (0, 2, 1), 7), TARGET),
    "gather": lambda: build_gather(GatherSpec(2, 10, 40, 6), TARGET),
    "gather inside": lambda: build_gather(
        GatherSpec(70, 10, 1, 6, inside=True), TARGET
    ),
    "repeat": lambda: build_repeat(RepeatSpec(3, 37, 2), TARGET),
    "sample": lambda: build_sample(SampleSpec(2, 10, 40, 6, 2), TARGET),
    "sample rows": lambda: build_sample(SampleSpec(70, 10, 1, 6, 9), TARGET),
    "gather elements": lambda: build_gather_elements(
        GatherElementsSpec((4, 5, 6), (3, 7, 6), 1), TARGET
    ),
    "transposed convolution": transposed_convolution(),
}

KERNELS = CONVOLUTIONS | PRODUCTS | FUNCTIONS | ROWS | MOVEMENT | INDEXING
