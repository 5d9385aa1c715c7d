"""Steps of optimizers, as torch.optim writes them; in float64, rounded once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.attributes import Attributes
from glow.dialects.node import GlowOp
from glow.interpreter.arrays import Array, widen
from glow.interpreter.scalar_functions import Function

Step = Callable[..., list[Array]]
"""`step(attributes, rate, step, parameter, gradient, *moments)`: those that are new."""


def optimizer(update: Step) -> Function:
    """The node that updates one parameter after the other."""

    def run(op: GlowOp, rate: Array, step: Array, *tensors: Array) -> tuple[Array, ...]:
        assert isinstance(op, glow.OptimizerOp)
        count, attributes = op.count, op.attributes_view()
        numbers = float(rate), float(step)
        columns = [map(widen, tensors[k::count]) for k in range(count)]
        results = [update(attributes, *numbers, *column) for column in columns]
        return tuple(array for kind in zip(*results, strict=True) for array in kind)

    return run


def sgd(
    attributes: Attributes,
    rate: float,
    step: float,
    parameter: Array,
    gradient: Array,
    *moments: Array,
) -> list[Array]:
    """torch.optim.SGD, with L1 and decoupled weight decay."""
    decay = attributes.float("weight_decay")
    shrunk = parameter
    if attributes.has("decoupled"):
        shrunk = parameter * (1 - rate * decay)
    else:
        gradient = gradient + decay * parameter
    gradient = gradient + attributes.float("l1") * np.sign(parameter)
    if not moments:
        return [shrunk - rate * gradient]
    momentum, dampening = attributes.float("momentum"), attributes.float("dampening")
    kept = 1.0 if step <= 1 else 1 - dampening
    buffer = momentum * moments[0] + kept * gradient
    direction = gradient + momentum * buffer if attributes.has("nesterov") else buffer
    return [shrunk - rate * direction, buffer]


def adam(
    attributes: Attributes,
    rate: float,
    step: float,
    parameter: Array,
    gradient: Array,
    *moments: Array,
) -> list[Array]:
    """torch.optim.Adam and AdamW."""
    beta1, beta2 = attributes.float("beta1"), attributes.float("beta2")
    decay = attributes.float("weight_decay")
    if attributes.has("decoupled"):
        parameter = parameter * (1 - rate * decay)
    else:
        gradient = gradient + decay * parameter
    average = beta1 * moments[0] + (1 - beta1) * gradient
    square = beta2 * moments[1] + (1 - beta2) * gradient**2
    new = [average, square]
    if attributes.has("amsgrad"):
        square = np.maximum(moments[2], square)
        new.append(square)
    size = np.sqrt(square / (1 - beta2**step)) + attributes.float("epsilon")
    return [parameter - rate / (1 - beta1**step) * average / size, *new]


NODES: dict[type[Operation], Function] = {
    glow.SgdOp: optimizer(sgd),
    glow.AdamOp: optimizer(adam),
}
