"""Non-linearities as arithmetic on whole tensors; constants are splats of rank 0."""

from __future__ import annotations

from math import pi, sqrt

from xdsl.dialects.builtin import f16
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.attributes import Attributes
from glow.dialects.node import NodeOp
from glow.passes.rewriting.node_builder import NodeBuilder, element_type


class Arithmetic:
    """Short names for the nodes of a formula in one operand `x`."""

    def __init__(self, op: Operation) -> None:
        assert isinstance(op, NodeOp)
        self.builder = NodeBuilder(op)
        self.attributes: Attributes = op.attributes_view()
        self.x = op.operands[0]
        self.element_type = element_type(self.x)

    def number(self, value: float) -> SSAValue:
        """A number that broadcasts."""
        return self.builder.splat(value, self.element_type)

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """a + b."""
        return self.builder.node(glow.AddOp, a, b)

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """a * b."""
        return self.builder.node(glow.MulOp, a, b)

    def unary(self, op_class: type[NodeOp], a: SSAValue) -> SSAValue:
        """A function of one operand."""
        return self.builder.node(op_class, a)

    def clamp(self, a: SSAValue, low: float, high: float) -> SSAValue:
        """min(max(a, low), high); infinite bounds vanish."""
        if low != float("-inf"):
            a = self.builder.node(glow.MaxOp, a, self.number(low))
        if high != float("inf"):
            a = self.builder.node(glow.MinOp, a, self.number(high))
        return a

    def where_negative(self, negative: SSAValue, other: SSAValue) -> SSAValue:
        """`negative` where x < 0, else `other` (NaN takes `other`)."""
        is_negative = self.builder.node(glow.LessOp, self.x, self.number(0.0))
        return self.builder.node(glow.SelectOp, is_negative, negative, other)


def relu(op: Operation) -> None:
    """max(x, 0)."""
    a = Arithmetic(op)
    a.builder.replace(a.clamp(a.x, 0.0, float("inf")))


def clip(op: Operation) -> None:
    """min(max(x, low), high)."""
    a = Arithmetic(op)
    low, high = a.attributes.float("low"), a.attributes.float("high")
    a.builder.replace(a.clamp(a.x, low, high))


def sigmoid(op: Operation) -> None:
    """1 / (1 + exp(-x))."""
    a = Arithmetic(op)
    exponential = a.unary(glow.ExpOp, a.unary(glow.NegOp, a.x))
    a.builder.replace(a.unary(glow.ReciprocalOp, a.add(exponential, a.number(1.0))))


def leaky_relu(op: Operation) -> None:
    """x, or alpha * x where x < 0."""
    a = Arithmetic(op)
    scaled = a.mul(a.x, a.number(a.attributes.float("alpha")))
    a.builder.replace(a.where_negative(scaled, a.x))


def elu(op: Operation) -> None:
    """gamma * x, or gamma * alpha * (exp(x) - 1) where x < 0."""
    a = Arithmetic(op)
    alpha, gamma = a.attributes.float("alpha"), a.attributes.float("gamma")
    # exp of min(x, 0) only: large positive x would overflow for nothing.
    exponential = a.unary(glow.ExpOp, a.clamp(a.x, float("-inf"), 0.0))
    negative = a.mul(a.add(exponential, a.number(-1.0)), a.number(alpha * gamma))
    a.builder.replace(a.where_negative(negative, a.mul(a.x, a.number(gamma))))


def hard_sigmoid(op: Operation) -> None:
    """clip(alpha * x + beta, 0, 1)."""
    a = Arithmetic(op)
    scaled = a.mul(a.x, a.number(a.attributes.float("alpha")))
    shifted = a.add(scaled, a.number(a.attributes.float("beta")))
    a.builder.replace(a.clamp(shifted, 0.0, 1.0))


def hard_swish(op: Operation) -> None:
    """x * clip(x / 6 + 0.5, 0, 1)."""
    a = Arithmetic(op)
    gate = a.add(a.mul(a.x, a.number(1 / 6)), a.number(0.5))
    a.builder.replace(a.mul(a.x, a.clamp(gate, 0.0, 1.0)))


def _softplus(a: Arithmetic) -> SSAValue:
    """max(x, 0) + log(1 + exp(-|x|)): exp cannot overflow."""
    negative = a.unary(glow.NegOp, a.unary(glow.AbsOp, a.x))
    small = a.add(a.unary(glow.ExpOp, negative), a.number(1.0))
    return a.add(a.clamp(a.x, 0.0, float("inf")), a.unary(glow.LogOp, small))


def softplus(op: Operation) -> None:
    """log(1 + exp(x))."""
    a = Arithmetic(op)
    a.builder.replace(_softplus(a))


def mish(op: Operation) -> None:
    """x * tanh(softplus(x)) as x * n / (n + 2), n = e^x * (e^x + 2).

    The logarithm of 1 + e^x would lose the digits of a negative x.
    """
    a = Arithmetic(op)
    limit = a.number(5.5 if a.element_type == f16 else 20.0)
    e = a.unary(glow.ExpOp, a.builder.node(glow.MinOp, a.x, limit))
    n = a.mul(e, a.add(e, a.number(2.0)))
    share = a.builder.node(glow.DivOp, n, a.add(n, a.number(2.0)))
    a.builder.replace(a.mul(a.x, share))


def softsign(op: Operation) -> None:
    """x / (1 + |x|)."""
    a = Arithmetic(op)
    divisor = a.add(a.unary(glow.AbsOp, a.x), a.number(1.0))
    a.builder.replace(a.builder.node(glow.DivOp, a.x, divisor))


def gelu(op: Operation) -> None:
    """x / 2 * (1 + erf(x / sqrt 2))."""
    a = Arithmetic(op)
    erf = a.unary(glow.ErfOp, a.mul(a.x, a.number(1 / sqrt(2))))
    half = a.mul(a.x, a.number(0.5))
    a.builder.replace(a.mul(half, a.add(erf, a.number(1.0))))


def gelu_tanh(op: Operation) -> None:
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))."""
    a = Arithmetic(op)
    square = a.mul(a.x, a.x)
    factor = a.add(a.mul(square, a.number(0.044715)), a.number(1.0))
    inner = a.mul(a.mul(a.x, a.number(sqrt(2 / pi))), factor)
    outer = a.add(a.unary(glow.TanhOp, inner), a.number(1.0))
    a.builder.replace(a.mul(a.mul(a.x, a.number(0.5)), outer))


LOWERINGS = {
    glow.ReluOp: relu,
    glow.ClipOp: clip,
    glow.SigmoidOp: sigmoid,
    glow.LeakyReluOp: leaky_relu,
    glow.EluOp: elu,
    glow.HardSigmoidOp: hard_sigmoid,
    glow.HardSwishOp: hard_swish,
    glow.SoftplusOp: softplus,
    glow.SoftsignOp: softsign,
    glow.MishOp: mish,
    glow.GeluOp: gelu,
    glow.GeluTanhOp: gelu_tanh,
}
