"""`linalg.generic`, `map` and `reduce`, by what their bodies do.

A body whose dimensions are all parallel is element-wise; a sum of products of two operands is a
contraction, or a convolution where a map adds dimensions; other reductions are the reduction of
an element-wise function; a body with two results and the position is an argmax.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import prod

import numpy as np
from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import (
    AffineConstantExpr,
    AffineDimExpr,
    AffineMap,
)

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.linalg import IndexOp
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.frontends.formulas.extremes import Pair, Scalars, find_extreme, run_body
from glow.frontends.graph_builder import BUDGET
from glow.frontends.linalg.generic_products import sum_of_products
from glow.frontends.linalg.iteration import Generic, body_of, combined
from glow.frontends.linalg.linalg_builder import Handlers, LinalgBuilder
from glow.frontends.linalg.scalars import Body, evaluate, signed_predicate

REDUCTIONS: Mapping[str, tuple[type[NodeOp], type[NodeOp], float]] = {
    "add": (glow.ReduceSumOp, glow.AddOp, 0),
    "max": (glow.ReduceMaxOp, glow.MaxOp, float("-inf")),
    "min": (glow.ReduceMinOp, glow.MinOp, float("inf")),
    "mul": (glow.ReduceProdOp, glow.MulOp, 1),
}
"""Over axes, of two values, and the number that changes nothing."""

OF_TRUTH = {"and": "min", "or": "max", "mul": "min"}
"""On i1."""


def generic(builder: LinalgBuilder) -> Sequence[SSAValue]:
    """By its iterators and its body."""
    what = Generic.read(builder.op)
    if not what.reduced:
        return elementwise(builder, what)
    if len(builder.op.results) == 2:
        return arg_reduce(builder, what)
    if len(builder.op.results) != 1:
        raise GlowError(f"a reduction of {len(builder.op.results)} results")
    return [sum_of_products(builder, what) or reduction(builder, what)]


def elementwise(builder: LinalgBuilder, what: Generic) -> list[SSAValue]:
    """All dimensions are parallel: the result's map says in which order."""
    count = len(builder.ins)
    access = what.maps[count]
    places = _places(access)
    shape = [what.sizes[dim] for dim in places]
    rank = len(places)
    operands: list[SSAValue | None] = []
    for number, value in enumerate(builder.ins):
        operands.append(_aligned(builder, value, what.maps[number], places, rank))
    for number, _ in enumerate(builder.outs):
        start = builder.start(number)
        operands.append(
            None
            if start is None
            else _aligned(builder, start, what.maps[count + number], places, rank)
        )
    found = _evaluate_in(builder, operands, shape, places)
    return [_fit(builder, value, shape) for value in found]


def _evaluate_in(
    builder: LinalgBuilder,
    operands: Sequence[SSAValue | None],
    shape: Sequence[int],
    places: Mapping[int, int],
) -> list[SSAValue]:
    block = body_of(builder)
    if any(isinstance(op, IndexOp) for op in block.ops) and list(places) != sorted(
        places
    ):
        raise GlowError("positions in a body whose result is transposed")
    return evaluate(builder, block, operands, shape)


def _fit(builder: LinalgBuilder, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """In the full shape: axes in front and repetitions come last."""
    rank = len(shape)
    own = shape_of(value)
    if len(own) < rank and prod(own) == prod(shape):
        return builder.reshape(value, shape)
    return builder.spread(value, shape)


def _places(access: AffineMap) -> dict[int, int]:
    """The axis of the result that each dimension is."""
    places: dict[int, int] = {}
    for axis, expression in enumerate(access.results):
        if not isinstance(expression, AffineDimExpr):
            raise GlowError(f"a result at {expression}")
        places[expression.position] = axis
    return places


def _aligned(
    builder: LinalgBuilder,
    value: SSAValue,
    access: AffineMap,
    places: Mapping[int, int],
    rank: int,
) -> SSAValue:
    if not shape_of_or_scalar(value):
        return value if hasattr(value.type, "shape") else _scalar(builder, value)
    return builder.align(value, access, places, rank)


def shape_of_or_scalar(value: SSAValue) -> tuple[int, ...]:
    """The shape; none of what is no tensor."""
    return shape_of(value) if hasattr(value.type, "shape") else ()


def _scalar(builder: LinalgBuilder, value: SSAValue) -> SSAValue:
    return Body(builder, ()).number(builder.scalar(value), value.type)


def reduction(builder: LinalgBuilder, what: Generic) -> SSAValue:
    """The reduction of an element-wise function of the operands."""
    if not all(_is_plain(access) for access in what.maps):
        raise GlowError("a reduction over windows that is no convolution")
    if prod(what.sizes) > 4 * BUDGET:
        raise GlowError("a reduction of products of several operands is too large")
    block, count = body_of(builder), len(builder.ins)
    kind, term = combined(block, 0, block.args[-1])
    rank, places = len(what.sizes), {dim: dim for dim in range(len(what.sizes))}
    body = Body(builder, what.sizes)
    for argument, value, access in zip(
        block.args, builder.ins, what.maps, strict=False
    ):
        body.values[argument] = _aligned(builder, value, access, places, rank)
    steps = [op for op in block.ops if block.args[-1] not in op.operands]
    body.run([op for op in steps if op is not block.last_op])
    value = _fit(builder, body.value(term), what.sizes)
    result = reduce_axes(builder, value, kind, what.reduced)
    result = _in_order(builder, result, what, what.maps[count])
    return begin_with(builder, result, kind, 0)


def _is_plain(access: AffineMap) -> bool:
    return all(
        isinstance(one, AffineDimExpr | AffineConstantExpr) for one in access.results
    )


def reduce_axes(
    builder: LinalgBuilder, value: SSAValue, kind: str, axes: Sequence[int]
) -> SSAValue:
    """A reduction that keeps its axes."""
    is_truth = element_of(value) == i1
    if is_truth:
        value, kind = builder.convert(value, i32), OF_TRUTH.get(kind, kind)
    if kind not in REDUCTIONS:
        raise GlowError(f"a reduction by {kind} is not supported")
    node = REDUCTIONS[kind][0]
    result = builder.node(node, value, axes=list(axes), keepdims=True)
    return builder.convert(result, i1) if is_truth else result


def _in_order(
    builder: LinalgBuilder, value: SSAValue, what: Generic, access: AffineMap
) -> SSAValue:
    """What kept its axes in the order and shape of the result."""
    kept = [one.position for one in access.results if isinstance(one, AffineDimExpr)]
    rest = [dim for dim in range(len(what.sizes)) if dim not in kept]
    moved = value if kept == sorted(kept) else builder.transpose(value, [*kept, *rest])
    return builder.reshape(moved, builder.result.get_shape())


def begin_with(
    builder: LinalgBuilder, result: SSAValue, kind: str, number: int
) -> SSAValue:
    """What a reduction begins with is combined last; nothing where it changes nothing."""
    start = builder.start(number)
    if start is None:
        raise GlowError("a reduction that begins with no values")
    if element_of(result) == i1:
        node = {"and": glow.AndOp, "mul": glow.AndOp}.get(kind, glow.OrOp)
        array = builder.known(start)
        neutral = node is glow.AndOp
        if array is not None and (array == neutral).all():
            return result
        return builder.node(node, result, start)
    _, step, neutral = REDUCTIONS[kind]
    return (
        result
        if _is_neutral(builder, start, neutral)
        else builder.node(step, result, start)
    )


def _is_neutral(builder: LinalgBuilder, start: SSAValue, neutral: float) -> bool:
    array = builder.known(start)
    if array is None or array.size == 0:
        return False
    if array.dtype.kind in "iu":
        bounds = np.iinfo(array.dtype.name)
        neutral = float(np.clip(neutral, float(bounds.min), float(bounds.max)))
        return float(array.flat[0]) == neutral and bool((array == array.flat[0]).all())
    number, lowest = float(array.flat[0]), abs(float(array.flat[0]))
    largest = float(np.finfo(np.float32).max)
    is_end = (
        np.isinf(neutral) and np.sign(number) == np.sign(neutral) and lowest >= largest
    )
    return bool((array == array.flat[0]).all()) and (number == neutral or bool(is_end))


def arg_reduce(builder: LinalgBuilder, what: Generic) -> list[SSAValue]:
    """The largest or smallest element and where it is."""
    block = body_of(builder)
    extreme = find_extreme(partial(_kept, block))
    if extreme is None or len(what.reduced) != 1 or len(builder.ins) != 1:
        raise GlowError(
            "a reduction of two results that is no argmax or argmin of numbers with signs"
        )
    (reduced,) = what.reduced
    kind = "max" if extreme.largest else "min"
    rank, places = len(what.sizes), {dim: dim for dim in range(len(what.sizes))}
    value = _fit(
        builder, builder.align(builder.ins[0], what.maps[0], places, rank), what.sizes
    )
    node = glow.ArgMaxOp if extreme.largest else glow.ArgMinOp
    last = {"select_last": True} if extreme.select_last else {}
    index = builder.node(node, value, axis=reduced, keepdims=True, **last)
    index = builder.convert(index, element_of(builder.op.results[1]))
    found = reduce_axes(builder, value, kind, [reduced])
    found = _in_order(builder, found, what, what.maps[1])
    return [
        begin_with(builder, found, kind, 0),
        _in_order(builder, index, what, what.maps[2]),
    ]


def _kept(block: Block, earlier: Pair, later: Pair) -> Scalars | None:
    """What a body gives for the best element so far and its place, and another one."""
    numbers = later.value, earlier.value, earlier.place
    given: dict[SSAValue, float] = dict(zip(block.args, numbers, strict=True))
    for op in block.ops:
        if isinstance(op, IndexOp):
            given[op.results[0]] = later.place
    return run_body(block, given, signed_predicate)


def mapped(builder: LinalgBuilder) -> Sequence[SSAValue]:
    """`linalg.map`: an element-wise body of operands of one shape."""
    shape = builder.result.get_shape()
    block = body_of(builder)
    operands: list[SSAValue | None] = list(builder.ins)
    operands += [None] * (len(block.args) - len(operands))
    return [
        _fit(builder, one, shape) for one in evaluate(builder, block, operands, shape)
    ]


def reduce(builder: LinalgBuilder) -> Sequence[SSAValue]:
    """`linalg.reduce`: dimensions of one operand."""
    if len(builder.ins) != 1:
        raise GlowError(f"a reduction of {len(builder.ins)} operands")
    block, axes = body_of(builder), builder.op.integers("dimensions")
    kind, term = combined(block, 0, block.args[-1])
    if term is not block.args[0]:
        raise GlowError("a reduction of computed elements")
    result = reduce_axes(builder, builder.ins[0], kind, axes)
    result = builder.reshape(result, builder.result.get_shape())
    return [begin_with(builder, result, kind, 0)]


HANDLERS: Handlers = {
    "linalg.generic": generic,
    "linalg.map": mapped,
    "linalg.reduce": reduce,
}
