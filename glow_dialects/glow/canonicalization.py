"""Local simplifications of `glow` nodes, for xDSL's `canonicalize`.

`SIMPLIFICATIONS` maps a node class to functions; each returns what replaces the node (a
value that exists, or one new node) or None. They hold for every input, NaN included:
`x * 0` is only folded for integers. What computes with constants is `fold-constants`.

| function            | example                                                     |
|---------------------|-------------------------------------------------------------|
| neutral operands    | `x + 0`, `x * 1`, `max(x, x)`, `select` of a splat          |
| twice the same      | `neg neg x`, `relu relu x`, `clip clip x`, `relu clip x`    |
| identities          | transpose, reshape, slice, pad, broadcast, tile, concat     |
| two into one        | reshape of reshape, transpose of transpose, nested concat   |
| no element moves    | a transpose of axes of size 1 is a reshape                  |
| nothing twice       | a scatter of indices that are repeated along its runs       |
| of a splat          | reshape, transpose, slice, broadcast of a splat is a splat  |
| one form            | constants last, no explicit broadcasts, `x * 0.5` for `/ 2` |
| what was split      | adjacent slices, gathers of ranges, pads, conversions       |

Those of the last two rows stand in `simplify/arithmetic.py` and `simplify/movement.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import IntegerType, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.traits import Commutative

from glow.dialects.glow.activations import ClipOp, ReluOp
from glow.dialects.glow.arithmetic import ConvertOp, DivOp, MulOp, PowOp, SelectOp
from glow.dialects.glow.convolution import AvgPool2dOp, MaxPool2dOp
from glow.dialects.glow.elementwise import FACTS, BinaryOp, Facts
from glow.dialects.glow.indexing import GatherNDOp, ScatterOp
from glow.dialects.glow.matmul import MatmulOp
from glow.dialects.glow.normalization import (
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceProdOp,
    ReduceSumOp,
)
from glow.dialects.glow.shape import (
    BroadcastOp,
    ConcatOp,
    GatherOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    TileOp,
    TransposeOp,
)
from glow.dialects.glow.simplify import arithmetic, movement
from glow.dialects.glow.simplify.bounds import merge_bounds
from glow.dialects.glow.storage import ConstantOp, SplatOp
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.dialects.quantized import is_quantized
from glow.dialects.weights import constant_value

Replacement = SSAValue | NodeOp | None
Simplification = Callable[[NodeOp], Replacement]


def _result_type(op: NodeOp) -> TensorType[Attribute]:
    return cast(TensorType[Attribute], op.results[0].type)


def _is_integer(op: NodeOp) -> bool:
    return isinstance(_result_type(op).element_type, IntegerType)


def _uniform(value: SSAValue) -> float | int | None:
    """The number that all elements of a splat or small constant are."""
    owner = value.owner
    if is_quantized(cast("TensorType[Attribute]", value.type)):
        return None  # a stored integer is no number of the network
    if isinstance(owner, SplatOp):
        return owner.number
    if not isinstance(owner, ConstantOp) or owner.weight_name is not None:
        return None
    array = constant_value(value)
    if array is None or array.size == 0 or np.any(array != array.reshape(-1)[0]):
        return None
    return array.reshape(-1)[0].item()


def neutral_rhs(number: float) -> Simplification:
    """x for `x op number`."""

    def simplify(op: NodeOp) -> Replacement:
        lhs, rhs = op.inputs
        is_neutral = lhs.type == op.results[0].type and _uniform(rhs) == number
        return lhs if is_neutral else None

    return simplify


def neutral_lhs(number: float) -> Simplification:
    """x for `number op x`."""

    def simplify(op: NodeOp) -> Replacement:
        lhs, rhs = op.inputs
        is_neutral = rhs.type == op.results[0].type and _uniform(lhs) == number
        return rhs if is_neutral else None

    return simplify


def integer_product_with_zero(op: NodeOp) -> Replacement:
    """0 for `x * 0` of integers; a float might be NaN."""
    if _is_integer(op) and 0 in [_uniform(value) for value in op.inputs]:
        return SplatOp.from_number(0, _result_type(op))
    return None


def equal_operands(op: NodeOp) -> Replacement:
    """x for `op(x, x)` of an idempotent node."""
    lhs, rhs = op.inputs
    return lhs if lhs is rhs and lhs.type == op.results[0].type else None


def known_condition(op: NodeOp) -> Replacement:
    """The branch that a uniform condition selects."""
    condition, lhs, rhs = op.inputs
    number = _uniform(condition)
    chosen = rhs if number == 0 else lhs
    return chosen if number is not None and chosen.type == op.results[0].type else None


def inverse_of_itself(op: NodeOp) -> Replacement:
    """x for `op(op(x))`."""
    inner = op.inputs[0].owner
    if not isinstance(inner, NodeOp) or type(inner) is not type(op):
        return None
    return inner.inputs[0]


def idempotent(op: NodeOp) -> Replacement:
    """`op(x)` for `op(op(x))`."""
    inner = op.inputs[0].owner
    return op.inputs[0] if type(inner) is type(op) else None


def same_type(op: NodeOp) -> Replacement:
    """x when the result has its type and the node thus does nothing."""
    return op.inputs[0] if op.inputs[0].type == op.results[0].type else None


def identity_slice(op: NodeOp) -> Replacement:
    """x when everything is taken in order."""
    attributes = op.attributes_view()
    if any(start != 0 for start in attributes.ints("starts")):
        return None
    return same_type(op) if set(attributes.ints("steps")) <= {1} else None


def no_pads(op: NodeOp) -> Replacement:
    """x when all pads are 0."""
    return None if any(op.attributes_view().ints("pads")) else op.inputs[0]


def merge_reshapes(op: NodeOp) -> Replacement:
    """One reshape for two in a row."""
    inner = op.inputs[0].owner
    if not isinstance(inner, ReshapeOp):
        return None
    return ReshapeOp.build_node([inner.operands[0]], [_result_type(op)])


def merge_transposes(op: NodeOp) -> Replacement:
    """One transpose for two in a row, none where they cancel."""
    inner = op.inputs[0].owner
    if not isinstance(inner, TransposeOp):
        return None
    first = inner.attributes_view().ints("permutation")
    second = op.attributes_view().ints("permutation")
    permutation = [first[axis] for axis in second]
    return TransposeOp.build_node([inner.input], permutation=permutation)


def identity_transpose(op: NodeOp) -> Replacement:
    """x for a transpose that moves nothing; a reshape if only axes of size 1 move."""
    shape, permutation = (
        shape_of(op.inputs[0]),
        op.attributes_view().ints("permutation"),
    )
    moved = [axis for axis in permutation if shape[axis] != 1]
    if moved != sorted(moved):
        return None
    if shape_of(op.results[0]) == shape:
        return op.inputs[0]
    return ReshapeOp.build_node(op.inputs, [_result_type(op)])


def single_piece(op: NodeOp) -> Replacement:
    """x for a concatenation of one tensor."""
    return op.inputs[0] if len(op.inputs) == 1 else None


def nested_concat(op: NodeOp) -> Replacement:
    """One concatenation for a concatenation of concatenations along one axis.

    Inner ones with other readers stay: they are prefixes of the outer one in memory.
    """
    axis = op.attributes_view().int("axis")
    pieces: list[SSAValue] = []
    for value in op.inputs:
        inner = value.owner
        if (
            isinstance(inner, ConcatOp)
            and value.has_one_use()
            and inner.attributes_view().int("axis") == axis
        ):
            pieces.extend(inner.inputs)
        else:
            pieces.append(value)
    if len(pieces) == len(op.inputs):
        return None
    return ConcatOp.build_node(pieces, axis=axis)


def slice_of_piece(op: NodeOp) -> Replacement:
    """The piece, or its slice, for a slice inside one piece of a concatenation."""
    inner = op.inputs[0].owner
    if not isinstance(inner, ConcatOp):
        return None
    attributes = op.attributes_view()
    starts, sizes, steps = (
        list(attributes.ints(name)) for name in ("starts", "sizes", "steps")
    )
    axis = inner.attributes_view().int("axis")
    last, offset = starts[axis] + (sizes[axis] - 1) * steps[axis], 0
    for piece in inner.inputs:
        end = offset + shape_of(piece)[axis]
        if offset <= min(starts[axis], last) and max(starts[axis], last) < end:
            starts[axis] -= offset
            return SliceOp.build_node([piece], starts=starts, sizes=sizes, steps=steps)
        offset = end
    return None


def merge_slices(op: NodeOp) -> Replacement:
    """One slice for two in a row."""
    inner = op.inputs[0].owner
    if not isinstance(inner, SliceOp):
        return None
    first, second = inner.attributes_view(), op.attributes_view()
    triples = zip(
        first.ints("starts"), first.ints("steps"), second.ints("starts"), strict=True
    )
    starts = [start + offset * step for start, step, offset in triples]
    steps = _products(first.ints("steps"), second.ints("steps"))
    return SliceOp.build_node(
        [inner.input], starts=starts, sizes=second.ints("sizes"), steps=steps
    )


def _products(lhs: Sequence[int], rhs: Sequence[int]) -> list[int]:
    return [a * b for a, b in zip(lhs, rhs, strict=True)]


def moved_splat(op: NodeOp) -> Replacement:
    """A splat of the result's shape for a node that only moves a splat's elements."""
    inner = op.inputs[0].owner
    if not isinstance(inner, SplatOp):
        return None
    return SplatOp.build_node([], [_result_type(op)], value=inner.value)


def reduce_nothing(op: NodeOp) -> Replacement:
    """A reshape for a reduction over axes of size 1."""
    shape = shape_of(op.inputs[0])
    if any(shape[axis] != 1 for axis in op.attributes_view().ints("axes")):
        return None
    if element_of(op.inputs[0]) != element_of(op.results[0]):
        return None
    if op.inputs[0].type == op.results[0].type:
        return op.inputs[0]
    return ReshapeOp.build_node(op.inputs, [_result_type(op)])


_REDUCTIONS = (
    ReduceSumOp, ReduceMeanOp, ReduceMaxOp, ReduceMinOp,
    ReduceProdOp,
)  # fmt: skip

_SPECIFIC: dict[type[NodeOp], tuple[Simplification, ...]] = {
    MulOp: (integer_product_with_zero,),
    DivOp: (arithmetic.exact_reciprocal,),
    PowOp: (arithmetic.square,),
    SelectOp: (
        known_condition,
        arithmetic.equal_branches,
        arithmetic.negated_condition,
    ),
    ReluOp: (merge_bounds,),
    ClipOp: (merge_bounds, arithmetic.bounds_beyond_type),
    ConvertOp: (same_type, arithmetic.merge_conversions),
    ReshapeOp: (same_type, merge_reshapes, movement.split_transpose, moved_splat),
    TransposeOp: (merge_transposes, identity_transpose, moved_splat),
    ConcatOp: (
        single_piece,
        nested_concat,
        movement.adjacent_slices,
        movement.concat_of_reshapes,
    ),
    SliceOp: (identity_slice, moved_splat, slice_of_piece, merge_slices),
    PadOp: (no_pads, movement.merge_pads),
    GatherOp: (movement.gather_to_slice,),
    GatherNDOp: (movement.gather_of_all, movement.gather_of_slices),
    ScatterOp: (movement.indices_once,),
    MaxPool2dOp: (movement.identity_window,),
    AvgPool2dOp: (movement.identity_window,),
    MatmulOp: (movement.unbroadcast_matrix,),
    BroadcastOp: (same_type, moved_splat, movement.merge_broadcasts),
    TileOp: (same_type, moved_splat),
    **dict.fromkeys(_REDUCTIONS, (reduce_nothing,)),
}
"""Node class to what simplifies it but follows from no fact, tried in order."""


def _algebra(node: type[NodeOp], facts: Facts) -> Iterator[Simplification]:
    """What follows from the facts of an element-wise node."""
    if facts.neutral is not None:
        yield neutral_rhs(facts.neutral)
        if facts.commutative:
            yield neutral_lhs(facts.neutral)
    if facts.idempotent:
        yield equal_operands if issubclass(node, BinaryOp) else idempotent
    if facts.involution:
        yield inverse_of_itself


def _of_class(node: type[NodeOp]) -> tuple[Simplification, ...]:
    """What simplifies a class, in the order in which it is tried."""
    facts = FACTS.get(node)
    found = _SPECIFIC.get(node, ())
    if facts is not None:
        found = (*_algebra(node, facts), *found)
    if node.has_trait(Commutative):
        found = (*found, arithmetic.constant_last)
    if issubclass(node, _BROADCASTING):
        found = (*found, arithmetic.without_broadcasts)
    return found


_BROADCASTING = (BinaryOp, SelectOp)

SIMPLIFICATIONS = {
    node: found for node in (*FACTS, *_SPECIFIC) if (found := _of_class(node))
}
"""Node class to all that simplifies it."""


class Simplify(RewritePattern):
    """Applies the first simplification that holds; names and locations stay."""

    def __init__(self, simplifications: Sequence[Simplification]) -> None:
        self.simplifications = simplifications

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Replace the node if a simplification holds."""
        assert isinstance(op, NodeOp)
        for simplify in self.simplifications:
            new = simplify(op)
            if new is not None and SSAValue.get(new).type != op.results[0].type:
                raise TypeError(f"{op.name} cannot become a value of another type")
            if isinstance(new, NodeOp):
                new.location = op.location
                rewriter.replace(op, new)
                return
            if new is not None:
                rewriter.replace(op, (), (new,))
                return


PATTERNS: dict[type[Operation], tuple[RewritePattern, ...]] = {
    op_class: (Simplify(simplifications),)
    for op_class, simplifications in SIMPLIFICATIONS.items()
}
