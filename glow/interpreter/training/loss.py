"""Losses, computed in float64 and rounded once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.attributes import Attributes
from glow.dialects.errors import GlowError
from glow.dialects.glow.training.loss import class_axis
from glow.dialects.node import GlowOp
from glow.interpreter.arrays import Array, widen
from glow.interpreter.normalization import log_softmax
from glow.interpreter.scalar_functions import Function


def reduced(losses: Array, total: Array | float, reduction: str) -> Array:
    """The losses, their sum, or that by a total weight."""
    if reduction == "none":
        return losses
    return np.sum(losses) if reduction == "sum" else np.sum(losses) / total


def element_loss(function: Callable[..., Array]) -> Function:
    """A loss of each element: `function(attributes, input, target, ...)`."""

    def run(op: GlowOp, *operands: Array) -> Array:
        attributes = op.attributes_view()
        losses = function(attributes, *map(widen, operands))
        reduction = attributes.string("reduction")
        count = len(losses) if reduction == "batchmean" else np.size(losses)
        return reduced(losses, np.float64(count), reduction)

    return run


def mse(_: Attributes, x: Array, target: Array) -> Array:
    """Squared differences."""
    return (x - target) ** 2


def l1(_: Attributes, x: Array, target: Array) -> Array:
    """Absolute differences."""
    return np.abs(x - target)


def huber(attributes: Attributes, x: Array, target: Array) -> Array:
    """Half the square near the target, a line elsewhere."""
    delta, distance = attributes.float("delta"), np.abs(x - target)
    near = distance <= delta
    return np.where(near, distance**2 / 2, delta * (distance - delta / 2))


def bce_with_logits(
    _: Attributes, x: Array, target: Array, weight: Array | float = 1.0
) -> Array:
    """Cross entropy of two classes; `logaddexp(0, x)` is -log(1 - sigmoid(x))."""
    missed, hit = np.logaddexp(0, -x), np.logaddexp(0, x)
    return weight * target * missed + (1 - target) * hit


def kl_div(attributes: Attributes, x: Array, target: Array) -> Array:
    """target * (log(target) - x)."""
    if attributes.has("log_target"):
        return np.exp(target) * (target - x)
    return np.where(target == 0, 0.0, target * np.log(target)) - target * x


def check_labels(labels: Array, kept: Array, classes: int) -> None:
    """Raise GlowError for a label that is none of the classes."""
    outside = kept & ((labels < 0) | (labels >= classes))
    if outside.any():
        raise GlowError(
            f"label {labels[outside].flat[0]} is outside of the {classes} classes"
        )


def class_loss(
    op: GlowOp, logarithms: Array, labels: Array, weights: Array | None, smooth: float
) -> Array:
    """The loss of logarithms of probabilities: the label's, and a part of all classes'."""
    attributes, axis = op.attributes_view(), class_axis(logarithms.ndim)
    rows = np.moveaxis(logarithms, axis, -1)
    labels, classes = labels.astype(np.int64), rows.shape[-1]
    kept = labels != attributes.int("ignore_index")
    check_labels(labels, kept, classes)
    places = np.where(kept, labels, 0)
    factors = np.ones(classes) if weights is None else widen(weights)
    own = np.take_along_axis(rows, places[..., None], -1)[..., 0] * factors[places]
    losses = -own
    if smooth:
        every = np.sum(rows * factors, axis=-1)
        losses = -(1 - smooth) * own - smooth / classes * every
    total = np.sum(factors[labels[kept]])
    return reduced(np.where(kept, losses, 0.0), total, attributes.string("reduction"))


def run_nll_loss(
    op: GlowOp, x: Array, labels: Array, weights: Array | None = None
) -> Array:
    """`glow.nll_loss`."""
    return class_loss(op, widen(x), labels, weights, 0.0)


def run_cross_entropy(
    op: GlowOp, x: Array, labels: Array, weights: Array | None = None
) -> Array:
    """`glow.cross_entropy`."""
    logarithms = log_softmax(x, class_axis(x.ndim))
    smooth = op.attributes_view().float("label_smoothing")
    return class_loss(op, logarithms, labels, weights, smooth)


NODES: dict[type[Operation], Function] = {
    glow.MseLossOp: element_loss(mse),
    glow.L1LossOp: element_loss(l1),
    glow.HuberLossOp: element_loss(huber),
    glow.BceWithLogitsOp: element_loss(bce_with_logits),
    glow.KlDivOp: element_loss(kl_div),
    glow.NllLossOp: run_nll_loss,
    glow.CrossEntropyOp: run_cross_entropy,
}
