"""Handlers of what training networks hold: masks of dropout, losses, and steps of optimizers.

`Gradient` names tensors of the graph, and has a file of its own (`glow.frontends.onnx.gradient`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

import numpy as np
from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from glow.dialects.glow import (
    AdagradOp,
    AdamOp,
    ClassLossOp,
    CrossEntropyOp,
    DropoutOp,
    LessEqualOp,
    LogSoftmaxOp,
    NllLossOp,
    NotOp,
    OptimizerOp,
    OrOp,
    SelectOp,
    SgdOp,
)
from glow.dialects.glow.training.loss import class_axis
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
    advice = (
        "" if isinstance(mode, Constant) else ": fix what says its mode, by --value"
    )
    refuse_if(prod(size) > BUDGET, f"a mask of {prod(size)} elements{advice}")
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


@onnx_op("NegativeLogLikelihoodLoss")
def negative_log_likelihood(node: OnnxNode) -> Value:
    """One node."""
    return _class_loss(node, NllLossOp)


@onnx_op("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy(node: OnnxNode) -> list[Value]:
    """One node; the logarithms of the probabilities are computed beside it where they are read."""
    loss = _class_loss(node, CrossEntropyOp)
    if not node.uses(1):
        return [loss]
    axis = class_axis(node.rank(0))
    return [loss, node.emit(LogSoftmaxOp, node.value(0), axis=axis)]


def _class_loss(node: OnnxNode, loss: type[ClassLossOp]) -> Value:
    return node.emit(
        loss,
        *node.values(),
        reduction=node.attr_string("reduction", "mean"),
        ignore_index=node.attr_int("ignore_index", NOTHING),
    )


NOTHING = -(1 << 63)
"""A label that no sample has."""


def _step(
    node: OnnxNode, optimizer: type[OptimizerOp], first: int, **settings: float | bool
) -> list[Value]:
    """The results of a step of all parameters; inputs and outputs go by kinds, as the node's.

    `first` is the number that the node's first step has; ONNX counts from 0.
    """
    rate, number, *tensors = node.values()
    count = Expression(node, node.reshape(number, ())).convert(f64)
    decay = node.attr_float("norm_coefficient", 0.0)
    op = node.graph.add(
        optimizer,
        [node.reshape(rate, ()), (count + first).value, *tensors],
        None,
        weight_decay=decay,
        **settings,
    )
    return [*op.results]


@training_op("Adagrad")
def adagrad(node: OnnxNode) -> list[Value]:
    """Duchi, Hazan, Singer, "Adaptive subgradient methods", 2011."""
    decay, epsilon = ("decay_factor", 0.0), ("epsilon", 1e-6)
    settings = {
        "rate_decay": node.attr_float(*decay),
        "epsilon": node.attr_float(*epsilon),
    }
    return _step(node, AdagradOp, 1, **settings)


@training_op("Adam")
def adam(node: OnnxNode) -> list[Value]:
    """Kingma, Ba, "Adam: a method for stochastic optimization", 2014."""
    results = _step(
        node,
        AdamOp,
        0,
        beta1=node.attr_float("alpha", 0.9),
        beta2=node.attr_float("beta", 0.999),
        epsilon=node.attr_float("epsilon", 1e-6),
        epsilon_hat=True,
    )
    after = node.attr_float("norm_coefficient_post", 0.0)
    if after:
        for index in range(len(results) // 3):
            parameter = cast("SSAValue", results[index])
            results[index] = (Expression(node, parameter) * (1 - after)).value
    return results


@training_op("Momentum")
def momentum(node: OnnxNode) -> list[Value]:
    """Gradient descent with momentum, Nesterov's or the plain one."""
    mode, alpha = node.attr_string("mode", "standard"), node.attr_float("alpha", 0.9)
    refuse_if(mode not in ("standard", "nesterov"), f"mode '{mode}'")
    refuse_if(alpha == 0, "alpha 0, which is no momentum")
    return _step(
        node,
        SgdOp,
        1,
        momentum=alpha,
        dampening=1 - node.attr_float("beta", 1.0),
        nesterov=mode == "nesterov",
    )
