"""The steps that add one node: every node of the dialect has one."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from indexing_steps import INDEXING_STEPS
from random_graphs import F32, GraphMaker, Shape, Step, dtype_in
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.glow import BINARY, UNARY, CompareOp, LogicalOp
from glow.dialects.node import NodeOp, shape_of

BOOL = np.dtype(np.bool_)
BITS = (glow.BitwiseOp, glow.BitwiseUnaryOp)
INTEGERS = tuple(map(np.dtype, ("int8", "uint8", "int32", "int64")))
DIVISIONS = (glow.DivOp, glow.ModOp, glow.FmodOp)
POSITIVE = (glow.LogOp, glow.SqrtOp, glow.RsqrtOp)
SMALL = (glow.AsinOp, glow.AcosOp)


def domain(node: type[NodeOp], g: GraphMaker) -> np.dtype[Any] | None:
    """The element type that a node needs, if it is one of few."""
    if node is glow.NotOp or issubclass(node, LogicalOp):
        return BOOL
    return g.one_of(INTEGERS) if issubclass(node, BITS) else None


def unary(node: type[NodeOp], g: GraphMaker) -> None:
    """A function of one number, on its domain; sometimes with attributes."""
    x = g.tensor(dtype=domain(node, g) or F32)
    if node in POSITIVE:
        x = g.node(
            glow.AddOp,
            g.node(glow.AbsOp, x),
            g.constant(g.array(()) ** 2 + F32.type(1)),
        )
    elif node in SMALL:
        x = g.node(glow.TanhOp, x)
    elif node is glow.ReciprocalOp:
        x = g.node(glow.ExpOp, g.node(glow.TanhOp, x))
    elif node in (glow.ExpOp, glow.TanOp):
        x = g.node(glow.TanhOp, x)
    g.node(node, x, **ATTRIBUTES.get(node, lambda _: {})(g))


ATTRIBUTES: dict[type[NodeOp], Any] = {
    glow.ClipOp: lambda g: {
        "low": g.one_of((-1.0, 0.0, 0.5, float("-inf"))),
        "high": g.one_of((1.0, 6.0, float("inf"))),
    },
    glow.LeakyReluOp: lambda g: {"alpha": g.one_of((0.0, 0.1, 1.5))},
    glow.EluOp: lambda g: {"alpha": 0.5, "gamma": g.one_of((1.0, 2.0))},
    glow.HardSigmoidOp: lambda g: {"alpha": g.one_of((0.2, 1 / 6))},
}


def beside(g: GraphMaker, x: SSAValue) -> SSAValue:
    """A value that broadcasts with another one."""
    shape, dtype = shape_of(x), dtype_in(x)
    same = [v for v in g.values if v.type == x.type]
    if same and g.chance(0.6):
        return g.one_of(same)
    first = g.integer(0, len(shape))
    part = tuple(1 if g.chance(0.4) else size for size in shape[first:])
    return g.new(part, dtype)


def binary(node: type[NodeOp], g: GraphMaker) -> None:
    """A function of two numbers."""
    x = g.tensor(dtype=domain(node, g))
    if dtype_in(x) == BOOL and not issubclass(node, LogicalOp | CompareOp):
        x = g.tensor(dtype=F32)
    y = beside(g, x)
    if node is glow.PowOp:
        x = g.node(glow.AbsOp, x)
        y = g.constant(np.asarray(g.one_of((0.5, 1.0, 2.0, 3.0)), dtype_in(x)))
    elif node in DIVISIONS:
        divisor = np.asarray(g.one_of((1.0, 2.0, 3.0, -4.0)), dtype_in(x))
        y = g.constant(divisor)
    operands = (
        (y, x) if g.chance(0.3) and node not in (glow.PowOp, *DIVISIONS) else (x, y)
    )
    g.node(node, *operands)


def select(g: GraphMaker) -> None:
    """A choice between two values of one type."""
    x = g.tensor()
    condition = g.pick(
        lambda v: dtype_in(v) == BOOL and shape_of(v) == shape_of(x), shape_of(x), BOOL
    )
    g.node(glow.SelectOp, condition, x, beside(g, x))


def convert(g: GraphMaker) -> None:
    """Another element type."""
    x = g.tensor()
    g.node(glow.ConvertOp, x, result=(shape_of(x), g.dtype()))


def window(g: GraphMaker) -> dict[str, Any]:
    """A window that often fits."""
    plain = g.chance(0.5)
    return {
        "strides": [1, 1] if plain else [g.integer(1, 2), g.integer(1, 2)],
        "dilations": [1, 1] if plain else [g.integer(1, 2), 1],
        "pads": [g.integer(0, 1) for _ in range(4)],
    }


def conv2d(g: GraphMaker, x: SSAValue | None = None) -> SSAValue:
    """A convolution, mostly with constant weights."""
    x = g.tensor(4, F32) if x is None else x
    channels = shape_of(x)[1]
    group = g.one_of([n for n in (1, 1, channels, 2) if channels % n == 0])
    outputs = group * g.integer(1, 4)
    kernel = g.one_of(((1, 1), (1, 1), (3, 3), (2, 3)))
    fixed = g.constant if g.chance(0.8) else g.argument
    operands = [x, fixed(g.array((outputs, channels // group, *kernel)))]
    if g.chance(0.5):
        operands.append(fixed(g.array((outputs,))))
    return g.node(glow.Conv2dOp, *operands, group=group, **window(g))


def conv3d(g: GraphMaker) -> None:
    """A convolution over a volume."""
    x = g.tensor(5, F32)
    channels, plane = shape_of(x)[1], shape_of(x)[2:]
    kernel = [g.integer(1, min(size, 2)) for size in plane]
    g.node(glow.Conv3dOp, x, g.new((g.integer(1, 3), channels, *kernel)))


def conv_transpose(layer: type[glow.ConvTransposeOp], g: GraphMaker) -> None:
    """A transposed convolution, sometimes with a shift after it."""
    axes = layer.AXES
    x = g.tensor(axes + 2, F32)
    outputs = g.integer(1, 3)
    weights = g.new((shape_of(x)[1], outputs, *[2] * axes))
    bias = [g.new((outputs,))] if g.chance(0.5) else []
    strides = [g.integer(1, 2), *[1] * (axes - 1)]
    y = g.node(layer, x, weights, *bias, strides=strides)
    if g.chance(0.5):
        g.node(glow.AddOp, y, g.constant(g.array((outputs, *[1] * axes))))


def pool(node: type[NodeOp], g: GraphMaker) -> None:
    """A pool, sometimes over the whole plane."""
    x = g.tensor(4, F32)
    settings = window(g)
    kernel = list(g.one_of(((1, 1), (2, 2), (3, 3), shape_of(x)[2:])))
    settings["pads"] = [
        min(p, k - 1) for p, k in zip(settings["pads"], kernel * 2, strict=True)
    ]
    if node is glow.AvgPool2dOp:
        settings["count_include_pad"] = g.chance(0.5)
    g.node(node, x, kernel=kernel, ceil_mode=g.chance(0.2), **settings)


def matmul(g: GraphMaker) -> None:
    """A product with a constant or computed matrix."""
    x = g.tensor(g.one_of((2, 3, 4)), F32)
    left, right = g.chance(0.2), g.chance(0.3)
    shape = shape_of(x)
    depth = shape[-2] if left else shape[-1]
    matrix = (g.integer(1, 6), depth) if right else (depth, g.integer(1, 6))
    batch = g.one_of(((), (), shape[:-2]))
    y = g.new((*batch, *matrix))
    g.node(glow.MatmulOp, x, y, transpose_lhs=left, transpose_rhs=right)


def layer(g: GraphMaker) -> None:
    """A fully connected layer, or its ONNX form."""
    x = g.tensor(2, F32)
    depth, outputs = shape_of(x)[1], g.integer(1, 6)
    bias = [g.new(g.one_of(((outputs,), (outputs,))))] if g.chance(0.6) else []
    if g.chance(0.5):
        g.node(glow.FullyConnectedOp, x, g.new((depth, outputs)), *bias)
        return
    flipped = g.chance(0.5)
    weights = g.new((outputs, depth) if flipped else (depth, outputs))
    factors = {"alpha": g.one_of((1.0, 0.5)), "beta": g.one_of((1.0, 2.0))}
    g.node(glow.GemmOp, x, weights, *bias, transpose_rhs=flipped, **factors)


def batch_norm(g: GraphMaker) -> None:
    """A batch normalization, mostly with constants."""
    x = g.tensor(g.one_of((2, 4, 4)), F32)
    channels = shape_of(x)[1:2]
    fixed = g.constant if g.chance(0.8) else g.argument
    parameters = [fixed(g.array(channels)) for _ in range(3)]
    variance = fixed(np.abs(g.array(channels)) + F32.type(0.5))
    g.node(glow.BatchNormOp, x, *parameters, variance)


def layer_norm(g: GraphMaker) -> None:
    """A layer normalization."""
    x = g.tensor(g.integer(1, 3), F32)
    axis = g.integer(0, len(shape_of(x)) - 1)
    parameters = [g.new(shape_of(x)[axis:]) for _ in range(g.integer(1, 2))]
    g.node(glow.LayerNormOp, x, *parameters, axis=axis, epsilon=0.01)


def attention(g: GraphMaker) -> None:
    """Attention of heads that may share their keys, with and without a mask."""
    batch, heads = g.integer(1, 2), g.integer(1, 2)
    length, count, size = (g.integer(1, 4) for _ in range(3))
    queries = g.node(glow.TanhOp, g.new((batch, heads, length, size)))
    keys = g.new((batch, g.one_of((1, heads)), count, size))
    values = g.new((batch, heads, count, g.integer(1, 4)))
    mask = [g.new(g.one_of(((count,), (length, count))))] if g.chance(0.5) else []
    g.node(glow.AttentionOp, queries, keys, values, *mask, scale=g.one_of((1.0, 0.5)))


def local_response_norm(g: GraphMaker) -> None:
    """A normalization over neighbouring channels."""
    g.node(glow.LocalResponseNormOp, g.tensor(4, F32), size=g.integer(1, 3))


def along_axis(node: type[NodeOp], g: GraphMaker) -> None:
    """A softmax, or the place of an extreme."""
    x = g.tensor(g.integer(1, 4), F32)
    g.node(node, x, axis=g.integer(0, len(shape_of(x)) - 1))


def reduce(node: type[NodeOp], g: GraphMaker) -> None:
    """A reduction over some axes."""
    x = g.tensor(dtype=F32)
    axes = [axis for axis in range(len(shape_of(x))) if g.chance(0.5)]
    g.node(node, x, axes=axes, keepdims=g.chance(0.5))


def reshaped(g: GraphMaker, shape: Shape) -> Shape:
    """Another shape of as many elements."""
    rest, found = int(np.prod(shape)), list[int]()
    for _ in range(g.integer(0, 3)):
        factor = g.one_of([n for n in (1, 2, 3, 4, rest) if n and rest % n == 0] or [1])
        found.append(factor)
        rest //= max(factor, 1)
    return (*found, rest)


def reshape(g: GraphMaker) -> None:
    """Another shape."""
    x = g.tensor()
    g.node(glow.ReshapeOp, x, result=(reshaped(g, shape_of(x)), dtype_in(x)))


def transpose(g: GraphMaker) -> None:
    """Another order of axes."""
    x = g.tensor()
    permutation = [int(axis) for axis in g.random.permutation(len(shape_of(x)))]
    g.node(glow.TransposeOp, x, permutation=permutation)


def concat(g: GraphMaker) -> None:
    """A few tensors one after the other."""
    x = g.tensor(g.integer(1, 4))
    axis = g.integer(0, len(shape_of(x)) - 1)

    def fits(value: SSAValue) -> bool:
        sizes = list(shape_of(value))
        if len(sizes) != len(shape_of(x)) or dtype_in(value) != dtype_in(x):
            return False
        sizes[axis] = shape_of(x)[axis]
        return tuple(sizes) == shape_of(x)

    pieces = [g.pick(fits, shape_of(x), dtype_in(x)) for _ in range(g.integer(0, 2))]
    g.node(glow.ConcatOp, x, *pieces, axis=axis)


def slice_(g: GraphMaker) -> None:
    """A part, sometimes of every second element, sometimes backwards."""
    x = g.tensor()
    starts, sizes, steps = list[int](), list[int](), list[int]()
    for extent in shape_of(x):
        step = g.one_of((1, 1, 1, 2, -1))
        start = g.integer(0, extent - 1)
        room = (start if step < 0 else extent - 1 - start) // abs(step) + 1
        whole = g.chance(0.5)
        starts.append((extent - 1 if step < 0 else 0) if whole else start)
        sizes.append((extent - 1) // abs(step) + 1 if whole else g.integer(1, room))
        steps.append(step)
    g.node(glow.SliceOp, x, starts=starts, sizes=sizes, steps=steps)


def pad(g: GraphMaker) -> None:
    """Padding, sometimes cropping."""
    x = g.tensor()
    pads = [g.integer(0, 2) if g.chance(0.5) else 0 for _ in shape_of(x) * 2]
    if g.chance(0.2) and shape_of(x)[:1] > (1,):
        pads[0] = -1
    mode = g.one_of(("constant", "constant", "edge", "reflect", "wrap"))
    g.node(glow.PadOp, x, pads=pads, mode=mode, value=float(g.one_of((0.0, 0.0, 1.0))))


def broadcast(g: GraphMaker) -> None:
    """Repetition along axes of size 1 and new ones."""
    x = g.tensor()
    grown = [g.integer(1, 3) if size == 1 else size for size in shape_of(x)]
    target = (*g.shape(g.integer(0, 1)), *grown)[-4:]
    g.node(glow.BroadcastOp, x, result=(target, dtype_in(x)))


def tile(g: GraphMaker) -> None:
    """Repetition as a whole."""
    x = g.tensor(g.integer(0, 3))
    g.node(glow.TileOp, x, repeats=[g.integer(1, 2) for _ in shape_of(x)])


def gather(g: GraphMaker) -> None:
    """Picked elements, of which constant indices may be one slice."""
    x = g.tensor(g.integer(1, 3))
    axis = g.integer(0, len(shape_of(x)) - 1)
    extent = shape_of(x)[axis]
    indices = g.random.integers(-extent, extent, g.one_of(((), (1,), (3,), (2, 2))))
    if g.chance(0.4):
        indices = np.arange(g.integer(1, extent))
    fixed = g.constant if g.chance(0.7) else g.argument
    g.node(glow.GatherOp, x, fixed(np.asarray(indices, np.int64)), axis=axis)


def gather_elements(g: GraphMaker) -> None:
    """An element for each index."""
    x = g.tensor(g.integer(1, 3))
    axis = g.integer(0, len(shape_of(x)) - 1)
    extent, shape = shape_of(x)[axis], [g.integer(1, size) for size in shape_of(x)]
    shape[axis] = g.integer(1, 4)
    indices = g.random.integers(-extent, extent, shape)
    fixed = g.constant if g.chance(0.5) else g.argument
    g.node(glow.GatherElementsOp, x, fixed(np.asarray(indices, np.int64)), axis=axis)


def sample(g: GraphMaker) -> None:
    """Weighted sums of elements, some of which are outside."""
    x = g.tensor(g.integer(1, 4), F32)
    shape = shape_of(x)
    axis, table = g.integer(0, len(shape) - 1), (g.integer(1, 6), g.integer(1, 10))
    if g.chance(0.4):
        table = (*shape[:axis], *table)
    places = g.random.integers(-1, shape[axis] + 1, table)
    fixed = g.constant if g.chance(0.5) else g.argument
    operands = fixed(places.astype(np.int64)), g.new(table)
    g.node(glow.SampleOp, x, *operands, axis=axis, largest=g.chance(0.2))


RECURRENT: tuple[tuple[type[glow.RecurrentOp], dict[str, Any]], ...] = (
    (glow.LstmOp, {}), (glow.GruOp, {}), (glow.GruOp, {"linear_before_reset": True}),
    (glow.RnnOp, {"activation": "tanh"}), (glow.RnnOp, {"activation": "relu"}),
    (glow.RnnOp, {"activation": "sigmoid"}),
)  # fmt: skip


def recurrent(g: GraphMaker) -> None:
    """A short recurrence."""
    direction = g.one_of(("forward", "reverse", "bidirectional"))
    count = 2 if direction == "bidirectional" else 1
    layer, attributes = g.one_of(RECURRENT)
    x = g.tensor(3, F32)
    _, batch, size = shape_of(x)
    hidden = g.one_of((1, 2, 3, 18))
    columns = layer.GATES * hidden
    shapes = ((count, columns, size), (count, columns, hidden), (count, 2 * columns))
    state = (count, batch, hidden)
    operands = [g.new(shape) for shape in (*shapes, *[state] * layer.STATES)]
    g.node(layer, x, *operands, direction=direction, **attributes)


REDUCTIONS = (
    glow.ReduceSumOp, glow.ReduceMeanOp, glow.ReduceMaxOp, glow.ReduceMinOp,
    glow.ReduceProdOp,
)  # fmt: skip
AXIS_NODES = (glow.SoftmaxOp, glow.LogSoftmaxOp, glow.ArgMaxOp, glow.ArgMinOp)
UNARY_NODES = (*UNARY, *ATTRIBUTES)

STEPS: tuple[Step, ...] = (
    *(partial(unary, node) for node in dict.fromkeys(UNARY_NODES)),
    *(partial(binary, node) for node in BINARY),
    *(partial(reduce, node) for node in REDUCTIONS),
    *(partial(along_axis, node) for node in AXIS_NODES),
    select, convert, partial(pool, glow.MaxPool2dOp), partial(pool, glow.AvgPool2dOp),
    *(conv2d, matmul, layer, batch_norm) * 3, layer_norm, local_response_norm,
    attention, conv3d, partial(conv_transpose, glow.ConvTranspose2dOp),
    partial(conv_transpose, glow.ConvTranspose3dOp), gather_elements, sample,
    *(reshape, transpose, concat, slice_, pad, broadcast, tile, gather) * 3, recurrent,
    *INDEXING_STEPS,
)  # fmt: skip
