"""What each data-parallel node does to one element, as `arith` and `math` operations.

The one source of scalar code: epilogues of convolutions and products, stacked
instructions and element-wise kernels all take their bodies from here. NaN passes through
maxima, minima and everything made of them, as the nodes say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, pi, sqrt
from typing import TypeAlias, cast

from xdsl.dialects import math
from xdsl.dialects.builtin import (
    AnyFloat,
    IntegerType,
    Signedness,
    f32,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from glow.dialects import arith, glow
from glow.dialects.attributes import Attributes
from glow.dialects.glow import YieldOp, scalar_attr
from glow.dialects.node import NodeOp
from glow.dialects.weight_table import dtype_of

Integer: TypeAlias = "IntegerType[int, Signedness]"


class ScalarBuilder:
    """Appends scalar operations to a block."""

    def __init__(self, block: Block) -> None:
        self.block = block

    def append(self, op: Operation) -> SSAValue:
        """The result of an operation, which ends the block now."""
        self.block.add_op(op)
        return op.results[0]

    def unary(self, op_class: type[Operation], x: SSAValue) -> SSAValue:
        """An operation of one operand that keeps its type."""
        return self.append(op_class.create(operands=[x], result_types=[x.type]))

    def binary(self, op_class: type[Operation], x: SSAValue, y: SSAValue) -> SSAValue:
        """An operation of two operands that keeps their type."""
        return self.append(op_class(x, y))  # pyright: ignore[reportCallIssue]

    def number(self, value: float, like: SSAValue) -> SSAValue:
        """A constant of the type of `like`."""
        return self.constant(value, like.type)

    def constant(self, value: float, scalar: Attribute) -> SSAValue:
        """A constant of a scalar type."""
        attribute = scalar_attr(value, scalar)
        return self.append(
            arith.ConstantOp.create(
                properties={"value": attribute}, result_types=[scalar]
            )
        )

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
        return self.binary(_signed(x, arith.DivSIOp, arith.DivUIOp, arith.DivfOp), x, y)

    def maximum(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """The larger; NaN wins."""
        op = _signed(x, arith.MaxSIOp, arith.MaxUIOp, arith.MaximumfOp)
        return self.binary(op, x, y)

    def minimum(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """The smaller; NaN wins."""
        op = _signed(x, arith.MinSIOp, arith.MinUIOp, arith.MinimumfOp)
        return self.binary(op, x, y)

    def compare(self, predicate: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """An `i1`: `eq`, `ne`, `lt` or `le`; comparisons with NaN are false, `ne` true."""
        if is_integer(x):
            sign = "" if predicate in ("eq", "ne") else "u" if is_unsigned(x) else "s"
            return self.append(arith.CmpiOp(x, y, sign + predicate))
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
        """End the block with the values of one element."""
        self.block.add_op(YieldOp.create(operands=values))


def as_integer(scalar: Attribute) -> Integer | None:
    """The type if it is an integer."""
    return cast("Integer", scalar) if isinstance(scalar, IntegerType) else None


def is_integer(value: SSAValue) -> bool:
    """Whether a scalar is an integer."""
    return isinstance(value.type, IntegerType)


def is_unsigned(value: SSAValue) -> bool:
    """Whether a scalar is an unsigned integer or a boolean."""
    integer = as_integer(value.type)
    return integer is not None and (
        integer.signedness.data is Signedness.UNSIGNED or integer.width.data == 1
    )


def _signed(
    value: SSAValue,
    signed: type[Operation],
    unsigned: type[Operation],
    floating: type[Operation],
) -> type[Operation]:
    if not is_integer(value):
        return floating
    return unsigned if is_unsigned(value) else signed


Operands: TypeAlias = Sequence[SSAValue]
Body = Callable[[ScalarBuilder, Operands, Attributes], SSAValue]
"""Appends a node's scalar operations; returns the result's element."""


def _unary(op_class: type[Operation]) -> Body:
    return lambda b, x, _: b.unary(op_class, x[0])


def _compare(predicate: str) -> Body:
    return lambda b, x, _: b.compare(predicate, *x)


def _bitwise(op_class: type[Operation]) -> Body:
    return lambda b, x, _: b.binary(op_class, *x)


def _negate(b: ScalarBuilder, x: Operands, _: Attributes) -> SSAValue:
    if is_integer(x[0]):
        return b.sub(b.number(0, x[0]), x[0])
    return b.unary(arith.NegfOp, x[0])


def _absolute(b: ScalarBuilder, x: Operands, _: Attributes) -> SSAValue:
    if is_unsigned(x[0]):
        return x[0]
    if is_integer(x[0]):
        return b.maximum(x[0], b.sub(b.number(0, x[0]), x[0]))
    return b.unary(math.AbsFOp, x[0])


def _sign(b: ScalarBuilder, x: Operands, _: Attributes) -> SSAValue:
    """x itself where neither comparison holds: zero and NaN."""
    (value,) = x
    zero, one = (b.number(n, value) for n in (0, 1))
    positive = b.select(b.compare("lt", zero, value), one, value)
    if is_unsigned(value):
        return positive
    minus = b.number(-1, value)
    return b.select(b.compare("lt", value, zero), minus, positive)


def _not(b: ScalarBuilder, x: Operands, _: Attributes) -> SSAValue:
    """Of numbers: 1 for zero, else 0."""
    zero, one = b.number(0, x[0]), b.number(1, x[0])
    if x[0].type == i1:
        return b.binary(arith.XOrIOp, x[0], one)
    return b.select(b.compare("eq", x[0], zero), one, zero)


def _reciprocal(b: ScalarBuilder, x: Operands, _: Attributes) -> SSAValue:
    return b.div(b.number(1.0, x[0]), x[0])


def _is_nan(b: ScalarBuilder, x: Operands, _: Attributes) -> SSAValue:
    return b.compare("ne", x[0], x[0])


def _power(b: ScalarBuilder, x: Operands, _: Attributes) -> SSAValue:
    return b.binary(math.IPowIOp if is_integer(x[0]) else math.PowFOp, *x)


def _truncated_remainder(b: ScalarBuilder, x: Operands, _: Attributes) -> SSAValue:
    op = _signed(x[0], arith.RemSIOp, arith.RemUIOp, arith.RemfOp)
    return b.binary(op, *x)


def _remainder(b: ScalarBuilder, x: Operands, attributes: Attributes) -> SSAValue:
    """C's remainder, plus rhs where it has the other sign than rhs."""
    remainder = _truncated_remainder(b, x, attributes)
    if is_unsigned(x[0]):
        return remainder
    zero = b.number(0, x[0])
    differs = b.append(
        arith.XOrIOp(b.compare("lt", remainder, zero), b.compare("lt", x[1], zero))
    )
    wrong = b.append(arith.AndIOp(differs, b.compare("ne", remainder, zero)))
    return b.select(wrong, b.add(remainder, x[1]), remainder)


def _relu(b: ScalarBuilder, x: Operands, _: Attributes) -> SSAValue:
    return b.maximum(x[0], b.number(0, x[0]))


def _clip(b: ScalarBuilder, x: Operands, clip: Attributes) -> SSAValue:
    return b.clamp(x[0], clip.float("low"), clip.float("high"))


def _sigmoid(b: ScalarBuilder, x: Operands, _: Attributes) -> SSAValue:
    one = b.number(1.0, x[0])
    exponential = b.unary(math.ExpOp, b.unary(arith.NegfOp, x[0]))
    return b.div(one, b.add(exponential, one))


def _softplus(b: ScalarBuilder, x: Operands, attributes: Attributes) -> SSAValue:
    """max(x, 0) + log1p(exp(-|x|)): exp cannot overflow."""
    negative = b.unary(arith.NegfOp, b.unary(math.AbsFOp, x[0]))
    small = b.unary(math.Log1pOp, b.unary(math.ExpOp, negative))
    return b.add(_relu(b, x, attributes), small)


def _softsign(b: ScalarBuilder, x: Operands, _: Attributes) -> SSAValue:
    return b.div(x[0], b.add(b.unary(math.AbsFOp, x[0]), b.number(1.0, x[0])))


def _gate(b: ScalarBuilder, x: SSAValue, alpha: float, beta: float) -> SSAValue:
    """clip(alpha * x + beta, 0, 1)."""
    return b.clamp(b.add(b.mul(x, b.number(alpha, x)), b.number(beta, x)), 0.0, 1.0)


def _hard_sigmoid(b: ScalarBuilder, x: Operands, gate: Attributes) -> SSAValue:
    return _gate(b, x[0], gate.float("alpha"), gate.float("beta"))


def _hard_swish(b: ScalarBuilder, x: Operands, _: Attributes) -> SSAValue:
    return b.mul(x[0], _gate(b, x[0], 1 / 6, 0.5))


def _mish(b: ScalarBuilder, x: Operands, attributes: Attributes) -> SSAValue:
    return b.mul(x[0], b.unary(math.TanhOp, _softplus(b, x, attributes)))


def _half_of_one_plus(b: ScalarBuilder, x: SSAValue, inner: SSAValue) -> SSAValue:
    """x / 2 * (1 + inner)."""
    half = b.mul(x, b.number(0.5, x))
    return b.mul(half, b.add(inner, b.number(1.0, x)))


def _gelu(b: ScalarBuilder, x: Operands, _: Attributes) -> SSAValue:
    scaled = b.mul(x[0], b.number(1 / sqrt(2), x[0]))
    return _half_of_one_plus(b, x[0], b.unary(math.ErfOp, scaled))


def _gelu_tanh(b: ScalarBuilder, x: Operands, _: Attributes) -> SSAValue:
    (value,) = x
    cubic = b.mul(b.mul(value, value), b.number(0.044715, value))
    inner = b.mul(value, b.add(cubic, b.number(1.0, value)))
    inner = b.mul(inner, b.number(sqrt(2 / pi), value))
    return _half_of_one_plus(b, value, b.unary(math.TanhOp, inner))


def _leaky_relu(b: ScalarBuilder, x: Operands, leaky: Attributes) -> SSAValue:
    scaled = b.mul(x[0], b.number(leaky.float("alpha"), x[0]))
    return b.select(b.compare("lt", x[0], b.number(0.0, x[0])), scaled, x[0])


def _elu(b: ScalarBuilder, x: Operands, elu: Attributes) -> SSAValue:
    gamma, alpha = elu.float("gamma"), elu.float("alpha")
    (value,) = x
    # exp of min(x, 0) only: large positive x would overflow for nothing.
    exponential = b.unary(math.ExpM1Op, b.clamp(value, -inf, 0.0))
    negative = b.mul(exponential, b.number(alpha * gamma, value))
    positive = value if gamma == 1.0 else b.mul(value, b.number(gamma, value))
    return b.select(b.compare("lt", value, b.number(0.0, value)), negative, positive)


SCALAR_BODIES: dict[type[NodeOp], Body] = {
    glow.AddOp: lambda b, x, _: b.add(*x),
    glow.SubOp: lambda b, x, _: b.sub(*x),
    glow.MulOp: lambda b, x, _: b.mul(*x),
    glow.DivOp: lambda b, x, _: b.div(*x),
    glow.MaxOp: lambda b, x, _: b.maximum(*x),
    glow.MinOp: lambda b, x, _: b.minimum(*x),
    glow.PowOp: _power,
    glow.ModOp: _remainder,
    glow.FmodOp: _truncated_remainder,
    glow.EqualOp: _compare("eq"),
    glow.NotEqualOp: _compare("ne"),
    glow.LessOp: _compare("lt"),
    glow.LessEqualOp: _compare("le"),
    glow.AndOp: _bitwise(arith.AndIOp),
    glow.OrOp: _bitwise(arith.OrIOp),
    glow.XorOp: _bitwise(arith.XOrIOp),
    glow.NotOp: _not,
    glow.NegOp: _negate,
    glow.AbsOp: _absolute,
    glow.SignOp: _sign,
    glow.FloorOp: _unary(math.FloorOp),
    glow.CeilOp: _unary(math.CeilOp),
    glow.RoundOp: _unary(math.RoundEvenOp),
    glow.SqrtOp: _unary(math.SqrtOp),
    glow.RsqrtOp: _unary(math.RsqrtOp),
    glow.ReciprocalOp: _reciprocal,
    glow.ExpOp: _unary(math.ExpOp),
    glow.LogOp: _unary(math.LogOp),
    glow.SinOp: _unary(math.SinOp),
    glow.CosOp: _unary(math.CosOp),
    glow.TanOp: _unary(math.TanOp),
    glow.AsinOp: _unary(math.AsinOp),
    glow.AcosOp: _unary(math.AcosOp),
    glow.AtanOp: _unary(math.AtanOp),
    glow.ErfOp: _unary(math.ErfOp),
    glow.IsNanOp: _is_nan,
    glow.ReluOp: _relu,
    glow.SigmoidOp: _sigmoid,
    glow.TanhOp: _unary(math.TanhOp),
    glow.SoftplusOp: _softplus,
    glow.SoftsignOp: _softsign,
    glow.HardSwishOp: _hard_swish,
    glow.MishOp: _mish,
    glow.GeluOp: _gelu,
    glow.GeluTanhOp: _gelu_tanh,
    glow.ClipOp: _clip,
    glow.LeakyReluOp: _leaky_relu,
    glow.EluOp: _elu,
    glow.HardSigmoidOp: _hard_sigmoid,
    glow.SelectOp: lambda b, x, _: b.select(*x),
}
"""Node class to scalar body; `glow.convert` and `glow.fused` are in `emit_node`."""


def emit_node(
    builder: ScalarBuilder, op: NodeOp, operands: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """Append the scalar form of a data-parallel node; returns its results' elements."""
    if isinstance(op, glow.FusedOp):
        return inline_body(builder, op.body.block, operands)
    if isinstance(op, glow.ConvertOp):
        return [convert(builder, operands[0], op.result.type.element_type)]
    return [SCALAR_BODIES[type(op)](builder, operands, op.attributes_view())]


def has_scalar_body(op: Operation) -> bool:
    """Whether `emit_node` knows the node."""
    return type(op) in SCALAR_BODIES or isinstance(op, glow.FusedOp | glow.ConvertOp)


def inline_body(
    builder: ScalarBuilder, body: Block, operands: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """Append a copy of a scalar block; returns what it yields."""
    mapping: dict[SSAValue, SSAValue] = dict(zip(body.args, operands, strict=True))
    for op in body.ops:
        if op is body.last_op:
            return [mapping[value] for value in op.operands]
        builder.block.add_op(op.clone(mapping))
    return []


def convert(builder: ScalarBuilder, x: SSAValue, target: Attribute) -> SSAValue:
    """The scalar in another element type; floats to integers truncate."""
    if x.type == target:
        return x
    if target == i1:
        return builder.compare("ne", x, builder.number(0, x))
    source_integer, target_integer = as_integer(x.type), as_integer(target)
    if source_integer is not None and target_integer is not None:
        narrower = target_integer.width.data < source_integer.width.data
        extend = arith.ExtUIOp if is_unsigned(x) else arith.ExtSIOp
        return builder.append((arith.TruncIOp if narrower else extend)(x, target))
    if target_integer is not None:
        unsigned = target_integer.signedness.data is Signedness.UNSIGNED
        truncate = arith.FPToUIOp if unsigned else arith.FPToSIOp
        return builder.append(truncate(x, target))
    if source_integer is not None:
        widen = arith.UIToFPOp if is_unsigned(x) else arith.SIToFPOp
        return builder.append(widen(x, target))
    return _resize_float(builder, x, target)


def _resize_float(builder: ScalarBuilder, x: SSAValue, target: Attribute) -> SSAValue:
    source_width, target_width = dtype_of(x.type).itemsize, dtype_of(target).itemsize
    if source_width == target_width:  # f16 and bf16: through f32
        x = builder.append(arith.ExtFOp(x, cast(AnyFloat, f32)))
    resize = arith.ExtFOp if source_width < target_width else arith.TruncFOp
    return builder.append(resize(x, cast(AnyFloat, target)))
