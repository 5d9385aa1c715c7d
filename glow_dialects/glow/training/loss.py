"""Losses: how far predictions are from what they should be, as PyTorch defines it."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import ClassVar, TypeAlias

from xdsl.dialects.builtin import (
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    i1,
    i64,
)
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)

from glow.dialects.attributes import Attributes, float_attr, int_attr
from glow.dialects.glow.arithmetic import EqualOp
from glow.dialects.glow.elementwise import broadcast_shape, is_integer
from glow.dialects.glow.normalization import check_float
from glow.dialects.glow.training.terms import Term
from glow.dialects.node import NodeOp, Types, fail_unless, public_nodes, tensor_type

REDUCTIONS = ("mean", "sum", "none")

ElementLoss: TypeAlias = Callable[[list[Term], Attributes], Term]
"""`loss(operands, attributes)`: the loss of one element, before the reduction."""


def class_axis(rank: int) -> int:
    """The axis of the classes in [N, C, ...] or [C]."""
    return min(1, rank - 1)


class LossOp(NodeOp):
    """A number for each element or sample, which `reduction` adds up or averages."""

    REDUCTIONS: ClassVar[tuple[str, ...]] = REDUCTIONS
    result = result_def(TensorType)
    reduction = prop_def(StringAttr, default_value=StringAttr("mean"))

    @classmethod
    def reduced(
        cls, shape: tuple[int, ...], like: TensorType, attributes: Attributes
    ) -> Types:
        """The type of the reduced losses of a shape: rank 0, or all of them."""
        reduction = attributes.string("reduction")
        fail_unless(
            reduction in cls.REDUCTIONS,
            f"unknown reduction '{reduction}', expected {', '.join(cls.REDUCTIONS)}",
        )
        kept = shape if reduction == "none" else ()
        return [tensor_type(kept, like.element_type)]


class ElementLossOp(LossOp):
    """A loss of each element; input and target have one type."""

    ELEMENT: ClassVar[ElementLoss]
    """The loss of one element as a formula."""
    input = operand_def(TensorType)
    target = operand_def(TensorType)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """A number, or the input's type where nothing is reduced."""
        check_float(cls, operands[0])
        fail_unless(
            operands[0] == operands[1],
            f"input and target must have one type, not {operands[0]} and {operands[1]}",
        )
        return cls.reduced(operands[0].get_shape(), operands[0], attributes)


def _squared(x: list[Term], _: Attributes) -> Term:
    difference = x[0] - x[1]
    return difference * difference


@irdl_op_definition
class MseLossOp(ElementLossOp):
    """`(input - target)^2` (torch.nn.functional.mse_loss).

    %loss = glow.mse_loss %prediction, %target : tensor<f32>
    """

    name = "glow.mse_loss"
    ELEMENT = staticmethod(_squared)


def _distance(x: list[Term], _: Attributes) -> Term:
    return abs(x[0] - x[1])


@irdl_op_definition
class L1LossOp(ElementLossOp):
    """`|input - target|` (torch.nn.functional.l1_loss)."""

    name = "glow.l1_loss"
    ELEMENT = staticmethod(_distance)


def _huber(x: list[Term], huber: Attributes) -> Term:
    delta, distance = huber.float("delta"), abs(x[0] - x[1])
    near = distance * distance * 0.5
    return (distance <= delta).choose(near, (distance - 0.5 * delta) * delta)


@irdl_op_definition
class HuberLossOp(ElementLossOp):
    """Half the square up to a distance of `delta`, a line beyond (torch's huber_loss).

    `d = |input - target|`: `d^2 / 2` where `d <= delta`, else `delta * (d - delta / 2)`.
    """

    name = "glow.huber_loss"
    ELEMENT = staticmethod(_huber)
    delta = prop_def(FloatAttr, default_value=float_attr(1.0))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """As other losses of elements; `delta` is positive."""
        delta = attributes.float("delta")
        fail_unless(delta > 0, f"delta is {delta:g}, not positive")
        return super().infer(operands, attributes)


def _bce(x: list[Term], _: Attributes) -> Term:
    logits, target, *weights = x
    missed = (-logits).softplus()
    if weights:
        missed = missed * ((weights[0] - 1.0) * target + 1.0)
    return (1.0 - target) * logits + missed


@irdl_op_definition
class BceWithLogitsOp(ElementLossOp):
    """Cross entropy of two classes, given the logit of the first and its probability.

    `-w * t * log(sigmoid(x)) - (1 - t) * log(1 - sigmoid(x))`, where w is `pos_weight`, which
    broadcasts to the input (torch.nn.functional.binary_cross_entropy_with_logits).
    """

    name = "glow.bce_with_logits"
    ELEMENT = staticmethod(_bce)
    input = operand_def(TensorType)
    target = operand_def(TensorType)
    pos_weight = opt_operand_def(TensorType)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """As other losses of elements; the weights broadcast to the input."""
        for weight in operands[2:]:
            shape = operands[0].get_shape()
            fail_unless(
                weight.element_type == operands[0].element_type
                and broadcast_shape([shape, weight.get_shape()]) == shape,
                f"pos_weight {weight} does not broadcast to {operands[0]}",
            )
        return super().infer(operands[:2], attributes)


def _kl_div(x: list[Term], kl_div: Attributes) -> Term:
    logarithm, target = x
    if kl_div.has("log_target"):
        return target.exp() * (target - logarithm)
    entropy = target * target.log()
    zero = target.apply(EqualOp, 0.0)
    return zero.choose(target * 0.0, entropy) - target * logarithm


@irdl_op_definition
class KlDivOp(ElementLossOp):
    """`target * (log(target) - input)`, 0 where the target is 0 (torch's kl_div).

    The input holds logarithms of probabilities; so does the target with `log_target`. The
    reduction `batchmean` is the sum by the size of the first axis.
    """

    name = "glow.kl_div"
    ELEMENT = staticmethod(_kl_div)
    REDUCTIONS: ClassVar[tuple[str, ...]] = (*REDUCTIONS, "batchmean")
    log_target = opt_prop_def(UnitAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """As other losses of elements; `batchmean` needs an axis."""
        fail_unless(
            attributes.string("reduction") != "batchmean"
            or operands[0].get_num_dims() > 0,
            f"reduction 'batchmean' needs an axis, which {operands[0]} has not",
        )
        return super().infer(operands, attributes)


class ClassLossOp(LossOp):
    """A loss of each sample, whose label is one of C classes.

    Axis 1 of the input is that of the classes (axis 0 of rank 1), and labels are integers in
    its shape without that axis. Samples with the label `ignore_index` count for nothing; any
    other label outside of [0, C) is an error of the call. The mean is that of the remaining
    samples, weighted by their class's weight; of no sample it is NaN.
    """

    input = operand_def(TensorType)
    labels = operand_def(TensorType)
    weights = opt_operand_def(TensorType)
    ignore_index = prop_def(IntegerAttr.constr(i64), default_value=int_attr(-100))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """A number, or the labels' shape where nothing is reduced."""
        check_float(cls, operands[0])
        shape, labels = list(operands[0].get_shape()), operands[1]
        fail_unless(len(shape) > 0, f"{cls.name} needs [N, C, ...]: {operands[0]}")
        classes = shape.pop(class_axis(len(shape)))
        fail_unless(
            is_integer(labels.element_type)
            and labels.element_type != i1
            and list(labels.get_shape()) == shape,
            f"labels of {operands[0]} must be integers of shape {shape}, not {labels}",
        )
        fail_unless(
            classes > 0 or prod(shape) == 0, f"{operands[0]} has no classes (axis 1)"
        )
        for weights in operands[2:]:
            wanted = tensor_type((classes,), operands[0].element_type)
            fail_unless(
                weights == wanted,
                f"weights must be {wanted}, one a class, not {weights}",
            )
        return cls.reduced(tuple(shape), operands[0], attributes)


@irdl_op_definition
class NllLossOp(ClassLossOp):
    """`-weights[label] * input[label]` of logarithms of probabilities (torch's nll_loss)."""

    name = "glow.nll_loss"


@irdl_op_definition
class CrossEntropyOp(ClassLossOp):
    """`glow.nll_loss` of the log-softmax of logits (torch.nn.functional.cross_entropy).

    `label_smoothing` s shifts that part of the label's probability to all classes: the loss
    is `(1 - s)` times that of the label plus `s / C` times the (weighted) sum of all.

    %loss = glow.cross_entropy %logits, %labels label_smoothing 0.1 : tensor<f32>
    """

    name = "glow.cross_entropy"
    label_smoothing = prop_def(FloatAttr, default_value=float_attr(0.0))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """As other losses of classes; the smoothing is a part of 1."""
        smoothing = attributes.float("label_smoothing")
        fail_unless(
            0 <= smoothing <= 1, f"label_smoothing is {smoothing:g}, outside of [0, 1]"
        )
        return super().infer(operands, attributes)


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
