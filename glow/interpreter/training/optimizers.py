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

Arrays = list[Array]
Step = Callable[[Attributes, float, float, Arrays], Arrays]
"""`step(attributes, rate, step, [parameter, gradient, *moments])`: those that are new."""


def optimizer(node: type[glow.OptimizerOp], update: Step) -> Function:
    """The node that updates one parameter after the other."""

    def run(op: GlowOp, rate: Array, step: Array, *tensors: Array) -> tuple[Array, ...]:
        attributes = op.attributes_view()
        count = len(tensors) // (2 + len(node.moments(attributes)))
        numbers = float(rate), float(step)
        columns = [[*map(widen, tensors[k::count])] for k in range(count)]
        results = [update(attributes, *numbers, column) for column in columns]
        return tuple(array for kind in zip(*results, strict=True) for array in kind)

    return run


def sgd(given: Attributes, rate: float, step: float, tensors: Arrays) -> Arrays:
    """torch.optim.SGD, with L1 and decoupled weight decay."""
    parameter, gradient, *moments = tensors
    decay = given.float("weight_decay")
    shrunk = parameter
    if given.has("decoupled"):
        shrunk = parameter * (1 - rate * decay)
    else:
        gradient = gradient + decay * parameter
    gradient = gradient + given.float("l1") * np.sign(parameter)
    if not moments:
        return [shrunk - rate * gradient]
    momentum, dampening = given.float("momentum"), given.float("dampening")
    kept = 1.0 if step <= 1 else 1 - dampening
    buffer = momentum * moments[0] + kept * gradient
    direction = gradient + momentum * buffer if given.has("nesterov") else buffer
    return [shrunk - rate * direction, buffer]


def adam(given: Attributes, rate: float, step: float, tensors: Arrays) -> Arrays:
    """torch.optim.Adam and AdamW."""
    parameter, gradient, *moments = tensors
    beta1, beta2 = given.float("beta1"), given.float("beta2")
    decay = given.float("weight_decay")
    if given.has("decoupled"):
        parameter = parameter * (1 - rate * decay)
    else:
        gradient = gradient + decay * parameter
    average = beta1 * moments[0] + (1 - beta1) * gradient
    square = beta2 * moments[1] + (1 - beta2) * gradient**2
    new = [average, square]
    if given.has("amsgrad"):
        square = np.maximum(moments[2], square)
        new.append(square)
    if given.has("epsilon_hat"):
        corrected = (
            rate * np.sqrt(1 - beta2**step) / (1 - beta1**step) if step else rate
        )
        size = np.sqrt(square) + given.float("epsilon")
        return [parameter - corrected * average / size, *new]
    size = np.sqrt(square / (1 - beta2**step)) + given.float("epsilon")
    return [parameter - rate / (1 - beta1**step) * average / size, *new]


def rmsprop(given: Attributes, rate: float, step: float, tensors: Arrays) -> Arrays:
    """torch.optim.RMSprop."""
    parameter, gradient, *moments = tensors
    alpha, momentum = given.float("alpha"), given.float("momentum")
    gradient = gradient + given.float("weight_decay") * parameter
    square = alpha * moments[0] + (1 - alpha) * gradient**2
    new, variance, average = [square], square, moments[-1]
    if given.has("centered"):
        average = alpha * average + (1 - alpha) * gradient
        variance = square - average**2
    direction = gradient / (np.sqrt(variance) + given.float("epsilon"))
    if momentum:
        direction = momentum * moments[1] + direction
        new.append(direction)
    if given.has("centered"):
        new.append(average)
    return [parameter - rate * direction, *new]


def adagrad(given: Attributes, rate: float, step: float, tensors: Arrays) -> Arrays:
    """torch.optim.Adagrad."""
    parameter, gradient, total = tensors
    gradient = gradient + given.float("weight_decay") * parameter
    total = total + gradient**2
    size = np.sqrt(total) + given.float("epsilon")
    decayed = rate / (1 + (step - 1) * given.float("rate_decay"))
    return [parameter - decayed * gradient / size, total]


def lamb(given: Attributes, rate: float, step: float, tensors: Arrays) -> Arrays:
    """LAMB: Adam's direction, as long as the parameter is."""
    parameter, gradient, *moments = tensors
    beta1, beta2 = given.float("beta1"), given.float("beta2")
    average = beta1 * moments[0] + (1 - beta1) * gradient
    square = beta2 * moments[1] + (1 - beta2) * gradient**2
    size = np.sqrt(square / (1 - beta2**step)) + given.float("epsilon")
    direction = average / (1 - beta1**step) / size
    direction = direction + given.float("weight_decay") * parameter
    norms = np.sqrt(np.sum(parameter**2)), np.sqrt(np.sum(direction**2))
    ratio = norms[0] / norms[1] if min(norms) > 0 else 1.0
    return [parameter - rate * ratio * direction, average, square]


NODES: dict[type[Operation], Function] = {
    glow.SgdOp: optimizer(glow.SgdOp, sgd),
    glow.AdamOp: optimizer(glow.AdamOp, adam),
    glow.RmspropOp: optimizer(glow.RmspropOp, rmsprop),
    glow.AdagradOp: optimizer(glow.AdagradOp, adagrad),
    glow.LambOp: optimizer(glow.LambOp, lamb),
}
