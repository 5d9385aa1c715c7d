"""Simplifications of nodes that move elements, for `canonicalize`.

Rows of the table in `canonicalization`; here stand those that join what was taken apart.
"""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from glow.dialects.glow.indexing import ScatterOp
from glow.dialects.glow.matmul import MatmulOp
from glow.dialects.glow.shape import (
    BroadcastOp,
    ConcatOp,
    GatherOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from glow.dialects.glow.simplify.arithmetic import Replacement, result_type
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.dialects.weights import constant_value


def identity_window(op: NodeOp) -> Replacement:
    """x for a pool over single pixels, which may rescale quantized ones."""
    if op.inputs[0].type != op.results[0].type:
        return None
    attributes = op.attributes_view()
    is_identity = (
        set(attributes.ints("kernel")) == {1}
        and set(attributes.ints("strides")) == {1}
        and not any(attributes.ints("pads"))
    )
    return op.inputs[0] if is_identity else None


def adjacent_slices(op: NodeOp) -> Replacement:
    """Slices that follow each other in their tensor, joined as one slice."""
    axis = op.attributes_view().int("axis")
    pieces: list[SSAValue] = []
    block = op.parent
    assert block is not None
    for value in op.inputs:
        merged = _joined(pieces[-1], value, axis) if pieces else None
        if merged is None:
            pieces.append(value)
        else:
            block.insert_op_before(merged, op)
            pieces[-1] = merged.results[0]
    if len(pieces) == len(op.inputs):
        return None
    return ConcatOp.build_node(pieces, axis=axis)


def _joined(first: SSAValue, second: SSAValue, axis: int) -> NodeOp | None:
    """The slice that covers two slices of one tensor, if they touch along the axis."""
    one, two = first.owner, second.owner
    if not isinstance(one, SliceOp) or not isinstance(two, SliceOp):
        return None
    a, b = one.attributes_view(), two.attributes_view()
    starts, sizes = list(a.ints("starts")), list(a.ints("sizes"))
    steps = a.ints("steps")
    if one.input is not two.input or steps != b.ints("steps") or steps[axis] != 1:
        return None
    expected = list(starts)
    expected[axis] += sizes[axis]
    if expected != list(b.ints("starts")):
        return None
    sizes[axis] += b.ints("sizes")[axis]
    return SliceOp.build_node([one.input], starts=starts, sizes=sizes, steps=steps)


def concat_of_reshapes(op: NodeOp) -> Replacement:
    """One reshape of a concatenation for a concatenation of reshapes."""
    inner = [value.owner for value in op.inputs]
    sources = [o.input for o in inner if isinstance(o, ReshapeOp)]
    if len(sources) < max(len(inner), 2):
        return None
    target = shape_of(op.inputs[0])
    axis = _matching_axis(
        shape_of(sources[0]), target[: op.attributes_view().int("axis")]
    )
    if axis is None or not all(_agree(source, sources[0], axis) for source in sources):
        return None
    joined = ConcatOp.build_node(sources, axis=axis)
    block = op.parent
    assert block is not None
    block.insert_op_before(joined, op)
    return ReshapeOp.build_node([joined.result], [result_type(op)])


def _matching_axis(shape: tuple[int, ...], before: tuple[int, ...]) -> int | None:
    """The axis of `shape` with as many elements in front of it as `before` has."""
    for axis in range(len(shape)):
        if prod(shape[:axis]) == prod(before):
            return axis
    return None


def _agree(one: SSAValue, other: SSAValue, axis: int) -> bool:
    """Whether two values differ in the size of one axis at most."""
    sizes, others = list(shape_of(one)), list(shape_of(other))
    if len(sizes) != len(others):
        return False
    sizes[axis] = others[axis]
    return sizes == others


def split_transpose(op: NodeOp) -> Replacement:
    """A transpose of a reshape, for a reshape that splits axes of such a transpose.

    What an exporter merges and takes apart again, as it does with heads around a product of
    matrices of three axes, stays one transpose of the value.
    """
    moved = op.inputs[0].owner
    if not isinstance(moved, TransposeOp) or not op.inputs[0].has_one_use():
        return None
    merged = moved.input.owner
    if not isinstance(merged, ReshapeOp):
        return None
    permutation = moved.attributes_view().ints("permutation")
    groups = _groups(shape_of(op.inputs[0]), shape_of(op.results[0]))
    if groups is None:
        return None
    place_of = {axis: place for place, axis in enumerate(permutation)}
    order = [axis for source in range(len(groups)) for axis in groups[place_of[source]]]
    shape = [shape_of(op.results[0])[axis] for axis in order]
    source_type = TensorType(element_of(op.results[0]), shape)
    apart = ReshapeOp.build_node([merged.input], [source_type])
    block = op.parent
    assert block is not None
    block.insert_op_before(apart, op)
    back = [order.index(axis) for axis in range(len(order))]
    return TransposeOp.build_node([apart.result], permutation=back)


def _groups(shape: tuple[int, ...], target: tuple[int, ...]) -> list[list[int]] | None:
    """The axes of a shape that each axis of another one is split into, if it is."""
    groups: list[list[int]] = [[] for _ in shape]
    place = 0
    for group, size in zip(groups, shape, strict=True):
        while place < len(target) and prod(target[axis] for axis in group) < size:
            group.append(place)
            place += 1
        if prod(target[axis] for axis in group) != size:
            return None
    if groups:
        groups[-1] += range(place, len(target))  # Of size 1.
    return groups


def gather_to_slice(op: NodeOp) -> Replacement:
    """A slice for constant indices that follow each other."""
    source, indices = op.inputs
    array = constant_value(indices)
    axis = op.attributes_view().int("axis")
    extent = shape_of(source)[axis]
    if array is None or array.size == 0 or extent == 0:
        return None
    if element_of(source) != element_of(op.results[0]):
        return None  # rows of a table with a scale each become floats
    picked = array.reshape(-1).astype(np.int64)
    if picked.min() < -extent or picked.max() >= extent:
        return None  # an error to report when it runs
    picked = np.where(picked < 0, picked + extent, picked)
    if np.any(np.diff(picked) != 1):
        return None
    starts, sizes = [0] * len(shape_of(source)), list(shape_of(source))
    starts[axis], sizes[axis] = int(picked[0]), picked.size
    taken = SliceOp.build_node(
        [source], starts=starts, sizes=sizes, steps=[1] * len(sizes)
    )
    if taken.result.type == op.results[0].type:
        return taken
    block = op.parent
    assert block is not None
    block.insert_op_before(taken, op)
    return ReshapeOp.build_node([taken.result], [result_type(op)])


def gather_of_all(op: NodeOp) -> Replacement:
    """A reshape for constant positions of all elements in their order."""
    source, indices = op.inputs
    array = constant_value(indices)
    sizes = shape_of(source)
    if array is None or array.size == 0 or op.attributes_view().int("batch_dims"):
        return None
    extents = np.array(sizes[: array.shape[-1]])
    places = array.reshape(-1, len(extents)).astype(np.int64)
    if len(places) != prod(extents) or np.any((places < 0) | (places >= extents)):
        return None
    flat = np.ravel_multi_index(tuple(places.T), tuple(extents))
    if np.any(flat != np.arange(len(places))):
        return None
    return ReshapeOp.build_node([source], [result_type(op)])


def gather_of_slices(op: NodeOp) -> Replacement:
    """A gather along the first axis for positions of one coordinate."""
    source, indices = op.inputs
    *walked, count = shape_of(indices)
    if count != 1 or op.attributes_view().int("batch_dims"):
        return None
    block = op.parent
    assert block is not None
    kind = TensorType(element_of(indices), walked)
    places = ReshapeOp.build_node([indices], [kind])
    block.insert_op_before(places, op)
    return GatherOp.build_node([source, places.result], axis=0)


def merge_pads(op: NodeOp) -> Replacement:
    """One padding for two of the same number, neither of which crops."""
    inner = op.inputs[0].owner
    if not isinstance(inner, PadOp):
        return None
    outer_view, inner_view = op.attributes_view(), inner.attributes_view()
    first, second = inner_view.ints("pads"), outer_view.ints("pads")
    constant = {view.string("mode") for view in (outer_view, inner_view)} == {
        "constant"
    }
    same = outer_view.float("value") == inner_view.float("value")
    if not constant or not same or min((*first, *second), default=0) < 0:
        return None
    pads = [a + b for a, b in zip(first, second, strict=True)]
    return PadOp.build_node([inner.input], pads=pads, value=outer_view.float("value"))


def merge_broadcasts(op: NodeOp) -> Replacement:
    """One broadcast for two in a row."""
    inner = op.inputs[0].owner
    if not isinstance(inner, BroadcastOp):
        return None
    return BroadcastOp.build_node([inner.input], [result_type(op)])


def unbroadcast_matrix(op: NodeOp) -> Replacement:
    """A product reads a matrix that is repeated for a batch once."""
    operands = list(op.inputs)
    owner = operands[1].owner
    if not isinstance(owner, BroadcastOp) or len(shape_of(owner.input)) < 2:
        return None
    if shape_of(owner.input)[-2:] != shape_of(operands[1])[-2:]:
        return None
    batch = np.broadcast_shapes(shape_of(operands[0])[:-2], shape_of(owner.input)[:-2])
    if batch != shape_of(op.results[0])[:-2]:
        return None
    return MatmulOp.build_node(
        [operands[0], owner.input],
        [result_type(op)],
        transpose_lhs=op.attributes_view().has("transpose_lhs"),
        transpose_rhs=op.attributes_view().has("transpose_rhs"),
    )


def indices_once(op: NodeOp) -> Replacement:
    """A scatter of whole runs, for indices that are repeated for each element of them."""
    data, indices, updates = op.inputs
    reshape = indices.owner
    repeated = reshape.input if isinstance(reshape, ReshapeOp) else indices
    *walked, count = shape_of(indices)
    broadcast = repeated.owner
    if count != 1 or shape_of(repeated) not in (tuple(walked), (*walked, 1)):
        return None
    if not isinstance(broadcast, BroadcastOp):
        return None
    source = shape_of(broadcast.input)
    once = (1,) * (len(shape_of(repeated)) - len(source)) + source
    kept = len(walked)
    while kept > 1 and once[kept - 1] == 1:
        kept -= 1
    if kept == len(walked) or once[:kept] != tuple(walked[:kept]):
        return None
    block, view = op.parent, op.attributes_view()
    assert block is not None
    kind = TensorType(element_of(indices), [*walked[:kept], 1])
    fewer = ReshapeOp.build_node([broadcast.input], [kind])
    block.insert_op_before(fewer, op)
    return ScatterOp.build_node(
        [data, fewer.result, updates],
        coordinates=view.ints("coordinates"),
        reduction=view.string("reduction"),
    )
