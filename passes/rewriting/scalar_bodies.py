"""What each data-parallel node does to one element, as `arith` and `math` operations.

The one source of scalar code: epilogues of convolutions and products, stacked
instructions and element-wise kernels all take their bodies from here. NaN passes through
maxima, minima and everything made of them, as the nodes say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, pi, sqrt
from typing import TypeAlias

from xdsl.dialects import math
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Operation, SSAValue

from glow.dialects import arith, glow
from glow.dialects.attributes import Attributes
from glow.dialects.node import NodeOp
from glow.passes.rewriting.scalar_builder import (
    ScalarBuilder,
    by_sign,
    convert,
    is_integer,
    is_unsigned,
)

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
    op = by_sign(x[0], arith.RemSIOp, arith.RemUIOp, arith.RemfOp)
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
