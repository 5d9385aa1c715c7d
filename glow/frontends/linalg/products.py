"""Contractions and convolutions, by the letters of their axes.

An axis of the one operand, of the other and of the result has the same letter where it is the same
dimension: `mk,kn->mn`. Those of `linalg.generic` are read from its maps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, i8
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.utils.hints import isa

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.linalg import LinalgOp
from glow.dialects.linalg.operations import CONVOLUTIONS, PRODUCTS
from glow.dialects.node import element_of, shape_of
from glow.dialects.weight_table import dtype_of
from glow.frontends.linalg.linalg_builder import Handlers, LinalgBuilder

LETTERS: Mapping[str, tuple[str, str, str]] = {
    "batch_matmul": ("bmk", "bkn", "bmn"),
    "batch_matmul_transpose_a": ("bkm", "bkn", "bmn"),
    "batch_matmul_transpose_b": ("bmk", "bnk", "bmn"),
    "batch_matvec": ("bmk", "bk", "bm"),
    "batch_mmt4d": ("bmkac", "bnkdc", "bmnad"),
    "batch_reduce_matmul": ("bmk", "bkn", "mn"),
    "batch_vecmat": ("bk", "bkn", "bn"),
    "dot": ("k", "k", ""),
    "matmul": ("mk", "kn", "mn"),
    "matmul_transpose_a": ("km", "kn", "mn"),
    "matmul_transpose_b": ("mk", "nk", "mn"),
    "matvec": ("mk", "k", "m"),
    "mmt4d": ("mkac", "nkdc", "mnad"),
    "quantized_batch_matmul": ("bmk", "bkn", "bmn"),
    "quantized_matmul": ("mk", "kn", "mn"),
    "vecmat": ("k", "kn", "n"),
}

SPATIAL = "dhw"


def letters_of(op: LinalgOp) -> list[str] | None:
    """One string of letters for each operand, from its maps; None where they are no axes."""
    maps = op.properties.get("indexing_maps")
    if not isa(maps, ArrayAttr):
        return None
    found: list[str] = []
    for one in maps:
        access = one.data if isinstance(one, AffineMapAttr) else None
        if access is None or not is_axes(access):
            return None
        found.append(axis_letters(access))
    return found


def is_axes(access: AffineMap) -> bool:
    """Whether a map says a dimension for each axis."""
    return all(isinstance(one, AffineDimExpr) for one in access.results)


def axis_letters(access: AffineMap) -> str:
    """A letter for each axis: `A` is the first dimension."""
    return "".join(
        chr(ord("A") + one.position)
        for one in access.results
        if isinstance(one, AffineDimExpr)
    )


def product(builder: LinalgBuilder) -> SSAValue:
    """A named product."""
    name = builder.op.name.partition(".")[2]
    letters = letters_of(builder.op) or LETTERS.get(name)
    if letters is None:
        raise GlowError("indexing maps that are no axes")
    lhs, rhs, *points = builder.ins
    result = contract(
        builder, (lhs, rhs), (letters[0], letters[1], letters[-1]), points
    )
    return begin(builder, result)


def begin(builder: LinalgBuilder, result: SSAValue) -> SSAValue:
    """A sum with what it begins with; nothing where that is 0."""
    start = builder.start()
    if start is None:
        raise GlowError("a sum that begins with no values")
    array = builder.known(start)
    if array is not None and not array.any():
        return result
    return builder.node(glow.AddOp, result, start)


def contract(
    builder: LinalgBuilder,
    operands: tuple[SSAValue, SSAValue],
    letters: tuple[str, str, str],
    points: Sequence[SSAValue] = (),
) -> SSAValue:
    """The sum of products over the letters that the result has not."""
    (lhs, rhs), (first, second, result) = operands, letters
    batch = [one for one in first if one in second and one in result]
    rows = [one for one in first if one not in second]
    columns = [one for one in second if one not in first]
    inner = [one for one in first if one in second and one not in result]
    if set(rows + columns) - set(result) or set(result) != {*batch, *rows, *columns}:
        raise GlowError(f"a product of axes {first} and {second} to {result}")
    sizes = dict(zip(first, shape_of(lhs), strict=True))
    sizes.update(zip(second, shape_of(rhs), strict=True))
    count = {
        key: prod(sizes[one] for one in part)
        for key, part in (("m", rows), ("n", columns), ("k", inner))
    }
    lhs = builder.transpose(lhs, [first.index(one) for one in (*batch, *rows, *inner)])
    rhs = builder.transpose(
        rhs, [second.index(one) for one in (*batch, *inner, *columns)]
    )
    outer = [sizes[one] for one in batch]
    is_linear = not batch and rows and len(inner) == 1
    if not is_linear:
        lhs = builder.reshape(lhs, [*outer, count["m"], count["k"]])
    rhs = builder.reshape(rhs, [*outer, count["k"], count["n"]])
    value = multiply(builder, lhs, rhs, points)
    made = [*batch, *rows, *columns]
    value = builder.reshape(value, [sizes[one] for one in made])
    return builder.transpose(value, [made.index(one) for one in result])


def multiply(
    builder: LinalgBuilder, lhs: SSAValue, rhs: SSAValue, points: Sequence[SSAValue]
) -> SSAValue:
    """The product of matrices in the elements of the result; bytes are multiplied in i32."""
    wanted = builder.result.element_type
    if _are_bytes(lhs, rhs):
        return builder.convert(
            builder.node(
                glow.MatmulIntegerOp, lhs, rhs, *zero_points(builder, lhs, rhs, points)
            ),
            wanted,
        )
    if points:
        raise GlowError("zero points of elements that are no bytes")
    return builder.node(
        glow.MatmulOp, builder.convert(lhs, wanted), builder.convert(rhs, wanted)
    )


def _are_bytes(*values: SSAValue) -> bool:
    return all(element_of(value) == i8 for value in values)


def zero_points(
    builder: LinalgBuilder, lhs: SSAValue, rhs: SSAValue, points: Sequence[SSAValue]
) -> list[SSAValue]:
    """The zero points of both operands, which are constants; none where they are 0."""
    numbers = [builder.scalar(point) for point in points]
    if not any(numbers):
        return []
    return [
        builder.number(number, value)
        for number, value in zip(numbers, (lhs, rhs), strict=True)
    ]


@dataclass(frozen=True)
class Axes:
    """The letters of a convolution: `n` batch, `g` groups, `c` and `f` features, `m` per channel,
    and those of its space, which are the same in all three.
    """

    source: str
    kernel: str
    result: str
    space: str

    @classmethod
    def named(cls, name: str) -> Axes:
        """By the layouts that an operation's name ends with; without any, space alone."""
        parts = name.removeprefix("depthwise_").split("_")[1:]
        count = int(parts[0][0])
        space = SPATIAL[-count:]
        layouts = [part for part in parts[1:] if part != "q"]
        if not layouts:
            return cls(space, space, space, space)
        source, kernel = layouts
        is_depthwise = name.startswith("depthwise_")
        result = source + "m" * ("m" in kernel)
        if not is_depthwise:
            result = source.replace("c", "f")
        return cls(source, kernel, result, space)


def convolution(builder: LinalgBuilder) -> SSAValue:
    """A named convolution, which has no padding of its own."""
    axes = Axes.named(builder.op.name.partition(".")[2])
    ones = [1] * len(axes.space)
    strides = builder.op.integers("strides", ones)
    dilations = builder.op.integers("dilations", ones)
    value, weights, *points = builder.ins
    result = convolve(builder, (value, weights), axes, (strides, dilations), points)
    return begin(builder, result)


def convolve(
    builder: LinalgBuilder,
    operands: tuple[SSAValue, SSAValue],
    axes: Axes,
    window: tuple[Sequence[int], Sequence[int]],
    points: Sequence[SSAValue] = (),
) -> SSAValue:
    """The convolution in the order of `glow`: batch, features, space."""
    value, weights = operands
    sizes = dict(zip(axes.source, shape_of(value), strict=True))
    taps = dict(zip(axes.kernel, shape_of(weights), strict=True))
    space = list(axes.space)
    is_depthwise = "f" not in axes.kernel and "c" in axes.kernel
    lead = [one for one in "ngc" if one in axes.source]
    value = builder.transpose(
        value, [axes.source.index(one) for one in (*lead, *space)]
    )
    groups = sizes.get("c", 1) if is_depthwise else sizes.get("g", 1)
    channels = sizes.get("g", 1) * sizes.get("c", 1)
    value = builder.reshape(
        value, [sizes.get("n", 1), channels, *(sizes[one] for one in space)]
    )
    outer = [one for one in ("cm" if is_depthwise else "gfc") if one in axes.kernel]
    weights = builder.transpose(
        weights, [axes.kernel.index(one) for one in (*outer, *space)]
    )
    inner = 1 if is_depthwise else taps.get("c", 1)
    outs = prod(taps[one] for one in outer) // inner
    weights = builder.reshape(weights, [outs, inner, *(taps[one] for one in space)])
    result = _window(builder, (value, weights), groups, window, points)
    extents = dict(zip(space, shape_of(result)[2:], strict=True))
    features = {"g": sizes.get("g", 1), "c": sizes.get("c", 1), **taps, **extents}
    features["n"] = sizes.get("n", 1)
    made = [one for one in ("ncm" if is_depthwise else "ngf") if one in axes.result]
    made += space
    result = builder.reshape(result, [features[one] for one in made])
    return builder.transpose(result, [made.index(one) for one in axes.result])


def _window(
    builder: LinalgBuilder,
    operands: tuple[SSAValue, SSAValue],
    groups: int,
    window: tuple[Sequence[int], Sequence[int]],
    points: Sequence[SSAValue],
) -> SSAValue:
    """The node, of one to three dimensions."""
    value, weights = operands
    strides, dilations = map(list, window)
    rank, wanted = len(strides), builder.result.element_type
    if rank == 1:
        value, weights = (
            builder.reshape(one, [*shape_of(one)[:2], 1, shape_of(one)[2]])
            for one in (value, weights)
        )
        strides, dilations = [1, *strides], [1, *dilations]
    attributes = {"strides": strides, "dilations": dilations, "group": groups}
    if _are_bytes(value, weights) and rank < 3:
        more = zero_points(builder, value, weights, points)
        result = builder.node(glow.Conv2dIntegerOp, value, weights, *more, **attributes)
        result = builder.convert(result, wanted)
    elif points or dtype_of(element_of(value)).kind in "biu":
        raise GlowError("a convolution of these integers is not supported")
    else:
        node = glow.Conv3dOp if rank == 3 else glow.Conv2dOp
        parts = [builder.convert(one, wanted) for one in (value, weights)]
        result = builder.node(node, *parts, **attributes)
    if rank == 1:
        batch, features, _, size = shape_of(result)
        result = builder.reshape(result, [batch, features, size])
    return result


HANDLERS: Handlers = {
    **{f"linalg.{name}": product for name in PRODUCTS},
    **{f"linalg.{name}": convolution for name in CONVOLUTIONS},
}
