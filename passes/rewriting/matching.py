"""Short questions that rewrites ask about values: which number, which other operand."""

from __future__ import annotations

from math import isclose
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.quantized import is_quantized
from glow.dialects.weights import constant_value

TOLERANCE = 2e-6
"""Relative: exporters round numbers such as 1 / sqrt 2 to single precision or seven digits. A
number farther away is another function, whose error would count against every budget."""

STORAGE = (glow.ConstantOp, glow.SplatOp)


def number_of(value: SSAValue) -> float | None:
    """The number that a constant of one element (or a splat) holds."""
    owner = value.owner
    if is_quantized(cast("TensorType[Attribute]", value.type)):
        return None  # a stored integer is no number of the network
    if isinstance(owner, glow.SplatOp):
        return float(owner.number)
    if not isinstance(owner, glow.ConstantOp) or any(n != 1 for n in shape_of(value)):
        return None
    array = constant_value(value)
    return None if array is None else float(array.reshape(()).item())


def is_number(value: SSAValue, expected: float) -> bool:
    """Whether the value is a constant of one number near the expected one."""
    number = number_of(value)
    return number is not None and isclose(number, expected, rel_tol=TOLERANCE)


def beside_number(
    value: SSAValue, op_class: type[Operation], number: float
) -> SSAValue | None:
    """x of `x op number` or `number op x`, where the value is that."""
    owner = value.owner
    if not isinstance(owner, op_class):
        return None
    for index in (0, 1):
        if is_number(owner.operands[index], number):
            x = owner.operands[1 - index]
            return x if x.type == value.type else None
    return None


def with_number(op: NodeOp) -> tuple[SSAValue, float] | None:
    """x and c of a node of two operands, one of which is one number."""
    for index in (1, 0):
        number = number_of(op.inputs[index])
        x = op.inputs[1 - index]
        if number is not None and x.type == op.results[0].type:
            return x, number
    return None


def operand_of(value: SSAValue, op_class: type[Operation]) -> SSAValue | None:
    """The first operand of the node that makes the value, if it is of a class."""
    owner = value.owner
    return owner.operands[0] if isinstance(owner, op_class) else None


def factors_of(value: SSAValue, is_root: bool = True) -> list[SSAValue]:
    """The factors of a tree of multiplications whose inner nodes have one use."""
    owner = value.owner
    if isinstance(owner, glow.MulOp) and (is_root or value.has_one_use()):
        lhs, rhs = owner.operands[:2]
        return [*factors_of(lhs, False), *factors_of(rhs, False)]
    return [value]


def take(values: list[SSAValue], wanted: SSAValue) -> bool:
    """Remove a value from a list; whether it was there."""
    for index, value in enumerate(values):
        if value is wanted:
            del values[index]
            return True
    return False


def take_number(values: list[SSAValue], number: float) -> bool:
    """Remove a constant of that number; whether it was there."""
    for index, value in enumerate(values):
        if is_number(value, number):
            del values[index]
            return True
    return False
