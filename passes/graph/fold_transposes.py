"""Folds transposes into what can do without them: layers, reductions, repetitions.

| before                                  | after                                      |
|-----------------------------------------|--------------------------------------------|
| `layer(flatten(transpose(x)))`          | `layer'(flatten(x))`: rows of W reordered  |
| `reduce(transpose(x))`                  | `reduce'(x)`: other axes                   |
| `softmax(transpose(x))`                 | `transpose(softmax'(x))`                   |
| `pad(transpose(x))`, `slice`            | `transpose(pad'(x))`                       |
| `transpose(tile(x))`, of broadcast      | `tile'(transpose(x))`: fewer elements      |
| `batch_norm(transpose(x))`              | `transpose(batch_norm(x))`, same channels  |

`eliminate-transposes` then finds them beside each other. Each moves a transpose that
nothing else reads.
"""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weights import stored_value
from glow.passes.graph.eliminate_transposes import Permutation, inverse
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of, like, name_of
from glow.passes.rewriting.patterns import RewritePass


def transposed(value: SSAValue) -> tuple[SSAValue, Permutation] | None:
    """x and the permutation, for a value that is x transposed and has one reader."""
    owner = value.owner
    if not isinstance(owner, glow.TransposeOp) or not value.has_one_use():
        return None
    return owner.input, owner.attributes_view().ints("permutation")


def into_layer(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """Reorder the rows of the weights instead of the elements of the input."""
    flat, weights = op.inputs[0].owner, stored_value(op.inputs[1])
    if not isinstance(flat, glow.ReshapeOp) or weights is None or weights.ndim != 2:
        return None
    if isinstance(op, glow.MatmulOp) and (op.transpose_lhs or op.transpose_rhs):
        return None
    found = transposed(flat.input)
    shape, target = shape_of(flat.input), shape_of(flat.result)
    if found is None or len(target) != 2 or not op.inputs[0].has_one_use():
        return None
    x, permutation = found
    if target[0] != shape[0] or permutation[0] != 0 or target[1] != prod(shape[1:]):
        return None
    parts = weights.reshape(*shape[1:], weights.shape[1])
    order = [axis - 1 for axis in inverse(permutation)[1:]]
    moved = np.transpose(parts, (*order, len(order))).reshape(weights.shape)
    name = f"{name_of(op.inputs[1])}.reordered"
    value = builder.constant_like(op.inputs[1], moved, name)
    operands = [builder.reshape(x, target), value, *op.inputs[2:]]
    return builder.substitute(type(op), operands, attributes_of(op))


def into_reduction(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """Reduce the axes as they were; what remains is transposed, if it must be."""
    found = transposed(op.inputs[0])
    if found is None:
        return None
    x, permutation = found
    axes = op.attributes_view().ints("axes")
    attributes = {**attributes_of(op), "axes": sorted(permutation[a] for a in axes)}
    kept = list(permutation)
    if not op.attributes_view().has("keepdims"):
        kept = [permutation[a] for a in range(len(permutation)) if a not in axes]
    order = [sorted(kept).index(axis) for axis in kept]
    shape = [shape_of(op.results[0])[axis] for axis in inverse(order)]
    types = [like(op.results[0], shape)]
    reduced = builder.create(type(op), [x], attributes, types=types)
    return builder.transpose(reduced, order)


def below_axis_function(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """A softmax along the axis as it was, then the transpose."""
    found = transposed(op.inputs[0])
    if found is None:
        return None
    x, permutation = found
    axis = permutation[op.attributes_view().int("axis")]
    return builder.transpose(builder.node(type(op), x, axis=axis), permutation)


def below_pad(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """Padding of the axes as they were, then the transpose."""
    found = transposed(op.inputs[0])
    if found is None:
        return None
    x, permutation = found
    rank, back = len(permutation), inverse(permutation)
    pads = op.attributes_view().ints("pads")
    moved = [pads[axis] for axis in back] + [pads[rank + axis] for axis in back]
    attributes = {**attributes_of(op), "pads": moved}
    return builder.transpose(builder.create(glow.PadOp, [x], attributes), permutation)


def below_slice(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """A slice of the axes as they were, then the transpose."""
    found = transposed(op.inputs[0])
    if found is None:
        return None
    x, permutation = found
    back, view = inverse(permutation), op.attributes_view()
    parts = {
        name: [view.ints(name)[axis] for axis in back]
        for name in ("starts", "sizes", "steps")
    }
    return builder.transpose(builder.node(glow.SliceOp, x, **parts), permutation)


def below_batch_norm(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """The normalization first, where channels stay where they are."""
    found = transposed(op.inputs[0])
    if found is None or found[1][1] != 1:
        return None
    x, permutation = found
    result = builder.create(type(op), [x, *op.inputs[1:]], attributes_of(op))
    return builder.transpose(result, permutation)


def above_repetition(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """Transpose what is repeated, not the repetitions."""
    repeated = op.inputs[0].owner
    if not op.inputs[0].has_one_use():
        return None
    permutation = op.attributes_view().ints("permutation")
    if isinstance(repeated, glow.TileOp):
        counts = repeated.attributes_view().ints("repeats")
        moved = builder.transpose(repeated.input, permutation)
        repeats = [counts[axis] for axis in permutation]
        return builder.node(glow.TileOp, moved, repeats=repeats)
    if not isinstance(repeated, glow.BroadcastOp):
        return None
    shape = shape_of(repeated.input)
    if len(shape) != len(permutation) or shape == shape_of(repeated.result):
        return None
    moved = builder.transpose(repeated.input, permutation)
    return builder.create(glow.BroadcastOp, [moved], {}, types=[op.results[0].type])  # pyright: ignore[reportArgumentType]


REDUCTIONS = (
    glow.ReduceSumOp, glow.ReduceMeanOp, glow.ReduceMaxOp, glow.ReduceMinOp,
    glow.ReduceProdOp,
)  # fmt: skip


class FoldTransposesPass(RewritePass):
    """Fold transposes into layers and reductions, sink them below other nodes."""

    name = "fold-transposes"
    preserves = VALUES
    rewrites = {
        glow.FullyConnectedOp: (into_layer,),
        glow.MatmulOp: (into_layer,),
        **dict.fromkeys(REDUCTIONS, (into_reduction,)),
        glow.SoftmaxOp: (below_axis_function,),
        glow.LogSoftmaxOp: (below_axis_function,),
        glow.PadOp: (below_pad,),
        glow.SliceOp: (below_slice,),
        glow.BatchNormOp: (below_batch_norm,),
        glow.TransposeOp: (above_repetition,),
    }
