"""How element-wise nodes are defined: each is one entry that says all about it.

    MishOp = unary(
        "mish",
        "x * tanh(softplus(x))",
        Facts(
            reference=_mish,  # a NumPy function
            scalar=lambda f, x, _: f.mul(x[0], f.apply(TanhOp, f.apply(SoftplusOp, x[0]))),
            onnx="Mish",
            table=True,
        ),
    )

The text, the shape rule, the instruction, the interpreter, the kernel's body, the
lowering, the import from ONNX and the tests' examples all follow from the entry; those who
need a fact ask `facts_of(node)`. Operands of two- and three-operand nodes broadcast as
NumPy's do. The entries stand in `arithmetic.py`, `functions.py` and `activations.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import numpy.typing as npt
from xdsl.dialects.builtin import FloatAttr, IntegerType, Signedness, TensorType, i1
from xdsl.ir import Attribute, SSAValue
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
from glow.dialects.bounded_cache import bounded_cache
from glow.dialects.node import (
    DataParallel,
    NodeOp,
    OnnxNames,
    Types,
    fail_unless,
    public_nodes,
    tensor_type,
)
from glow.dialects.quantized import IntegerForm, any_quantized

if TYPE_CHECKING:
    from glow.dialects.glow.formulas import (
        Derivative,
        Formula,
        Gradients,
        Lowering,
        Operands,
        ScalarBody,
        Scalars,
    )

Array: TypeAlias = npt.NDArray[Any]


def broadcast_shape(shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The NumPy broadcast of shapes; raises VerifyException where they disagree."""
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[int] = []
    for axis in range(-rank, 0):
        sizes = {shape[axis] for shape in shapes if len(shape) >= -axis} - {1}
        fail_unless(
            len(sizes) <= 1,
            lambda: (
                "operands do not broadcast: shapes "
                + ", ".join("x".join(map(str, shape)) or "scalar" for shape in shapes)
            ),
        )
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


def same_element_type(operands: Types) -> Attribute:
    """The operands' element type; raises VerifyException where they have several."""
    first = operands[0].element_type
    if not (
        all(operand.element_type == first for operand in operands)
        or any_quantized(operands)  # rules of their own: `INTEGER_FORM`
    ):
        types = ", ".join(str(operand.element_type) for operand in operands)
        raise VerifyException(f"operands must have one element type, not {types}")
    return first


def is_integer(element_type: Attribute) -> bool:
    """Whether an element type is a plain integer or boolean."""
    return isinstance(element_type, IntegerType)


def is_unsigned(element_type: Attribute) -> bool:
    """Whether an element type is an unsigned integer or boolean."""
    if not isinstance(element_type, IntegerType):
        return False
    integer = cast("IntegerType[int, Signedness]", element_type)
    return integer.signedness.data is Signedness.UNSIGNED or integer.width.data == 1


@bounded_cache
def signless(scalar: Attribute) -> Attribute:
    """The scalar type that `arith` takes: integers have no sign."""
    if not isinstance(scalar, IntegerType):
        return scalar
    return IntegerType(cast("IntegerType[int, Signedness]", scalar).width.data)


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
            lambda: (
                f"{cls.name} needs floating-point elements, not {operands[0].element_type}"
            ),
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


@dataclass(frozen=True, kw_only=True)
class Facts:
    """All about an element-wise node but its name, operands and attributes."""

    reference: Callable[..., Array]
    """What it means: a NumPy function of the operands, then of the attributes in order.

    Everything else is compared with it, so accuracy counts and speed does not. Functions
    of floats (`FloatUnaryOp`) are called with float64, and their results rounded once.
    """
    scalar: str | ScalarBody | None = None
    """Its element's code: the name of an operation (`math.tanh`) or a function that writes
    several; that of `lowering` if it is left out."""
    lowering: Lowering | None = None
    """The nodes that a backend may have in its place; None of a primitive."""
    derivative: Derivative | None = None
    """How a gradient of the result becomes one of each operand; None where there is none."""
    onnx: OnnxNames | None = None
    """The ONNX operators that are this node; see `NodeOp.ONNX`."""
    table: bool = False
    """Whether it is a table of 256 or 65,536 entries where its operand and its result have
    quantized elements."""
    integer_form: IntegerForm | None = None
    """The rule for types of quantized elements, if it computes on them."""
    commutative: bool = False
    neutral: float | None = None
    """The `n` of which `x op n` is x."""
    idempotent: bool = False
    """Whether `op(op(x))` is `op(x)`, or `op(x, x)` is x."""
    involution: bool = False
    """Whether `op(op(x))` is x."""


class ScalarNode(NodeOp):
    """A data-parallel node of a backend, which says itself what it does to one element."""

    @classmethod
    def scalar(
        cls, f: Scalars, x: Operands, element: Attribute, attributes: Attributes
    ) -> SSAValue:
        """The element of the result, of type `element`, of those of the operands."""
        raise NotImplementedError


def no_slope(
    f: Formula, x: Operands, y: SSAValue, g: SSAValue, attributes: Attributes
) -> Gradients:
    """The derivative of a step function: no gradient."""
    return [None] * len(x)


FACTS: dict[type[NodeOp], Facts] = {}
"""Element-wise node class to what is known of it, in the order of definition."""


def register(node: type[NodeOp], facts: Facts) -> None:
    """Enter a node that is defined as a class."""
    FACTS[node] = facts
    node.ONNX = facts.onnx
    node.INTEGER_FORM = facts.integer_form


Base = TypeVar("Base", bound=NodeOp)


def _define(
    base: type[Base], mnemonic: str, doc: str, namespace: dict[str, object]
) -> type[Base]:
    """The op class `glow.<mnemonic>` with the definitions of the namespace."""
    class_name = "".join(word.capitalize() for word in mnemonic.split("_")) + "Op"
    names = {"__doc__": doc, "__module__": __package__, "name": f"glow.{mnemonic}"}
    op_class = type(class_name, (base,), namespace | names)
    return irdl_op_definition(cast("type[Base]", op_class))


def unary(
    mnemonic: str,
    doc: str,
    facts: Facts,
    base: type[UnaryOp] = FloatUnaryOp,
    **attributes: float,
) -> type[UnaryOp]:
    """The node `glow.<mnemonic>` of one operand; float attributes with their defaults."""
    definitions: dict[str, object] = {
        name: prop_def(FloatAttr, default_value=float_attr(default))
        for name, default in attributes.items()
    }
    node = _define(base, mnemonic, doc, definitions)
    register(node, facts)
    return node


def binary(
    mnemonic: str, doc: str, facts: Facts, base: type[BinaryOp] = NumberBinaryOp
) -> type[BinaryOp]:
    """The node `glow.<mnemonic>` of two operands, without attributes."""
    traits = {"traits": traits_def(Commutative())} if facts.commutative else {}
    node = _define(base, mnemonic, doc, dict(traits))
    register(node, facts)
    return node


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
