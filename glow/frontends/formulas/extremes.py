"""Positions of the largest or smallest element, told by what a body does with numbers.

Tools write the body of an argmax in many ways: with a test for NaN or without one, with a
selection of the place for equal elements or with the smaller of both places. So the body is run on
a few pairs of numbers that say which element it keeps. Bodies with and without a test for NaN are
one node, which finds NaN.

    %0 = compare GT, %value, %best                    -> glow.arg_max
    %1 = select %0, %value, %best
    %2 = select %0, %place, %best_place
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

Scalars = Sequence[float]
Function = Callable[[Scalars], float]

OPERATIONS: Mapping[str, Function] = {
    **dict.fromkeys(("and", "andi"), all),
    **dict.fromkeys(("or", "ori"), any),
    "not": lambda x: not x[0],
    "select": lambda x: x[1] if x[0] else x[2],
    **dict.fromkeys(("maximum", "maximumf", "maxnumf", "maxsi"), max),
    **dict.fromkeys(("minimum", "minimumf", "minnumf", "minsi"), min),
    **dict.fromkeys(("convert", "index_cast"), lambda x: x[0]),
}
"""Operations of scalars by their names, without the dialect's."""

COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "uno": lambda one, other: False,
    "ord": lambda one, other: True,
}
"""Of numbers, none of which is NaN."""


@dataclass(frozen=True)
class Extreme:
    """The largest or the smallest element, and of equal ones the first or the last."""

    largest: bool
    select_last: bool


@dataclass(frozen=True)
class Pair:
    """An element and its place."""

    value: float
    place: float


Combine = Callable[[Pair, Pair], Scalars | None]
"""The element and the place that a body keeps of two, the earlier one first; None if unknown."""


EXTREMES: Mapping[tuple[tuple[float, ...] | None, ...], Extreme] = {
    ((2, 7), (2, 3), (1, 5)): Extreme(largest=True, select_last=False),
    ((2, 7), (2, 3), (1, 9)): Extreme(largest=True, select_last=True),
    ((1, 5), (1, 4), (1, 5)): Extreme(largest=False, select_last=False),
    ((1, 5), (1, 4), (1, 9)): Extreme(largest=False, select_last=True),
}
"""By what is kept of the pairs of `find_extreme`."""


def find_extreme(combine: Combine) -> Extreme | None:
    """What a body keeps; None where that is neither extreme."""
    one, two, same = Pair(1, 5), Pair(2, 7), Pair(1, 9)
    pairs = ((one, two), (Pair(2, 3), Pair(1, 4)), (one, same))
    found = [combine(earlier, later) for earlier, later in pairs]
    kept = [tuple(values) if values is not None else None for values in found]
    return EXTREMES.get(tuple(kept))


def run_body(
    block: Block, given: Mapping[SSAValue, float], compared: Callable[[Operation], str]
) -> Scalars | None:
    """What a body of scalars gives; None where it does something else.

    `compared` is how an operation compares, such as `GT`, `slt` or `une`; empty for others.
    """
    values = dict(given)
    last = block.last_op
    assert last is not None
    for op in block.ops:
        if op is last or op.results[0] in values:
            continue
        function = _function(op, compared(op).lower())
        if function is None or not values.keys() >= {*op.operands}:
            return None
        values[op.results[0]] = function([values[one] for one in op.operands])
    if not values.keys() >= {*last.operands}:
        return None
    return [values[one] for one in last.operands]


def _function(op: Operation, how: str) -> Function | None:
    if not how:
        return OPERATIONS.get(op.name.partition(".")[2])
    # The first letter of others says what is true of NaN, or whether integers have signs.
    compare = COMPARISONS.get(how) or COMPARISONS.get(how[1:])
    return None if compare is None else lambda x: compare(x[0], x[1])
