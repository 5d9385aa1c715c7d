"""The transforms of F(m x m, 3 x 3) along one axis, in integers that wrap.

Multiplications are by powers of two: shifts and sums, as vectors of 16 bits have them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import SSAValue

from glow.dialects import arith
from glow.lowering.loop_builder.builder import LoopBuilder

Values = Sequence[SSAValue]
Transform = Callable[["Integers", Values], list[SSAValue]]


class Integers:
    """Sums and shifts of vectors of integers."""

    def __init__(self, builder: LoopBuilder) -> None:
        self.builder = builder

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The sum."""
        return self.builder.binary_integer(arith.AddiOp, a, b)

    def sub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The difference."""
        return self.builder.binary_integer(arith.SubiOp, a, b)

    def doubled(self, a: SSAValue, times: int = 1) -> SSAValue:
        """Twice the number, so many times."""
        places = self.builder.like(times, a)
        return self.builder.binary_integer(arith.ShLIOp, a, places)


def _patch_of_2(n: Integers, values: Values) -> list[SSAValue]:
    a, b, c, d = values
    return [n.sub(a, c), n.add(b, c), n.sub(c, b), n.sub(d, b)]


def _patch_of_4(n: Integers, values: Values) -> list[SSAValue]:
    """The rows 4 -5 1, -4 -4 1 1, 4 -4 -1 1, -2 -1 2 1, 2 -1 -2 1 and 4 -5 1 of B^T."""
    a, b, c, d, e, f = values
    even, odd = n.sub(e, n.doubled(c, 2)), n.sub(d, n.doubled(b, 2))
    of_twos, difference = n.sub(e, c), n.doubled(n.sub(d, b))
    return [
        n.add(n.doubled(n.sub(a, c), 2), of_twos),
        n.add(even, odd),
        n.sub(even, odd),
        n.add(of_twos, difference),
        n.sub(of_twos, difference),
        n.sub(n.sub(f, d), n.doubled(difference)),
    ]


def _outputs_of_2(n: Integers, values: Values) -> list[SSAValue]:
    zero, one, minus, infinity = values
    return [
        n.add(zero, n.add(one, minus)),
        n.add(n.sub(one, minus), infinity),
    ]


def _outputs_of_4(n: Integers, values: Values) -> list[SSAValue]:
    """The product at infinity counts twice: its weight is half as large as those of the others."""
    zero, *points, infinity = values
    sums = [n.add(points[k], points[k + 1]) for k in (0, 2)]
    differences = [n.sub(points[k], points[k + 1]) for k in (0, 2)]
    ones, twos = differences
    return [
        n.add(zero, n.add(*sums)),
        n.add(ones, n.doubled(twos)),
        n.add(sums[0], n.doubled(sums[1], 2)),
        n.add(ones, n.doubled(n.add(n.doubled(twos, 2), infinity))),
    ]


PATCHES: Mapping[int, Transform] = {2: _patch_of_2, 4: _patch_of_4}
"""B^T of a row or column of a patch, by the side of the output tile."""

OUTPUTS: Mapping[int, Transform] = {2: _outputs_of_2, 4: _outputs_of_4}
"""A^T of the products of one, times `Form.scale`."""
