"""How what broadcasts to a tensor broadcasts to the same tensor under other axes."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

Shape = tuple[int, ...]


def fitted_shapes(
    mask: Shape, outside: Shape, inside: Shape
) -> tuple[Shape, Shape] | None:
    """To which shape a mask is broadcast and then reshaped, to fit `inside` as `outside`.

    Of axes that are one inside, a part may repeat, which is written out then. None where the
    mask repeats along a part of an axis outside, or shapes have different elements.
    """
    if prod(outside) != prod(inside) or not prod(inside):
        return None
    sizes = (1,) * (len(outside) - len(mask)) + mask
    wide: list[int] = []
    fitted: list[int] = []
    for before, after in aligned(outside, inside):
        here = sizes[before]
        if all(size == 1 for size in here):
            wide += here
            fitted += [1] * len(inside[after])
        elif here == outside[before] or len(inside[after]) == 1:
            wide += outside[before]
            fitted += inside[after]
        else:
            return None
    return tuple(wide), tuple(fitted)


def aligned(one: Shape, other: Shape) -> Iterator[tuple[slice, slice]]:
    """The smallest groups of neighbouring axes with as many elements in both shapes."""
    ends = [
        {prod(shape[:end]): end for end in range(1, len(shape) + 1)}
        for shape in (one, other)
    ]
    first = [0, 0]
    for size in sorted(ends[0].keys() & ends[1].keys()):
        last = [ends[0][size], ends[1][size]]
        yield slice(first[0], last[0]), slice(first[1], last[1])
        first = last
