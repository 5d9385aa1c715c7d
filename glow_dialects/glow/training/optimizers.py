"""Optimizers: one step of all parameters of a network, as torch.optim defines it.

A node takes the rate, the number of the step (1 is the first) and three runs of tensors: n
parameters, their n gradients, and n of each of its moments. It gives the new parameters, then
the new moments:

    %p, %q, %m, %n = glow.sgd %rate, %step, %p0, %q0, %dp, %dq, %m0, %n0 momentum 0.9
      : tensor<4x3xf32>, tensor<4xf32>, tensor<4x3xf32>, tensor<4xf32>

What it does to one element is a formula (`update`), which serves whole tensors and a kernel's
body; what depends on rate and step alone (`factors`) is computed once, in f64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias

from xdsl.dialects.builtin import (
    FloatAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
    var_result_def,
)

from glow.dialects.attributes import Attributes, double_attr
from glow.dialects.glow.arithmetic import PowOp
from glow.dialects.glow.elementwise import is_integer
from glow.dialects.glow.normalization import check_float
from glow.dialects.glow.training.terms import Term
from glow.dialects.node import NodeOp, Types, fail_unless, public_nodes

Factors: TypeAlias = Callable[[Attributes, Term, Term], list[Term]]
"""`factors(attributes, rate, step)`: numbers of the step, for all elements."""

Update: TypeAlias = Callable[[Attributes, Sequence[Term], Sequence[Term]], list[Term]]
"""`update(attributes, factors, [parameter, gradient, *moments])`: those that are new."""


class OptimizerOp(NodeOp):
    """One step of an optimizer."""

    FACTORS: ClassVar[Factors]
    UPDATE: ClassVar[Update]
    rate = operand_def(TensorType)
    step = operand_def(TensorType)
    tensors = var_operand_def(TensorType)
    updated = var_result_def(TensorType)

    @classmethod
    def moments(cls, attributes: Attributes) -> tuple[str, ...]:
        """The names of what it keeps of each parameter, those of torch.optim's state."""
        raise NotImplementedError

    @property
    def count(self) -> int:
        """How many parameters it updates."""
        return len(self.tensors) // (2 + len(self.moments(self.attributes_view())))

    def columns(self) -> list[Sequence[SSAValue]]:
        """Each parameter with its gradient and its moments."""
        return [self.tensors[k :: self.count] for k in range(self.count)]

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The types of the parameters, then of the moments, which are the same."""
        rate, step, *tensors = operands
        fail_unless(
            not rate.get_shape() and not is_integer(rate.element_type),
            f"the rate must be a float of rank 0, not {rate}",
        )
        fail_unless(
            not step.get_shape(), f"the step must be a number of rank 0, not {step}"
        )
        moments = cls.moments(attributes)
        kinds = ("parameter", "gradient", *moments)
        count, rest = divmod(len(tensors), len(kinds))
        fail_unless(
            rest == 0,
            f"{cls.name} takes {', '.join(kinds)} of each parameter: {len(tensors)} "
            f"tensors are no multiple of {len(kinds)}",
        )
        for place, tensor in enumerate(tensors):
            parameter = tensors[place % count]
            check_float(cls, parameter)
            fail_unless(
                tensor == parameter,
                f"{kinds[place // count]} {place % count} must be {parameter} as the "
                f"parameter, not {tensor}",
            )
        return [*tensors[:count], *tensors[2 * count :]]


def decayed(attributes: Attributes, parameter: Term, gradient: Term) -> Term:
    """The gradient with that of half the parameter's square, times `weight_decay`."""
    decay = attributes.float("weight_decay")
    return gradient + parameter * decay if decay else gradient


def averaged(old: Term, new: Term, beta: float) -> Term:
    """The moving average that keeps `beta` of the old one."""
    return old * beta + new * (1 - beta)


def _sgd_factors(sgd: Attributes, rate: Term, step: Term) -> list[Term]:
    """The rate, what is left of a parameter, and of a gradient in the buffer."""
    decay, dampening = sgd.float("weight_decay"), sgd.float("dampening")
    left = 1.0 - rate * (decay if sgd.has("decoupled") else 0.0)
    first = rate * 0.0 + 1.0
    return [rate, left, (step <= 1.0).choose(first, first * (1 - dampening))]


def _sgd(
    sgd: Attributes, factors: Sequence[Term], tensors: Sequence[Term]
) -> list[Term]:
    rate, left, kept = factors
    parameter, gradient, *moments = tensors
    momentum, l1 = sgd.float("momentum"), sgd.float("l1")
    direction = gradient if sgd.has("decoupled") else decayed(sgd, *tensors[:2])
    if l1:
        direction = direction + parameter.sign() * l1
    if sgd.has("decoupled"):
        parameter = parameter * left
    if not moments:
        return [parameter - direction * rate]
    fresh = direction * kept if sgd.float("dampening") else direction
    buffer = moments[0] * momentum + fresh
    direction = direction + buffer * momentum if sgd.has("nesterov") else buffer
    return [parameter - direction * rate, buffer]


@irdl_op_definition
class SgdOp(OptimizerOp):
    """Gradient descent with momentum (torch.optim.SGD).

    `weight_decay` times the parameter is added to the gradient, or with `decoupled` that part
    of the rate is taken off the parameter; `l1` times its sign is added to the gradient. The
    first step's gradient is not dampened.
    """

    name = "glow.sgd"
    FACTORS = staticmethod(_sgd_factors)
    UPDATE = staticmethod(_sgd)
    momentum = prop_def(FloatAttr, default_value=double_attr(0.0))
    dampening = prop_def(FloatAttr, default_value=double_attr(0.0))
    weight_decay = prop_def(FloatAttr, default_value=double_attr(0.0))
    l1 = prop_def(FloatAttr, default_value=double_attr(0.0))
    nesterov = opt_prop_def(UnitAttr)
    decoupled = opt_prop_def(UnitAttr)

    @classmethod
    def moments(cls, attributes: Attributes) -> tuple[str, ...]:
        """A buffer, if there is momentum."""
        return ("momentum_buffer",) if attributes.float("momentum") else ()

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """As other optimizers; Nesterov's needs momentum."""
        fail_unless(
            not attributes.has("nesterov") or attributes.float("momentum") > 0,
            "nesterov needs momentum",
        )
        return super().infer(operands, attributes)


def power(base: float, exponent: Term) -> Term:
    """A number raised to a term."""
    return (exponent * 0.0 + base).apply(PowOp, exponent)


def _adam_factors(adam: Attributes, rate: Term, step: Term) -> list[Term]:
    """The corrected rate, the second moment's correction, what is left of a parameter."""
    corrections = [1.0 - power(adam.float(name), step) for name in ("beta1", "beta2")]
    decay = adam.float("weight_decay") if adam.has("decoupled") else 0.0
    left, root = 1.0 - rate * decay, corrections[1].sqrt()
    if adam.has("epsilon_hat"):
        corrected = rate * root / corrections[0]
        return [(step <= 0.0).choose(rate, corrected), step * 0.0 + 1.0, left]
    return [rate / corrections[0], 1.0 / root, left]


def _adam_moments(adam: Attributes, tensors: Sequence[Term]) -> tuple[Term, Term, Term]:
    """The gradient's average and that of its square."""
    parameter, gradient, average, square = tensors[:4]
    if not adam.has("decoupled"):
        gradient = decayed(adam, parameter, gradient)
    average = averaged(average, gradient, adam.float("beta1"))
    return (
        parameter,
        average,
        averaged(square, gradient * gradient, adam.float("beta2")),
    )


def _adam(
    adam: Attributes, factors: Sequence[Term], tensors: Sequence[Term]
) -> list[Term]:
    rate, correction, left = factors
    parameter, average, square = _adam_moments(adam, tensors)
    moments = [average, square]
    if adam.has("amsgrad"):
        square = tensors[-1].maximum(square)
        moments.append(square)
    size = square.sqrt() * correction + adam.float("epsilon")
    if adam.has("decoupled"):
        parameter = parameter * left
    return [parameter - average / size * rate, *moments]


@irdl_op_definition
class AdamOp(OptimizerOp):
    """Adaptive moments (torch.optim.Adam; AdamW with `decoupled`).

    `amsgrad` divides by the largest second moment so far. With `epsilon_hat`, epsilon is added
    to the root of the second moment before that is corrected, as the paper's is at the end of
    its section 2; step 0 corrects nothing then (ONNX Adam-1).
    """

    name = "glow.adam"
    FACTORS = staticmethod(_adam_factors)
    UPDATE = staticmethod(_adam)
    beta1 = prop_def(FloatAttr, default_value=double_attr(0.9))
    beta2 = prop_def(FloatAttr, default_value=double_attr(0.999))
    epsilon = prop_def(FloatAttr, default_value=double_attr(1e-8))
    weight_decay = prop_def(FloatAttr, default_value=double_attr(0.0))
    decoupled = opt_prop_def(UnitAttr)
    amsgrad = opt_prop_def(UnitAttr)
    epsilon_hat = opt_prop_def(UnitAttr)

    @classmethod
    def moments(cls, attributes: Attributes) -> tuple[str, ...]:
        """Averages of the gradient and of its square."""
        largest = ("max_exp_avg_sq",) if attributes.has("amsgrad") else ()
        return ("exp_avg", "exp_avg_sq", *largest)


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
