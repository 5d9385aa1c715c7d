"""Element-wise nodes on the bits of integers, and bits taken as another type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from glow.dialects.attributes import Attributes
from glow.dialects.glow.elementwise import (
    Array,
    BinaryOp,
    Facts,
    UnaryOp,
    binary,
    is_integer,
    is_unsigned,
    unary,
)
from glow.dialects.node import (
    DataParallel,
    NodeOp,
    Types,
    fail_unless,
    public_nodes,
)
from glow.dialects.weight_table import dtype_of

if TYPE_CHECKING:
    from glow.dialects.glow.formulas import Operands, ScalarBody, Scalars


def _check_integer(cls: type[NodeOp], operands: Types) -> None:
    element = operands[0].element_type
    fail_unless(
        is_integer(element) and element != i1,
        lambda: f"{cls.name} needs integers, not {element}",
    )


class BitwiseOp(BinaryOp):
    """A function of the bits of two integers."""

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The broadcast shape of integers."""
        _check_integer(cls, operands)
        return super().infer(operands, attributes)


class BitwiseUnaryOp(UnaryOp):
    """A function of the bits of an integer."""

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The operand's type, which is an integer."""
        _check_integer(cls, operands)
        return [operands[0]]


def _shift_left(x: Array, by: Array) -> Array:
    inside = (by >= 0) & (by < 8 * x.dtype.itemsize)
    return np.where(inside, np.left_shift(x, np.where(inside, by, 0)), 0)


def _shift_right(x: Array, by: Array) -> Array:
    last = 8 * x.dtype.itemsize - 1
    inside = (by >= 0) & (by <= last)
    shifted = np.right_shift(x, np.where(inside, by, last))
    filled = np.where(x < 0, -1, 0).astype(x.dtype)
    return np.where(inside, shifted, filled)


def _is_inside(f: Scalars, x: SSAValue, by: SSAValue) -> SSAValue:
    """Whether a shift is shorter than the number; no other is one of the machine."""
    bits = 8 * dtype_of(x.type).itemsize
    return f.binary(
        "arith.andi",
        f.compare("le", f.number(0, by), by),
        f.compare("lt", by, f.number(bits, by)),
    )


def _left(f: Scalars, x: Operands, _: Attributes) -> SSAValue:
    inside, zero = _is_inside(f, *x), f.number(0, x[0])
    shifted = f.binary("arith.shli", x[0], f.select(inside, x[1], zero))
    return f.select(inside, shifted, zero)


def _right(f: Scalars, x: Operands, _: Attributes) -> SSAValue:
    inside, zero = _is_inside(f, *x), f.number(0, x[0])
    if is_unsigned(x[0].type):
        shifted = f.binary("arith.shrui", x[0], f.select(inside, x[1], zero))
        return f.select(inside, shifted, zero)
    last = f.number(8 * dtype_of(x[0].type).itemsize - 1, x[0])
    return f.binary("arith.shrsi", x[0], f.select(inside, x[1], last))


def _not(f: Scalars, x: Operands, _: Attributes) -> SSAValue:
    """-1 - x, since all bits of an unsigned number are no constant of a float."""
    minus = f.sub(f.number(0, x[0]), x[0])
    return f.sub(minus, f.number(1, x[0]))


def _operation(name: str) -> ScalarBody:
    return lambda f, x, _: f.binary(name, *x)


BitwiseAndOp = binary(
    "bitwise_and",
    "The bits that both integers have",
    Facts(
        reference=np.bitwise_and,
        scalar=_operation("arith.andi"),
        onnx="BitwiseAnd",
        commutative=True,
        idempotent=True,
    ),
    BitwiseOp,
)
BitwiseOrOp = binary(
    "bitwise_or",
    "The bits that either integer has",
    Facts(
        reference=np.bitwise_or,
        scalar=_operation("arith.ori"),
        onnx="BitwiseOr",
        commutative=True,
        neutral=0,
        idempotent=True,
    ),
    BitwiseOp,
)
BitwiseXorOp = binary(
    "bitwise_xor",
    "The bits that one of two integers has",
    Facts(
        reference=np.bitwise_xor,
        scalar=_operation("arith.xori"),
        onnx="BitwiseXor",
        commutative=True,
        neutral=0,
    ),
    BitwiseOp,
)
BitwiseNotOp = unary(
    "bitwise_not",
    "The bits that an integer has not",
    Facts(reference=np.invert, scalar=_not, onnx="BitwiseNot", involution=True),
    BitwiseUnaryOp,
)
ShiftLeftOp = binary(
    "shift_left",
    "lhs * 2^rhs, without the bits beyond; 0 where rhs is not in [0, width)",
    Facts(reference=_shift_left, scalar=_left, neutral=0),
    BitwiseOp,
)
ShiftRightOp = binary(
    "shift_right",
    "floor(lhs / 2^rhs); a rhs that is not in [0, width) leaves the sign alone: 0 or -1",
    Facts(reference=_shift_right, scalar=_right, neutral=0),
    BitwiseOp,
)


@irdl_op_definition
class BitcastOp(NodeOp):
    """The bits of the elements as another type of the same width (ONNX BitCast-26)."""

    name = "glow.bitcast"
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(DataParallel())

    @classmethod
    def check(cls, operands: Types, attributes: Attributes, results: Types) -> None:
        """The shape stays, and so does the width of an element."""
        source, target = operands[0], results[0]
        fail_unless(
            source.get_shape() == target.get_shape()
            and dtype_of(source.element_type).itemsize
            == dtype_of(target.element_type).itemsize,
            lambda: f"the bits of {source} are not those of {target}",
        )


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
