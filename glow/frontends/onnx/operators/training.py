"""Handlers of what training networks hold: masks of dropout, and steps of optimizers.

A step of an optimizer is arithmetic on the parameters, their gradients and its own state; the
learning rate and the number of the step are computed with, not known at import.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod

import numpy as np
from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from glow.dialects.glow import DropoutOp, LessEqualOp, NotOp, OrOp, PowOp, SelectOp
from glow.dialects.node import fail_unless
from glow.frontends.onnx.expression import Expression
from glow.frontends.onnx.graph import BUDGET
from glow.frontends.onnx.node import Constant, OnnxNode, Value, element_type
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import onnx_op, training_op

RATIO = 0.5
"""What Dropout drops when nothing is said."""


@onnx_op("Dropout")
def dropout(node: OnnxNode) -> Sequence[Value]:
    """The input itself, and a mask that keeps everything; in training mode a part of it.

    The mask is drawn at import, as NumPy's legacy generator draws it with the node's seed, or
    with 0: calls of a compiled model repeat. Mode and ratio may be computed.
    """
    mode = node.value(2) if node.has(2) else None
    if node.graph.training and not isinstance(mode, SSAValue):
        return [_dropout_node(node)]
    if mode is None or (isinstance(mode, Constant) and not mode.array.item()):
        return [node.value(0), np.broadcast_to(np.array(True), node.shape(0))]
    x, size = Expression(node, node.value(0)), node.shape(0)
    refuse_if(prod(size) > BUDGET, f"a mask of {prod(size)} elements")
    ratio = node.number(RATIO, x.value)
    ratio = Expression(node, node.value(1) if node.has(1) else ratio).reshape(())
    generator = np.random.RandomState(node.attr_int("seed", 0) % SEEDS)
    drawn = Expression(node, Constant(generator.uniform(0, 1, size), "drawn"))
    mask = ratio.convert(f64).apply(LessEqualOp, drawn)
    scale = 1.0 - ratio.convert(element_type(x.value))
    result = mask.choose(x / scale, 0.0)
    if not isinstance(mode, Constant):
        is_training = Expression(node, mode).reshape(())
        result = is_training.apply(SelectOp, result, x)
        mask = is_training.apply(NotOp).apply(OrOp, mask)
    return [result.value, mask.value]


def _dropout_node(node: OnnxNode) -> Value:
    """The node, with a seed that `training-mode` replaces by that of a generator."""
    refuse_if(node.uses(1), "the mask of a network to train")
    ratio = node.attr_float("ratio", RATIO)  # Before opset 12.
    if node.has(1):
        ratio = float(node.array(1, "the ratio of dropout").item())
    seed = Constant(np.zeros(2, np.int64), "seed")
    return node.emit(DropoutOp, node.value(0), seed, ratio=ratio)


SEEDS = 1 << 32
"""How many seeds the generator has."""


Step = Callable[[Expression, Expression, list[Expression]], list[Expression]]
"""`step(rate, count, [parameter, gradient, states...])`: the next parameter and states."""


def _steps(node: OnnxNode, tensors: int, step: Step) -> list[Value]:
    """The results of a step for each parameter; inputs and outputs go by kinds."""
    rate, number, *given = (Expression(node, value) for value in node.values())
    fail_unless(
        len(given) % tensors == 0, f"{len(given)} tensors, {tensors} a parameter"
    )
    count = len(given) // tensors
    results = [
        step(
            rate.reshape(()),
            number.reshape(()).convert(element_type(given[k].value)),
            given[k::count],
        )
        for k in range(count)
    ]
    return [result[kind].value for kind in range(tensors - 1) for result in results]


def _regularized(node: OnnxNode, x: Expression, gradient: Expression) -> Expression:
    """The gradient with that of the parameter's norm."""
    return x * node.attr_float("norm_coefficient", 0.0) + gradient


@training_op("Adagrad")
def adagrad(node: OnnxNode) -> list[Value]:
    """Duchi, Hazan, Singer, "Adaptive subgradient methods", 2011."""

    def step(
        rate: Expression, count: Expression, tensors: list[Expression]
    ) -> list[Expression]:
        x, gradient, squares = tensors
        gradient = _regularized(node, x, gradient)
        rate = rate / (count * node.attr_float("decay_factor", 0.0) + 1)
        squares = squares + gradient * gradient
        size = squares.sqrt() + node.attr_float("epsilon", 1e-6)
        return [x - gradient / size * rate, squares]

    return _steps(node, 3, step)


@training_op("Adam")
def adam(node: OnnxNode) -> list[Value]:
    """Kingma, Ba, "Adam: a method for stochastic optimization", 2014."""
    alpha, beta = node.attr_float("alpha", 0.9), node.attr_float("beta", 0.999)

    def step(
        rate: Expression, count: Expression, tensors: list[Expression]
    ) -> list[Expression]:
        x, gradient, mean, squares = tensors
        gradient = _regularized(node, x, gradient)
        mean = mean * alpha + gradient * (1 - alpha)
        squares = squares * beta + gradient * gradient * (1 - beta)
        size = squares.sqrt() + node.attr_float("epsilon", 1e-6)
        powers = [
            1.0 - count.constant(np.array(base)).apply(PowOp, count)
            for base in (alpha, beta)
        ]
        corrected = rate * powers[1].sqrt() / powers[0]
        rate = (count <= 0).choose(rate, corrected)
        result = x - mean / size * rate
        after = node.attr_float("norm_coefficient_post", 0.0)
        return [result * (1 - after), mean, squares]

    return _steps(node, 4, step)


@training_op("Momentum")
def momentum(node: OnnxNode) -> list[Value]:
    """Gradient descent with momentum, Nesterov's or the plain one."""
    mode = node.attr_string("mode", "standard")
    refuse_if(mode not in ("standard", "nesterov"), f"mode '{mode}'")
    return _steps(node, 3, partial(_momentum, node, is_nesterov=mode == "nesterov"))


def _momentum(
    node: OnnxNode,
    rate: Expression,
    count: Expression,
    tensors: list[Expression],
    *,
    is_nesterov: bool,
) -> list[Expression]:
    x, gradient, velocity = tensors
    alpha, beta = node.attr_float("alpha", 0.9), node.attr_float("beta", 1.0)
    gradient = _regularized(node, x, gradient)
    first, later = (count.constant(np.array(number)) for number in (1.0, beta))
    weight = (count <= 0).choose(first, later)
    velocity = velocity * alpha + gradient * weight
    direction = gradient + velocity * alpha if is_nesterov else velocity
    return [x - direction * rate, velocity]
