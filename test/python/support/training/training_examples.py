"""Examples of nodes that training adds to a network: layers, losses, optimizers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from support.nodes.differential import Example, example, random_array

from glow.dialects import glow

LABELS = np.array([0, 3, 2, -100, 1, 3], np.int64)


def loss_examples() -> Iterator[Example]:
    """Each loss, and each reduction of one."""
    x, target = random_array((3, 5)), np.abs(random_array((3, 5), seed=1))
    for reduction in ("mean", "sum", "none"):
        yield example(glow.MseLossOp, x, target, reduction=reduction)
    yield example(glow.L1LossOp, x, target)
    yield example(glow.HuberLossOp, x, target, delta=0.5, reduction="none")
    weight = np.abs(random_array((5,), seed=2))
    yield example(glow.BceWithLogitsOp, x, target)
    yield example(glow.BceWithLogitsOp, x, target, weight, reduction="sum")
    target = target.copy()
    target[0, 1] = 0.0
    yield example(glow.KlDivOp, x, target)
    yield example(glow.KlDivOp, x, target, reduction="batchmean", log_target=True)
    yield example(glow.MseLossOp, random_array(()), random_array((), seed=1))
    huge = np.array([[300.0, -300.0]], np.float32)
    yield example(glow.BceWithLogitsOp, huge, np.ones_like(huge))


def class_loss_examples() -> Iterator[Example]:
    weights = np.abs(random_array((4,), seed=2))
    for reduction in ("mean", "sum", "none"):
        x = random_array((6, 4))
        settings: dict[str, Any] = {"reduction": reduction}
        yield example(glow.NllLossOp, x, LABELS, **settings)
        yield example(glow.CrossEntropyOp, x, LABELS, weights, **settings)
        settings["label_smoothing"] = 0.1
        yield example(glow.CrossEntropyOp, x, LABELS, **settings)
        yield example(glow.CrossEntropyOp, x, LABELS, weights, **settings)
    pixels = random_array((2, 4, 3, 1)), random_array((2, 3, 1), np.uint8) % 4
    yield example(glow.CrossEntropyOp, *pixels, weights, label_smoothing=0.5)
    single = np.array(-1, np.int32), weights
    yield example(glow.NllLossOp, random_array((4,)), *single, ignore_index=-1)
    yield example(glow.NllLossOp, random_array((4,)), np.array(2, np.int8))


OPTIMIZERS: tuple[tuple[type[glow.OptimizerOp], dict[str, Any], int], ...] = (
    (glow.SgdOp, {}, 0),
    (glow.SgdOp, {"momentum": 0.9, "dampening": 0.1, "weight_decay": 0.1}, 1),
    (glow.SgdOp, {"momentum": 0.9, "nesterov": True, "l1": 0.05}, 1),
    (glow.SgdOp, {"weight_decay": 0.1, "decoupled": True}, 0),
    (glow.AdamOp, {"weight_decay": 0.1}, 2),
    (glow.AdamOp, {"weight_decay": 0.1, "decoupled": True, "amsgrad": True}, 3),
    (glow.AdamOp, {"epsilon": 0.1, "epsilon_hat": True}, 2),
    (glow.RmspropOp, {"weight_decay": 0.1}, 1),
    (glow.RmspropOp, {"momentum": 0.9, "centered": True}, 3),
    (glow.AdagradOp, {"rate_decay": 0.1, "weight_decay": 0.1}, 1),
    (glow.LambOp, {"weight_decay": 0.1}, 2),
)
"""Node, attributes and how many moments they need."""


def _optimizer_examples() -> Iterator[Example]:
    rate = np.array(0.1, np.float32)
    for node, attributes, moments in OPTIMIZERS:
        steps = [np.array(7, np.float32), np.array(1, np.int64)]
        for step in steps if "dampening" in attributes else steps[:1]:
            shapes = [(4, 3), (5,), ()] * (2 + moments)
            tensors = [random_array(shape, seed=n) for n, shape in enumerate(shapes)]
            tensors[6:] = map(np.abs, tensors[6:])
            if "centered" in attributes:
                tensors[6:9] = [array + 16 for array in tensors[6:9]]
            operands = rate, step, *tensors
            yield example(node, *operands, **attributes)


def layer_examples() -> Iterator[Example]:
    """Batch normalization of the batch; dropout, on an odd number of elements too."""
    for shape in ((4, 3), (1, 2, 5, 3), (3, 16, 4)):
        parameters = [random_array(shape[1:2], seed=seed) for seed in range(1, 5)]
        parameters[3] = np.abs(parameters[3])
        for settings in ({}, {"epsilon": 0.01, "momentum": 0.5}):
            operands = random_array(shape), *parameters
            yield example(glow.BatchNormTrainingOp, *operands, **settings)
    for stream, seed in enumerate(([0, 0], [-(2**63), 2**40 + 7])):
        state, shape = np.array(seed, np.int64), ((3, 7), np.float32)
        yield example(glow.RandomUniformOp, state, result=shape, stream=stream)
        operands = random_array((2, 3, 3)), state
        yield example(glow.DropoutOp, *operands, ratio=0.25, stream=stream)
    yield example(glow.RandomUniformOp, state, result=((), np.float32), stream=1)
    yield example(glow.RandomUniformOp, state, result=((0, 3), np.float32))
    large = ((5, 1031), np.float32)
    yield example(glow.RandomUniformOp, state, result=large, stream=2**32 - 1)
    yield example(glow.DropoutOp, random_array((4, 2)), state, ratio=1.0)
    yield example(glow.DropoutOp, random_array((4, 2)), state, ratio=0.0)


def training_examples() -> Iterator[Example]:
    """Examples of every layer, loss and optimizer."""
    yield from layer_examples()
    yield from loss_examples()
    yield from class_loss_examples()
    yield from _optimizer_examples()
