"""Ranges of elements, through functions of elements.

What stands beyond the end of a padded axis is known only roughly, and that is enough to tell
whether it is masked: a mask that is padded with zeros ends as one number that pushes scores far
below all others, or that products and sums do not see.

    mask 0  ->  1 - mask 1  ->  * -3.4e38  ->  + scores [-1e3, 1e3]  ->  below -5e3: masked
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

import numpy as np
from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.glow.elementwise import FACTS
from glow.dialects.node import element_of
from glow.dialects.weight_table import Array, dtype_of
from glow.interpreter import FUNCTIONS

MODERATE_SIZE = 1e3
"""No activation is taken to be larger: so a sum with a mask is one, too."""

MASKED = -5e3
"""What is so far below moderate scores has no share after a softmax: exp(-4000) is 0."""


class Range(NamedTuple):
    """Where elements are."""

    low: float
    high: float
    may_be_nan: bool = False

    @property
    def number(self) -> float | None:
        """The only number there is."""
        return self.low if self.low == self.high and not self.may_be_nan else None

    @property
    def is_finite(self) -> bool:
        """Whether neither NaN nor infinity is among them."""
        return not self.may_be_nan and math.isfinite(self.low + self.high)

    @property
    def is_masked(self) -> bool:
        """Whether a softmax gives them no share."""
        return self.high <= MASKED and not self.may_be_nan


MODERATE = Range(-MODERATE_SIZE, MODERATE_SIZE)
UNKNOWN = Range(-math.inf, math.inf, True)
ZERO = Range(0, 0)
SHARES = Range(0, 1)


def joined(ranges: Sequence[Range]) -> Range:
    """The range of all elements of several."""
    return Range(
        min(each.low for each in ranges),
        max(each.high for each in ranges),
        any(each.may_be_nan for each in ranges),
    )


def range_of(array: Array) -> Range:
    """The range of an array's elements."""
    if array.size == 0:
        return MODERATE
    numbers = array if array.dtype.kind in "biu" else array.astype(np.float64)
    low, high = float(numbers.min()), float(numbers.max())
    if math.isnan(low) or math.isnan(high):
        return UNKNOWN
    return Range(low, high)


def elementwise(op: Operation, operands: Sequence[Range]) -> Range:
    """The range of a function of elements of some ranges."""
    numbers = [each.number for each in operands]
    if None not in numbers:
        return _evaluated(op, cast("list[float]", numbers))
    rule = RULES.get(type(op))
    found = rule and rule(op, operands)
    if found is not None:
        return found
    if dtype_of(element_of(op.results[0])) == np.bool_:
        return SHARES
    fails = type(op) in PARTIAL or not all(each.is_finite for each in operands)
    return UNKNOWN if fails else MODERATE


def _evaluated(op: Operation, numbers: Sequence[float]) -> Range:
    """The only number that a function gives for numbers."""
    arrays = [
        np.array(number).astype(dtype_of(element_of(operand)))
        for number, operand in zip(numbers, op.operands, strict=False)
    ]
    with np.errstate(all="ignore"):
        result = np.asarray(FUNCTIONS[type(op)](op, *arrays))
        return range_of(result.astype(dtype_of(element_of(op.results[0]))))


def _sum(op: Operation, operands: Sequence[Range]) -> Range | None:
    left, right = operands
    if isinstance(op, glow.SubOp):
        right = Range(-right.high, -right.low, right.may_be_nan)
    nan = left.may_be_nan or right.may_be_nan
    low, high = left.low + right.low, left.high + right.high
    if math.isnan(low) or math.isnan(high):
        return UNKNOWN
    # Sums of moderate numbers are moderate again, as a long chain of them would be.
    moderate = MODERATE.low <= min(left.low, right.low)
    if moderate and max(left.high, right.high) <= MODERATE.high:
        low, high = max(low, MODERATE.low), min(high, MODERATE.high)
    return Range(low, high, nan)


def _product(op: Operation, operands: Sequence[Range]) -> Range | None:
    left, right = operands
    finite = left.is_finite and right.is_finite
    if finite and (left.number == 0 or right.number == 0):
        return ZERO
    if finite and (op.operands[0] is op.operands[1] or min(left.low, right.low) >= 0):
        return Range(0, MODERATE_SIZE)
    return None


def _quotient(op: Operation, operands: Sequence[Range]) -> Range | None:
    left, right = operands
    if not (left.is_finite and right.is_finite and (right.low > 0 or right.high < 0)):
        return None
    if left.number == 0:
        return ZERO
    return Range(0 if min(left.low, right.low) >= 0 else MODERATE.low, MODERATE.high)


def _power(op: Operation, operands: Sequence[Range]) -> Range | None:
    base, exponent = operands
    number = exponent.number
    if not base.is_finite or number is None or number < 0:
        return None
    if number % 2 == 0 or base.low >= 0:
        return Range(0, MODERATE_SIZE)
    return MODERATE if number == int(number) else None


def _select(op: Operation, operands: Sequence[Range]) -> Range:
    condition, left, right = operands
    if condition.number is None:
        return joined([left, right])
    return left if condition.number else right


def _both(op: Operation, operands: Sequence[Range]) -> Range | None:
    return ZERO if 0 in [each.number for each in operands] else None


def _either(op: Operation, operands: Sequence[Range]) -> Range | None:
    return Range(1, 1) if 1 in [each.number for each in operands] else None


def _largest(op: Operation, operands: Sequence[Range]) -> Range:
    return Range(
        max(each.low for each in operands),
        max(each.high for each in operands),
        any(each.may_be_nan for each in operands),
    )


def _smallest(op: Operation, operands: Sequence[Range]) -> Range:
    return Range(
        min(each.low for each in operands),
        min(each.high for each in operands),
        any(each.may_be_nan for each in operands),
    )


def _clip(op: Operation, operands: Sequence[Range]) -> Range | None:
    return None if operands[0].may_be_nan else _of_ends(op, operands[0])


def _rising(op: Operation, operands: Sequence[Range]) -> Range | None:
    return _of_ends(op, operands[0]) if operands[0].is_finite else None


def _of_ends(op: Operation, operand: Range) -> Range:
    """The range of a function that never falls."""
    low, high = (_evaluated(op, [end]) for end in operand[:2])
    return Range(low.low, high.high, low.may_be_nan or high.may_be_nan)


def _root(op: Operation, operands: Sequence[Range]) -> Range | None:
    return _rising(op, operands) if operands[0].low >= 0 else None


def _inverse(op: Operation, operands: Sequence[Range]) -> Range | None:
    operand = operands[0]
    if not operand.is_finite or not operand.low > 0:
        return None
    low, high = (_evaluated(op, [end]) for end in (operand.high, operand.low))
    return Range(low.low, high.high)


def _size(op: Operation, operands: Sequence[Range]) -> Range | None:
    return Range(0, MODERATE_SIZE) if operands[0].is_finite else None


def _same(op: Operation, operands: Sequence[Range]) -> Range | None:
    if dtype_of(element_of(op.results[0])) == np.bool_:
        return SHARES
    if dtype_of(element_of(op.results[0])).kind in "iu" and not operands[0].is_finite:
        return UNKNOWN
    return operands[0]


Rule = Callable[[Operation, Sequence[Range]], Range | None]

RULES: dict[type[Operation], Rule] = {
    glow.AddOp: _sum,
    glow.SubOp: _sum,
    glow.MulOp: _product,
    glow.DivOp: _quotient,
    glow.PowOp: _power,
    glow.SelectOp: _select,
    glow.AndOp: _both,
    glow.OrOp: _either,
    glow.MaxOp: _largest,
    glow.MinOp: _smallest,
    glow.ClipOp: _clip,
    glow.ReluOp: _rising,
    glow.SigmoidOp: _rising,
    glow.TanhOp: _rising,
    glow.SqrtOp: _root,
    glow.RsqrtOp: _inverse,
    glow.ReciprocalOp: _inverse,
    glow.AbsOp: _size,
    glow.ExpOp: _size,
    glow.ConvertOp: _same,
}
"""What is known of some functions; None where it is nothing for these operands."""

PARTIAL = (
    glow.DivOp,
    glow.PowOp,
    glow.ModOp,
    glow.FmodOp,
    glow.SqrtOp,
    glow.RsqrtOp,
    glow.ReciprocalOp,
    glow.LogOp,
    glow.TanOp,
    glow.AsinOp,
    glow.AcosOp,
)
"""Functions that give NaN or infinity for some moderate numbers."""

ELEMENTWISE = (*FACTS, glow.ConvertOp)
"""The nodes that are functions of elements."""
