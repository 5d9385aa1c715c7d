"""Sums of products: a contraction, or a convolution where a map adds dimensions."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from glow.dialects.errors import GlowError
from glow.frontends.linalg.iteration import Generic, body_of, combined
from glow.frontends.linalg.linalg_builder import LinalgBuilder
from glow.frontends.linalg.products import (
    Axes,
    axis_letters,
    begin,
    contract,
    convolve,
    is_axes,
)
from glow.frontends.linalg.scalars import CASTS

PRODUCTS = ("arith.mulf", "arith.muli")


def sum_of_products(builder: LinalgBuilder, what: Generic) -> SSAValue | None:
    """A contraction or a convolution; None where the body is no sum of products."""
    block = body_of(builder)
    kind, term = combined(block, 0, block.args[-1])
    step = term.owner
    if kind != "add" or not isinstance(step, Operation) or step.name not in PRODUCTS:
        return None
    if len(builder.ins) != 2:
        return None
    first, second = (_origin(one) for one in step.operands)
    if {first, second} != {block.args[0], block.args[1]}:
        return None
    operands = (builder.ins[0], builder.ins[1])
    if all(is_axes(access) for access in what.maps):
        names = [axis_letters(access) for access in what.maps]
        known = set(names[0]) | set(names[1])
        alone = (set(names[0]) ^ set(names[1])) - set(names[2])
        if (
            known == {chr(ord("A") + dim) for dim in range(len(what.sizes))}
            and not alone
        ):
            result = contract(builder, operands, (names[0], names[1], names[2]))
            return begin(builder, result)
        return None
    return _convolution(builder, what, operands)


def _origin(value: SSAValue) -> SSAValue:
    """What a value was before it was cast."""
    while isinstance(value.owner, Operation) and value.owner.name in CASTS:
        value = value.owner.operands[0]
    return value


def _convolution(
    builder: LinalgBuilder, what: Generic, operands: tuple[SSAValue, SSAValue]
) -> SSAValue | None:
    """A convolution in the order that its maps say; None where they are of none."""
    value, kernel, result = what.maps
    if is_axes(value):
        return None
    steps = [_step(one) for one in value.results]
    if any(step is None for step in steps) or not (is_axes(kernel) and is_axes(result)):
        return None
    names: dict[int, str] = {}
    strides: list[int] = []
    dilations: list[int] = []
    for step in steps:
        assert step is not None
        if len(step) == 2:
            (outer, stride), (inner, dilation) = _outer_first(step, result)
            names[outer] = names[inner] = str(len(strides))
            strides.append(stride)
            dilations.append(dilation)
    _name_features(what, names)
    space = "".join(str(at) for at in range(len(strides)))
    source = "".join(names[step[0][0]] for step in steps if step is not None)
    axes = Axes(source, _named(kernel, names), _named(result, names), space)
    groups = set(axes.source) & set(axes.kernel) & set(axes.result) - set(space)
    if len(strides) > 3 or groups - {"g"}:
        return None
    found = convolve(builder, operands, axes, (strides, dilations))
    return begin(builder, found)


def _name_features(what: Generic, names: dict[int, str]) -> None:
    """`n`, `g`, `c` and `f` of the dimensions that are none of space; GlowError for more."""
    value, kernel, result = (_dims(access) for access in what.maps)
    for dim in range(len(what.sizes)):
        if dim in names:
            continue
        where = (dim in value, dim in kernel, dim in result)
        letter = {
            (True, False, True): "n",
            (True, True, True): "g",
            (True, True, False): "c",
            (False, True, True): "f",
        }.get(where)
        if letter is None or letter in names.values():
            raise GlowError("a convolution with several dimensions of one kind")
        names[dim] = letter


def _dims(access: AffineMap) -> set[int]:
    return {one.position for one in access.results if isinstance(one, AffineDimExpr)}


def _named(access: AffineMap, names: Mapping[int, str]) -> str:
    return "".join(
        names[one.position] for one in access.results if isinstance(one, AffineDimExpr)
    )


Step = list[tuple[int, int]]
"""Dimensions and what each is multiplied by."""


def _outer_first(step: Step, result: AffineMap) -> Step:
    """The dimension of the result first, that of the kernel behind it."""
    return step if step[0][0] in _dims(result) else step[::-1]


def _step(expression: AffineExpr) -> Step | None:
    """`d0 * 2 + d3` as [(0, 2), (3, 1)]; None for anything else."""
    if isinstance(expression, AffineDimExpr):
        return [(expression.position, 1)]
    if not isinstance(expression, AffineBinaryOpExpr):
        return None
    lhs, rhs = expression.lhs, expression.rhs
    if expression.kind is AffineBinaryOpKind.Mul:
        if isinstance(lhs, AffineDimExpr) and isinstance(rhs, AffineConstantExpr):
            return [(lhs.position, rhs.value)]
        return None
    if expression.kind is not AffineBinaryOpKind.Add:
        return None
    parts = [_step(lhs), _step(rhs)]
    if parts[0] is None or parts[1] is None or len(parts[0]) + len(parts[1]) != 2:
        return None
    return [*parts[0], *parts[1]]
