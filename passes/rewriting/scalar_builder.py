"""Writes scalar `arith` operations by what they mean: one method for all element types.

`add` of two values is `arith.addf`, `arith.addi` or, of booleans, `arith.ori`; `convert` takes
a value from any element type to any other. `arith` is on integers without signs: those of
unsigned elements are cast at its border, where bits stay what they are.

    %a = builtin.unrealized_conversion_cast %x : ui8 to i8
    %b = builtin.unrealized_conversion_cast %y : ui8 to i8
    %c = arith.maxui %a, %b : i8
    %z = builtin.unrealized_conversion_cast %c : i8 to ui8
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import TypeAlias, cast

from xdsl.dialects import math
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    UnrealizedConversionCastOp,
    f32,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.hints import isa

from glow.dialects import arith
from glow.dialects.attributes import Attributes
from glow.dialects.glow import (
    FACTS,
    BitcastOp,
    ConvertOp,
    UnaryOp,
    YieldOp,
    elementwise,
    scalar_attr,
)
from glow.dialects.glow.elementwise import signless
from glow.dialects.glow.formulas import ScalarBody
from glow.dialects.node import NodeOp
from glow.dialects.small_types import is_small
from glow.dialects.weight_table import dtype_of
from glow.passes.rewriting.small_elements import narrow, wide_type, widen

Integer: TypeAlias = "IntegerType[int, Signedness]"

OPERATIONS: Mapping[str, type[Operation]] = {
    op.name: op for op in (*arith.Arith.operations, *math.Math.operations)
}
"""The scalar operations by name."""


class ScalarBuilder:
    """Appends scalar operations to a block; what formulas call `Scalars`."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.casts: list[Operation] = []
        """Between integers with a sign and without."""

    def append(self, op: Operation) -> SSAValue:
        """The result of an operation, which ends the block now."""
        self.block.add_op(op)
        return op.results[0]

    def make(
        self,
        operation: str | type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
    ) -> SSAValue:
        """The result of a new operation; constructors of their own take twice as long."""
        op_class = OPERATIONS[operation] if isinstance(operation, str) else operation
        return self.append(op_class.create(operands=operands, result_types=[result]))

    def in_type(self, x: SSAValue, scalar: Attribute) -> SSAValue:
        """An integer as one of another sign, with the same bits."""
        if x.type == scalar:
            return x
        if isinstance(x.owner, UnrealizedConversionCastOp):
            (before,) = x.owner.operands
            if before.type == scalar:
                return before
        op = UnrealizedConversionCastOp.create(operands=[x], result_types=[scalar])
        self.casts.append(op)
        return self.append(op)

    def bits(self, x: SSAValue) -> SSAValue:
        """A scalar as `arith` takes it: an integer without a sign."""
        return self.in_type(x, signless(x.type))

    def unary(self, operation: str | type[Operation], x: SSAValue) -> SSAValue:
        """An operation of one operand that keeps its type."""
        bits = self.bits(x)
        return self.in_type(self.make(operation, [bits], bits.type), x.type)

    def binary(
        self, operation: str | type[Operation], x: SSAValue, y: SSAValue
    ) -> SSAValue:
        """An operation of two operands that keeps their type."""
        bits = self.bits(x)
        whole = self.make(operation, [bits, self.bits(y)], bits.type)
        return self.in_type(whole, x.type)

    def apply(self, node: type[NodeOp], *operands: SSAValue) -> SSAValue:
        """What an element-wise node without attributes does to one element."""
        attributes = Attributes(node.get_irdl_definition(), {})
        return SCALAR_BODIES[node](self, operands, attributes)

    def number(self, value: float, like: SSAValue) -> SSAValue:
        """A constant of the type of `like`."""
        return self.constant(value, like.type)

    def constant(self, value: float, scalar: Attribute) -> SSAValue:
        """A constant of a scalar type."""
        return self.number_attr(scalar_attr(value, scalar))

    def number_attr(self, value: Attribute) -> SSAValue:
        """The constant of an attribute."""
        scalar = cast("IntegerAttr | FloatAttr", value).type
        bare = signless(scalar)
        if bare != scalar:
            assert isa(value, IntegerAttr)
            value = IntegerAttr(value.value.data, cast(Integer, bare))
        op = arith.ConstantOp.create(properties={"value": value}, result_types=[bare])
        return self.in_type(self.append(op), scalar)

    def add(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x + y; of booleans whether either holds."""
        if x.type == i1:
            return self.binary(arith.OrIOp, x, y)
        return self.binary(arith.AddiOp if is_integer(x) else arith.AddfOp, x, y)

    def sub(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x - y."""
        return self.binary(arith.SubiOp if is_integer(x) else arith.SubfOp, x, y)

    def mul(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x * y."""
        return self.binary(arith.MuliOp if is_integer(x) else arith.MulfOp, x, y)

    def div(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x / y; integers round towards zero."""
        return self.binary(by_sign(x, arith.DivSIOp, arith.DivUIOp, arith.DivfOp), x, y)

    def maximum(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """The larger; NaN wins."""
        op = by_sign(x, arith.MaxSIOp, arith.MaxUIOp, arith.MaximumfOp)
        return self.binary(op, x, y)

    def minimum(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """The smaller; NaN wins."""
        op = by_sign(x, arith.MinSIOp, arith.MinUIOp, arith.MinimumfOp)
        return self.binary(op, x, y)

    def convert(self, x: SSAValue, scalar: Attribute) -> SSAValue:
        """The scalar in another element type; floats to integers truncate."""
        return convert(self, x, scalar)

    def compare(self, predicate: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """An `i1`: `eq`, `ne`, `lt` or `le`; comparisons with NaN are false, `ne` true."""
        if is_integer(x):
            sign = "" if predicate in ("eq", "ne") else "u" if is_unsigned(x) else "s"
            bits = self.bits(x), self.bits(y)
            return self.append(arith.CmpiOp(*bits, sign + predicate))
        order = "u" if predicate == "ne" else "o"
        return self.append(arith.CmpfOp(x, y, order + predicate))

    def select(self, condition: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
        """x where the condition holds, else y."""
        return self.append(arith.SelectOp(condition, x, y))

    def clamp(self, x: SSAValue, low: float, high: float) -> SSAValue:
        """min(max(x, low), high); infinite bounds vanish."""
        if low != -inf:
            x = self.maximum(x, self.number(low, x))
        if high != inf:
            x = self.minimum(x, self.number(high, x))
        return x

    def yield_(self, *values: SSAValue) -> None:
        """End the block with the values of one element; casts that nobody needs go."""
        self.block.add_op(YieldOp.create(operands=values))
        for op in reversed(self.casts):
            if not op.results[0].uses:
                self.block.erase_op(op)
        self.casts.clear()


def as_integer(scalar: Attribute) -> Integer | None:
    """The type if it is an integer."""
    return cast("Integer", scalar) if isinstance(scalar, IntegerType) else None


def is_integer(value: SSAValue) -> bool:
    """Whether a scalar is an integer."""
    return isinstance(value.type, IntegerType)


def is_unsigned(value: SSAValue) -> bool:
    """Whether a scalar is an unsigned integer or a boolean."""
    return elementwise.is_unsigned(value.type)


def by_sign(
    value: SSAValue,
    signed: type[Operation],
    unsigned: type[Operation],
    floating: type[Operation],
) -> type[Operation]:
    """The class of operation that fits a scalar's type."""
    if not is_integer(value):
        return floating
    return unsigned if is_unsigned(value) else signed


def convert(
    builder: ScalarBuilder, x: SSAValue, target: Attribute, round_mode: str = "nearest"
) -> SSAValue:
    """The scalar in another element type; floats to integers truncate.

    `round_mode` is that of conversions to `f8E8M0FNU`.
    """
    if x.type == target:
        return x
    if is_small(x.type):
        return convert(builder, widen(builder, x), target, round_mode)
    if is_small(target):
        wide = convert(builder, x, wide_type(target))
        return narrow(builder, wide, target, round_mode)
    if target == i1:
        return builder.compare("ne", x, builder.number(0, x))
    source_integer, target_integer = as_integer(x.type), as_integer(target)
    if target_integer is not None:
        if source_integer is not None:
            return _resize_integer(builder, x, source_integer, target_integer)
        unsigned = target_integer.signedness.data is Signedness.UNSIGNED
        truncate = arith.FPToUIOp if unsigned else arith.FPToSIOp
        whole = builder.make(truncate, [x], signless(target))
        return builder.in_type(whole, target)
    if source_integer is not None:
        to_float = arith.UIToFPOp if is_unsigned(x) else arith.SIToFPOp
        return builder.make(to_float, [builder.bits(x)], target)
    return _resize_float(builder, x, target)


def _resize_integer(
    builder: ScalarBuilder, x: SSAValue, source: Integer, target: Integer
) -> SSAValue:
    if source.width == target.width:
        return builder.in_type(builder.bits(x), target)
    narrower = target.width.data < source.width.data
    extend = arith.ExtUIOp if is_unsigned(x) else arith.ExtSIOp
    resize = arith.TruncIOp if narrower else extend
    resized = builder.make(resize, [builder.bits(x)], signless(target))
    return builder.in_type(resized, target)


def _convert_node(
    builder: ScalarBuilder, x: SSAValue, target: Attribute, attributes: Attributes
) -> SSAValue:
    return convert(builder, x, target, attributes.string("round_mode"))


def _bitcast_node(
    builder: ScalarBuilder, x: SSAValue, target: Attribute, attributes: Attributes
) -> SSAValue:
    if as_integer(x.type) is not None and as_integer(target) is not None:
        return convert(builder, x, target)
    same = builder.append(arith.BitcastOp(builder.bits(x), signless(target)))
    return builder.in_type(same, target)


Cast = Callable[[ScalarBuilder, SSAValue, Attribute, Attributes], SSAValue]

CASTS: Mapping[type[NodeOp], Cast] = {
    ConvertOp: _convert_node,
    BitcastOp: _bitcast_node,
}
"""Node class to what takes one element to the type of the result."""


def _resize_float(builder: ScalarBuilder, x: SSAValue, target: Attribute) -> SSAValue:
    source_width, target_width = dtype_of(x.type).itemsize, dtype_of(target).itemsize
    if source_width == target_width:  # f16 and bf16: through f32
        x = builder.append(arith.ExtFOp(x, cast(AnyFloat, f32)))
    resize = arith.ExtFOp if source_width < target_width else arith.TruncFOp
    return builder.append(resize(x, cast(AnyFloat, target)))


def _operation(name: str, arity: int) -> ScalarBody:
    """The body that is one operation."""
    if arity == 1:
        return lambda f, x, _: f.unary(name, x[0])
    return lambda f, x, _: f.binary(name, *x)


def _bodies() -> dict[type[NodeOp], ScalarBody]:
    bodies: dict[type[NodeOp], ScalarBody] = {}
    for node, facts in FACTS.items():
        body = facts.lowering if facts.scalar is None else facts.scalar
        if isinstance(body, str):
            body = _operation(body, 1 if issubclass(node, UnaryOp) else 2)
        if body is not None:
            bodies[node] = body
    return bodies


SCALAR_BODIES = _bodies()
"""Element-wise node class to what it does to one element."""
