"""Optimizers that divide by the root of a gradient's mean square, and LAMB."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FloatAttr, UnitAttr
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def

from glow.dialects.attributes import Attributes, double_attr
from glow.dialects.glow.training.optimizers import (
    OptimizerOp,
    averaged,
    decayed,
    power,
)
from glow.dialects.glow.training.terms import Term
from glow.dialects.node import public_nodes


def _rate_alone(_: Attributes, rate: Term, step: Term) -> list[Term]:
    """The rate."""
    return [rate]


def _rmsprop(
    rmsprop: Attributes, factors: Sequence[Term], tensors: Sequence[Term]
) -> list[Term]:
    parameter, _, old, *moments = tensors
    gradient = decayed(rmsprop, *tensors[:2])
    alpha = rmsprop.float("alpha")
    square = averaged(old, gradient * gradient, alpha)
    new, size, average = [square], square, tensors[-1]
    if rmsprop.has("centered"):
        average = averaged(average, gradient, alpha)
        size = square - average * average
    direction = gradient / (size.sqrt() + rmsprop.float("epsilon"))
    if rmsprop.float("momentum"):
        direction = moments[0] * rmsprop.float("momentum") + direction
        new.append(direction)
    if rmsprop.has("centered"):
        new.append(average)
    return [parameter - direction * factors[0], *new]


@irdl_op_definition
class RmspropOp(OptimizerOp):
    """Gradients by the root of their mean square (torch.optim.RMSprop).

    `centered` takes the square of the gradient's average off the mean square.
    """

    name = "glow.rmsprop"
    FACTORS = staticmethod(_rate_alone)
    UPDATE = staticmethod(_rmsprop)
    alpha = prop_def(FloatAttr, default_value=double_attr(0.99))
    epsilon = prop_def(FloatAttr, default_value=double_attr(1e-8))
    weight_decay = prop_def(FloatAttr, default_value=double_attr(0.0))
    momentum = prop_def(FloatAttr, default_value=double_attr(0.0))
    centered = opt_prop_def(UnitAttr)

    @classmethod
    def moments(cls, attributes: Attributes) -> tuple[str, ...]:
        """The mean square, a buffer if there is momentum, the average if it is centered."""
        buffer = ("momentum_buffer",) if attributes.float("momentum") else ()
        average = ("grad_avg",) if attributes.has("centered") else ()
        return ("square_avg", *buffer, *average)


def _adagrad_factors(adagrad: Attributes, rate: Term, step: Term) -> list[Term]:
    """The rate, which decays with the steps before this one."""
    decay = adagrad.float("rate_decay")
    return [rate / ((step - 1.0) * decay + 1.0) if decay else rate]


def _adagrad(
    adagrad: Attributes, factors: Sequence[Term], tensors: Sequence[Term]
) -> list[Term]:
    gradient = decayed(adagrad, *tensors[:2])
    total = tensors[2] + gradient * gradient
    size = total.sqrt() + adagrad.float("epsilon")
    return [tensors[0] - gradient / size * factors[0], total]


@irdl_op_definition
class AdagradOp(OptimizerOp):
    """Gradients by the root of the sum of all squares (torch.optim.Adagrad).

    `rate_decay` d divides the rate of step t by `1 + (t - 1) * d`.
    """

    name = "glow.adagrad"
    FACTORS = staticmethod(_adagrad_factors)
    UPDATE = staticmethod(_adagrad)
    rate_decay = prop_def(FloatAttr, default_value=double_attr(0.0))
    epsilon = prop_def(FloatAttr, default_value=double_attr(1e-10))
    weight_decay = prop_def(FloatAttr, default_value=double_attr(0.0))

    @classmethod
    def moments(cls, attributes: Attributes) -> tuple[str, ...]:
        """The sum of squares."""
        return ("sum",)


def _lamb_factors(lamb: Attributes, rate: Term, step: Term) -> list[Term]:
    """The rate, and the corrections of both moments."""
    corrections = [1.0 - power(lamb.float(name), step) for name in ("beta1", "beta2")]
    return [rate, 1.0 / corrections[0], 1.0 / corrections[1].sqrt()]


def _lamb(
    lamb: Attributes, factors: Sequence[Term], tensors: Sequence[Term]
) -> list[Term]:
    parameter, gradient, *moments = tensors
    average = averaged(moments[0], gradient, lamb.float("beta1"))
    square = averaged(moments[1], gradient * gradient, lamb.float("beta2"))
    size = square.sqrt() * factors[2] + lamb.float("epsilon")
    direction = average * factors[1] / size + parameter * lamb.float("weight_decay")
    return [direction, average, square]


@irdl_op_definition
class LambOp(OptimizerOp):
    """Adam's direction, as long as the parameter is (You and others, 2019, algorithm 2).

    The rate of a parameter is multiplied by its norm and divided by that of its direction,
    where both are positive. `UPDATE` gives the direction in the parameter's place.
    """

    name = "glow.lamb"
    FACTORS = staticmethod(_lamb_factors)
    UPDATE = staticmethod(_lamb)
    beta1 = prop_def(FloatAttr, default_value=double_attr(0.9))
    beta2 = prop_def(FloatAttr, default_value=double_attr(0.999))
    epsilon = prop_def(FloatAttr, default_value=double_attr(1e-6))
    weight_decay = prop_def(FloatAttr, default_value=double_attr(0.0))

    @classmethod
    def moments(cls, attributes: Attributes) -> tuple[str, ...]:
        """Averages of the gradient and of its square."""
        return ("exp_avg", "exp_avg_sq")


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
