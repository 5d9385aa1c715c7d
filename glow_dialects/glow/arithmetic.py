"""Element-wise nodes of two and three operands: arithmetic, comparison, logic, choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import StringAttr, TensorType, f8E8M0FNU, i1
from xdsl.ir import SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)

from glow.dialects.attributes import Attributes
from glow.dialects.glow.elementwise import (
    Array,
    BinaryOp,
    CompareOp,
    Facts,
    LogicalOp,
    UnaryOp,
    binary,
    broadcast_shape,
    is_integer,
    is_unsigned,
    register,
    same_element_type,
    unary,
)
from glow.dialects.glow.functions import LogOp, NegOp
from glow.dialects.node import (
    DataParallel,
    NodeOp,
    Types,
    fail_unless,
    public_nodes,
    tensor_type,
)
from glow.dialects.quantized import arithmetic_form, movement_form

if TYPE_CHECKING:
    from glow.dialects.glow.formulas import (
        Formula,
        Gradients,
        Operands,
        ScalarBody,
        Scalars,
    )


def divide(lhs: Array, rhs: Array) -> Array:
    """`lhs / rhs`; integers round towards zero, and `x / 0` is 0."""
    if lhs.dtype.kind not in "biu":
        return np.divide(lhs, rhs)
    floor = np.floor_divide(lhs, rhs)
    inexact = np.not_equal(np.remainder(lhs, rhs), 0)
    return floor + (inexact & ((lhs < 0) != (rhs < 0))).astype(lhs.dtype)


def power(base: Array, exponent: Array) -> Array:
    """`base ** exponent`, of floats in float64; integers round towards zero."""
    if base.dtype.kind not in "biu":
        return np.power(base.astype(np.float64), exponent.astype(np.float64))
    odd = np.where(np.remainder(exponent, 2) == 0, base * base, base)
    inverse = np.where(np.abs(base) == 1, odd, 0)
    return np.where(exponent < 0, inverse, np.power(base, np.maximum(exponent, 0)))


def _compare(predicate: str) -> ScalarBody:
    return lambda f, x, _: f.compare(predicate, *x)


def _power(f: Scalars, x: Operands, _: Attributes) -> SSAValue:
    if not is_integer(x[0].type):
        return f.binary("math.powf", *x)
    if x[0].type == i1 or not is_unsigned(x[0].type):
        return f.binary("math.ipowi", *x)
    # Half of an exponent has no sign, whatever it is taken for.
    base, exponent = x
    one, zero = f.number(1, base), f.number(0, base)
    root = f.binary("math.ipowi", base, f.binary("arith.shrui", exponent, one))
    odd = f.compare("ne", f.binary("arith.andi", exponent, one), zero)
    return f.mul(f.mul(root, root), f.select(odd, base, one))


def _fmod(f: Scalars, x: Operands, _: Attributes) -> SSAValue:
    if not is_integer(x[0].type):
        return f.binary("arith.remf", *x)
    return f.binary("arith.remui" if is_unsigned(x[0].type) else "arith.remsi", *x)


def _mod(f: Scalars, x: Operands, attributes: Attributes) -> SSAValue:
    """C's remainder, plus rhs where it has the other sign than rhs."""
    remainder = _fmod(f, x, attributes)
    if is_unsigned(x[0].type):
        return remainder
    zero = f.number(0, x[0])
    negative = f.compare("lt", remainder, zero), f.compare("lt", x[1], zero)
    differs = f.binary("arith.xori", *negative)
    wrong = f.binary("arith.andi", differs, f.compare("ne", remainder, zero))
    return f.select(wrong, f.add(remainder, x[1]), remainder)


def _not(f: Scalars, x: Operands, _: Attributes) -> SSAValue:
    """Of numbers: 1 for zero, else 0."""
    zero, one = f.number(0, x[0]), f.number(1, x[0])
    if x[0].type == i1:
        return f.binary("arith.xori", x[0], one)
    return f.select(f.compare("eq", x[0], zero), one, zero)


def _split(f: Formula, condition: SSAValue, g: SSAValue) -> list[SSAValue]:
    """The gradient where the condition holds, and where it does not; else zero."""
    zero = f.number(0.0, g)
    return [
        f.apply(SelectOp, condition, g, zero),
        f.apply(SelectOp, condition, zero, g),
    ]


def _derive_max(
    f: Formula, x: Operands, y: SSAValue, g: SSAValue, _: Attributes
) -> Gradients:
    """The gradient goes to the larger operand, to rhs where they are equal."""
    return _split(f, f.apply(LessOp, x[1], x[0]), g)


def _derive_min(
    f: Formula, x: Operands, y: SSAValue, g: SSAValue, _: Attributes
) -> Gradients:
    """The gradient goes to the smaller operand, to rhs where they are equal."""
    return _split(f, f.apply(LessOp, *x), g)


def _derive_quotient(
    f: Formula, x: Operands, y: SSAValue, g: SSAValue, _: Attributes
) -> Gradients:
    """1 / rhs, and -lhs / rhs^2."""
    of_lhs = f.div(g, x[1])
    return [of_lhs, f.apply(NegOp, f.mul(of_lhs, y))]


def _derive_power(
    f: Formula, x: Operands, y: SSAValue, g: SSAValue, _: Attributes
) -> Gradients:
    """rhs * lhs^(rhs - 1), and log(lhs) * lhs^rhs, which is 0 of a power that is 0."""
    base, exponent = x
    less = f.add(exponent, f.number(-1.0, exponent))
    of_base = f.mul(f.mul(g, exponent), f.apply(PowOp, base, less))
    zero = f.number(0.0, g)
    product = f.mul(f.mul(g, y), f.apply(LogOp, base))
    is_zero = f.apply(EqualOp, y, zero)
    return [of_base, f.apply(SelectOp, is_zero, zero, product)]


def _derive_remainder(
    f: Formula, x: Operands, y: SSAValue, g: SSAValue, _: Attributes
) -> Gradients:
    """1, and minus the integer that lhs holds rhs times: (lhs - y) / rhs."""
    times = f.div(f.sub(x[0], y), x[1])
    return [g, f.apply(NegOp, f.mul(g, times))]


AddOp = binary(
    "add",
    "lhs + rhs",
    Facts(
        reference=np.add,
        scalar=lambda f, x, _: f.add(*x),
        derivative=lambda f, x, y, g, _: [g, g],
        onnx="Add",
        integer_form=arithmetic_form,
        commutative=True,
        neutral=0,
    ),
)
SubOp = binary(
    "sub",
    "lhs - rhs",
    Facts(
        reference=np.subtract,
        scalar=lambda f, x, _: f.sub(*x),
        derivative=lambda f, x, y, g, _: [g, f.apply(NegOp, g)],
        onnx="Sub",
        integer_form=arithmetic_form,
        neutral=0,
    ),
)
MulOp = binary(
    "mul",
    "lhs * rhs",
    Facts(
        reference=np.multiply,
        scalar=lambda f, x, _: f.mul(*x),
        derivative=lambda f, x, y, g, _: [f.mul(g, x[1]), f.mul(g, x[0])],
        onnx="Mul",
        integer_form=arithmetic_form,
        commutative=True,
        neutral=1,
    ),
)
DivOp = binary(
    "div",
    "lhs / rhs; integers round towards zero",
    Facts(
        reference=divide,
        scalar=lambda f, x, _: f.div(*x),
        derivative=_derive_quotient,
        onnx="Div",
        neutral=1,
    ),
)
MaxOp = binary(
    "max",
    "The larger operand; NaN wins",
    Facts(
        reference=np.maximum,
        scalar=lambda f, x, _: f.maximum(*x),
        derivative=_derive_max,
        integer_form=arithmetic_form,
        commutative=True,
        idempotent=True,
    ),
    BinaryOp,
)
MinOp = binary(
    "min",
    "The smaller operand; NaN wins",
    Facts(
        reference=np.minimum,
        scalar=lambda f, x, _: f.minimum(*x),
        derivative=_derive_min,
        integer_form=arithmetic_form,
        commutative=True,
        idempotent=True,
    ),
    BinaryOp,
)
PowOp = binary(
    "pow",
    "lhs raised to rhs",
    Facts(reference=power, scalar=_power, derivative=_derive_power, neutral=1),
)
ModOp = binary(
    "mod",
    "Remainder with the sign of rhs (Python's %)",
    Facts(reference=np.mod, scalar=_mod, derivative=_derive_remainder),
)
FmodOp = binary(
    "fmod",
    "Remainder with the sign of lhs (C's fmod)",
    Facts(reference=np.fmod, scalar=_fmod, derivative=_derive_remainder),
)

EqualOp = binary(
    "equal",
    "lhs == rhs",
    Facts(reference=np.equal, scalar=_compare("eq"), onnx="Equal", commutative=True),
    CompareOp,
)
NotEqualOp = binary(
    "not_equal",
    "lhs != rhs",
    Facts(reference=np.not_equal, scalar=_compare("ne"), commutative=True),
    CompareOp,
)
LessOp = binary(
    "less",
    "lhs < rhs",
    Facts(reference=np.less, scalar=_compare("lt"), onnx="Less"),
    CompareOp,
)
LessEqualOp = binary(
    "less_equal",
    "lhs <= rhs",
    Facts(reference=np.less_equal, scalar=_compare("le"), onnx="LessOrEqual"),
    CompareOp,
)
AndOp = binary(
    "and",
    "Logical and",
    Facts(
        reference=np.logical_and,
        scalar="arith.andi",
        onnx="And",
        commutative=True,
        idempotent=True,
    ),
    LogicalOp,
)
OrOp = binary(
    "or",
    "Logical or",
    Facts(
        reference=np.logical_or,
        scalar="arith.ori",
        onnx="Or",
        commutative=True,
        idempotent=True,
    ),
    LogicalOp,
)
XorOp = binary(
    "xor",
    "Logical exclusive or",
    Facts(reference=np.logical_xor, scalar="arith.xori", onnx="Xor", commutative=True),
    LogicalOp,
)
NotOp = unary(
    "not",
    "Logical negation of i1 elements",
    Facts(reference=np.logical_not, scalar=_not, onnx="Not", involution=True),
    UnaryOp,
)


@irdl_op_definition
class SelectOp(NodeOp):
    """`lhs` where the `i1` condition holds, else `rhs`; all three broadcast."""

    name = "glow.select"
    condition = operand_def(TensorType)
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(DataParallel())

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The broadcast shape, the element type of `lhs` and `rhs`."""
        fail_unless(
            operands[0].element_type == i1,
            lambda: (
                f"the condition must have i1 elements, not {operands[0].element_type}"
            ),
        )
        element_type = same_element_type(operands[1:])
        shape = broadcast_shape([operand.get_shape() for operand in operands])
        return [tensor_type(shape, element_type)]


register(
    SelectOp,
    Facts(
        reference=np.where,
        scalar=lambda f, x, _: f.select(*x),
        derivative=lambda f, x, y, g, _: [None, *_split(f, x[0], g)],
        onnx="Where",
        integer_form=movement_form,
    ),
)


@irdl_op_definition
class ConvertOp(NodeOp):
    """The elements in another type (ONNX Cast): floats to integers truncate.

    Floats out of the range of a narrower type are infinite, or NaN where it has no infinities.
    Types of storage are reached through f32 or i32. `round_mode` is that of `f8E8M0FNU`:
    `nearest` (ties up), `up` or `down`; what has no such power of two is NaN.
    """

    name = "glow.convert"
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    round_mode = prop_def(StringAttr, default_value=StringAttr("nearest"))
    traits = traits_def(DataParallel())

    @classmethod
    def check(cls, operands: Types, attributes: Attributes, results: Types) -> None:
        """The shape stays; another way to round is for powers of two only."""
        mode = attributes.string("round_mode")
        fail_unless(
            mode in ("nearest", "up", "down"),
            f'round_mode "{mode}" is none of "nearest", "up", "down"',
        )
        fail_unless(
            mode == "nearest" or results[0].element_type == f8E8M0FNU,
            lambda: (
                f'round_mode "{mode}" is for f8E8M0FNU, not {results[0].element_type}'
            ),
        )
        fail_unless(
            operands[0].get_shape() == results[0].get_shape(),
            lambda: f"a conversion keeps the shape, not {operands[0]} to {results[0]}",
        )


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
