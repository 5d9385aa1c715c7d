"""Data-parallel nodes: arithmetic, comparison, non-linearities, conversion.

Operands of two- and three-operand nodes broadcast as NumPy's do. The semantics of each
node are the NumPy function in `glow.interpreter`; its scalar form for code generation
stands in `glow.backends.cpu`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FloatAttr, IntegerType, TensorType, i1
from xdsl.ir import Attribute
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Commutative
from xdsl.utils.exceptions import VerifyException

from glow.dialects.attributes import Attributes, float_attr
from glow.dialects.node import (
    DataParallel,
    NodeOp,
    Types,
    fail_unless,
    tensor_type,
)
from glow.dialects.quantized import any_quantized


def broadcast_shape(shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The NumPy broadcast of shapes; raises VerifyException where they disagree."""
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[int] = []
    for axis in range(-rank, 0):
        sizes = {shape[axis] for shape in shapes if len(shape) >= -axis} - {1}
        fail_unless(
            len(sizes) <= 1,
            "operands do not broadcast: shapes "
            + ", ".join("x".join(map(str, shape)) or "scalar" for shape in shapes),
        )
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


def same_element_type(operands: Types) -> Attribute:
    """The operands' element type; raises VerifyException where they have several."""
    first = operands[0].element_type
    if not (
        all(operand.element_type == first for operand in operands)
        or any_quantized(operands)  # rules of their own: `integer_forms`
    ):
        types = ", ".join(str(operand.element_type) for operand in operands)
        raise VerifyException(f"operands must have one element type, not {types}")
    return first


def is_integer(element_type: Attribute) -> bool:
    """Whether an element type is a plain integer or boolean."""
    return isinstance(element_type, IntegerType)


def check_numbers(cls: type[NodeOp], operand: TensorType[Attribute]) -> None:
    """The elements are numbers: nobody says what the sum of two truth values is."""
    fail_unless(operand.element_type != i1, f"{cls.name} needs numbers, not i1")


class UnaryOp(NodeOp):
    """A function of one element."""

    operand = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(DataParallel())

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The operand's type."""
        return [operands[0]]


class FloatUnaryOp(UnaryOp):
    """A function of one floating-point element."""

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The operand's type, which is floating point."""
        fail_unless(
            not is_integer(operands[0].element_type),
            f"{cls.name} needs floating-point elements, not {operands[0].element_type}",
        )
        return [operands[0]]


class NumberUnaryOp(UnaryOp):
    """A function of one number, which no `i1` element is."""

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The operand's type, which is not `i1`."""
        check_numbers(cls, operands[0])
        return [operands[0]]


class UnaryTestOp(UnaryOp):
    """A question about one element; its result has `i1` elements."""

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The operand's shape, `i1` elements."""
        return [tensor_type(operands[0].get_shape(), i1)]


class BinaryOp(NodeOp):
    """A function of two broadcast operands of one element type."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(DataParallel())

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The broadcast shape, the operands' element type."""
        element_type = same_element_type(operands)
        shape = broadcast_shape([operand.get_shape() for operand in operands])
        return [tensor_type(shape, element_type)]


class NumberBinaryOp(BinaryOp):
    """A function of two numbers, which no `i1` elements are."""

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The broadcast shape, the operands' element type, which is not `i1`."""
        check_numbers(cls, operands[0])
        return super().infer(operands, attributes)


class CompareOp(BinaryOp):
    """A comparison; its result has `i1` elements."""

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The broadcast shape, `i1` elements."""
        (result,) = super().infer(operands, attributes)
        return [tensor_type(result.get_shape(), i1)]


class LogicalOp(BinaryOp):
    """A function of two `i1` operands."""

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The broadcast shape of `i1` operands."""
        (result,) = super().infer(operands, attributes)
        fail_unless(result.element_type == i1, f"{cls.name} needs i1 elements")
        return [result]


def _define(base: type[NodeOp], mnemonic: str, doc: str, *traits: type) -> type[NodeOp]:
    """The op class `glow.<mnemonic>` without operands or attributes of its own."""
    class_name = "".join(word.capitalize() for word in mnemonic.split("_")) + "Op"
    namespace: dict[str, object] = {
        "__doc__": doc,
        "__module__": __name__,
        "name": f"glow.{mnemonic}",
    }
    if traits:
        namespace["traits"] = traits_def(*(trait() for trait in traits))
    return irdl_op_definition(type(class_name, (base,), namespace))


# Arithmetic
AddOp = _define(NumberBinaryOp, "add", "lhs + rhs", Commutative)
SubOp = _define(NumberBinaryOp, "sub", "lhs - rhs")
MulOp = _define(NumberBinaryOp, "mul", "lhs * rhs", Commutative)
DivOp = _define(NumberBinaryOp, "div", "lhs / rhs; integers round towards zero")
MaxOp = _define(BinaryOp, "max", "The larger operand; NaN wins", Commutative)
MinOp = _define(BinaryOp, "min", "The smaller operand; NaN wins", Commutative)
PowOp = _define(NumberBinaryOp, "pow", "lhs raised to rhs")
ModOp = _define(NumberBinaryOp, "mod", "Remainder with the sign of rhs (Python's %)")
FmodOp = _define(NumberBinaryOp, "fmod", "Remainder with the sign of lhs (C's fmod)")
# Comparison and logic
EqualOp = _define(CompareOp, "equal", "lhs == rhs", Commutative)
NotEqualOp = _define(CompareOp, "not_equal", "lhs != rhs", Commutative)
LessOp = _define(CompareOp, "less", "lhs < rhs")
LessEqualOp = _define(CompareOp, "less_equal", "lhs <= rhs")
AndOp = _define(LogicalOp, "and", "Logical and", Commutative)
OrOp = _define(LogicalOp, "or", "Logical or", Commutative)
XorOp = _define(LogicalOp, "xor", "Logical exclusive or", Commutative)
NotOp = _define(UnaryOp, "not", "Logical negation of i1 elements")
# Functions of one number
NegOp = _define(NumberUnaryOp, "neg", "-x")
AbsOp = _define(NumberUnaryOp, "abs", "|x|")
SignOp = _define(NumberUnaryOp, "sign", "-1, 0 or 1; NaN stays NaN")
FloorOp = _define(FloatUnaryOp, "floor", "Largest integer <= x")
CeilOp = _define(FloatUnaryOp, "ceil", "Smallest integer >= x")
RoundOp = _define(FloatUnaryOp, "round", "Nearest integer, ties to even")
SqrtOp = _define(FloatUnaryOp, "sqrt", "Square root")
RsqrtOp = _define(FloatUnaryOp, "rsqrt", "1 / sqrt(x)")
ReciprocalOp = _define(FloatUnaryOp, "reciprocal", "1 / x")
ExpOp = _define(FloatUnaryOp, "exp", "e raised to x")
LogOp = _define(FloatUnaryOp, "log", "Natural logarithm")
SinOp = _define(FloatUnaryOp, "sin", "Sine of x in radians")
CosOp = _define(FloatUnaryOp, "cos", "Cosine of x in radians")
TanOp = _define(FloatUnaryOp, "tan", "Tangent of x in radians")
AsinOp = _define(FloatUnaryOp, "asin", "Inverse sine")
AcosOp = _define(FloatUnaryOp, "acos", "Inverse cosine")
AtanOp = _define(FloatUnaryOp, "atan", "Inverse tangent")
ErfOp = _define(FloatUnaryOp, "erf", "Gauss error function")
IsNanOp = _define(UnaryTestOp, "is_nan", "Whether x is NaN (i1)")
# Non-linearities (high level; most are lowered)
ReluOp = _define(NumberUnaryOp, "relu", "max(x, 0); NaN stays NaN")
SigmoidOp = _define(FloatUnaryOp, "sigmoid", "1 / (1 + exp(-x))")
TanhOp = _define(FloatUnaryOp, "tanh", "Hyperbolic tangent")
SoftplusOp = _define(FloatUnaryOp, "softplus", "log(1 + exp(x))")
SoftsignOp = _define(FloatUnaryOp, "softsign", "x / (1 + |x|)")
HardSwishOp = _define(FloatUnaryOp, "hard_swish", "x * clip(x / 6 + 0.5, 0, 1)")
MishOp = _define(FloatUnaryOp, "mish", "x * tanh(softplus(x))")
GeluOp = _define(FloatUnaryOp, "gelu", "x / 2 * (1 + erf(x / sqrt 2))")
GeluTanhOp = _define(FloatUnaryOp, "gelu_tanh", "GELU's tanh approximation")


@irdl_op_definition
class ClipOp(NumberUnaryOp):
    """`min(max(x, low), high)`; NaN stays NaN."""

    name = "glow.clip"
    low = prop_def(FloatAttr, default_value=float_attr(float("-inf")))
    high = prop_def(FloatAttr, default_value=float_attr(float("inf")))


@irdl_op_definition
class LeakyReluOp(FloatUnaryOp):
    """`x if x >= 0 else alpha * x`."""

    name = "glow.leaky_relu"
    alpha = prop_def(FloatAttr, default_value=float_attr(0.01))


@irdl_op_definition
class EluOp(FloatUnaryOp):
    """`gamma * (x if x >= 0 else alpha * (exp(x) - 1))` (ONNX Elu and Selu)."""

    name = "glow.elu"
    alpha = prop_def(FloatAttr, default_value=float_attr(1.0))
    gamma = prop_def(FloatAttr, default_value=float_attr(1.0))


@irdl_op_definition
class HardSigmoidOp(FloatUnaryOp):
    """`clip(alpha * x + beta, 0, 1)`."""

    name = "glow.hard_sigmoid"
    alpha = prop_def(FloatAttr, default_value=float_attr(0.2))
    beta = prop_def(FloatAttr, default_value=float_attr(0.5))


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
            f"the condition must have i1 elements, not {operands[0].element_type}",
        )
        element_type = same_element_type(operands[1:])
        shape = broadcast_shape([operand.get_shape() for operand in operands])
        return [tensor_type(shape, element_type)]


@irdl_op_definition
class ConvertOp(NodeOp):
    """The elements in another type (ONNX Cast): floats to integers truncate."""

    name = "glow.convert"
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(DataParallel())

    @classmethod
    def check(cls, operands: Types, attributes: Attributes, results: Types) -> None:
        """The shape stays."""
        fail_unless(
            operands[0].get_shape() == results[0].get_shape(),
            f"a conversion keeps the shape, not {operands[0]} to {results[0]}",
        )


UNARY: tuple[type[NodeOp], ...] = (
    NotOp, NegOp, AbsOp, SignOp, FloorOp, CeilOp, RoundOp, SqrtOp, RsqrtOp,
    ReciprocalOp, ExpOp, LogOp, SinOp, CosOp, TanOp, AsinOp, AcosOp, AtanOp, ErfOp,
    IsNanOp, ReluOp, SigmoidOp, TanhOp, SoftplusOp, SoftsignOp, HardSwishOp, MishOp,
    GeluOp, GeluTanhOp, ClipOp, LeakyReluOp, EluOp, HardSigmoidOp,
)  # fmt: skip

BINARY: tuple[type[NodeOp], ...] = (
    AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp, PowOp, ModOp, FmodOp, EqualOp,
    NotEqualOp, LessOp, LessEqualOp, AndOp, OrOp, XorOp,
)  # fmt: skip

OPS: tuple[type[NodeOp], ...] = (*UNARY, *BINARY, SelectOp, ConvertOp)
