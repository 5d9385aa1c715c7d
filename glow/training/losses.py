"""Which loss a training minimizes, and the node that computes it.

A loss compares an output of the network with labels; their shape and dtype follow from the loss
and the output.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute, SSAValue

from glow.dialects import glow
from glow.dialects.attributes import AttributeValue
from glow.dialects.errors import GlowError
from glow.dialects.glow.training.loss import ClassLossOp, LossOp, class_axis
from glow.dialects.node import SEGMENTS, shape_of, tensor_type
from glow.dialects.weight_table import Array
from glow.passes.rewriting.node_builder import NodeBuilder

LOSSES: Mapping[str, type[LossOp]] = {
    "cross_entropy": glow.CrossEntropyOp,
    "nll": glow.NllLossOp,
    "mse": glow.MseLossOp,
    "l1": glow.L1LossOp,
    "huber": glow.HuberLossOp,
    "bce_with_logits": glow.BceWithLogitsOp,
    "kl_div": glow.KlDivOp,
}

WEIGHTS = ("weights", "pos_weight")
"""Options that are arrays."""


class Loss:
    """A loss by its name, with the options of PyTorch's function of that name.

        glow.Loss("cross_entropy", label_smoothing=0.1, ignore_index=-1)

    | name                   | options                                                   |
    |------------------------|-----------------------------------------------------------|
    | `cross_entropy`        | `weights`, `ignore_index`, `label_smoothing`, `reduction` |
    | `nll`                  | `weights`, `ignore_index`, `reduction`                    |
    | `mse`, `l1`            | `reduction`                                               |
    | `huber`                | `delta`, `reduction`                                      |
    | `bce_with_logits`      | `pos_weight`, `reduction`                                 |
    | `kl_div`               | `log_target`, `reduction`                                 |

    `reduction` is `mean` or `sum` (and `batchmean` of `kl_div`): a training needs one number.
    """

    def __init__(self, name: str, **options: object) -> None:
        """Raises GlowError for an unknown name or option."""
        if name not in LOSSES:
            raise GlowError(
                f"unknown loss '{name}'", hint=f"one of {', '.join(LOSSES)}"
            )
        self.name = name
        self.node = LOSSES[name]
        definition = self.node.get_irdl_definition()
        arrays = [name for name, _ in definition.operands if name in WEIGHTS]
        known = {*definition.properties, *arrays} - {SEGMENTS}
        for option in options:
            if option not in known:
                raise GlowError(
                    f"the loss '{name}' has no option '{option}'",
                    hint=f"it has {', '.join(sorted(known))}",
                )
        if options.get("reduction") == "none":
            raise GlowError(
                "the loss must be one number: reduction 'none' gives one a sample",
                hint="use mean or sum",
            )
        self.arrays: dict[str, Array] = {
            name: np.asarray(options.pop(name)) for name in arrays if name in options
        }
        self.options = cast("dict[str, AttributeValue]", options)

    @property
    def takes_classes(self) -> bool:
        """Whether labels are numbers of classes."""
        return issubclass(self.node, ClassLossOp)

    def label_type(self, output: TensorType[Attribute]) -> TensorType[Attribute]:
        """The labels' type for an output: classes, or what the output is itself."""
        if not self.takes_classes:
            return output
        shape = list(output.get_shape())
        if not shape:
            raise GlowError(
                f"the loss '{self.name}' needs classes; the output is {output}"
            )
        del shape[class_axis(len(shape))]
        return tensor_type(shape, i64)

    def classes(self, output: TensorType[Attribute]) -> int | None:
        """The number of classes that an output has, if labels are such."""
        shape = output.get_shape()
        return shape[class_axis(len(shape))] if self.takes_classes else None

    @property
    def ignored(self) -> int:
        """The label that counts for nothing."""
        return cast(int, self.options.get("ignore_index", -100))

    def add(self, builder: NodeBuilder, output: SSAValue, labels: SSAValue) -> SSAValue:
        """The loss of an output, one number."""
        element_type = cast("TensorType[Attribute]", output.type).element_type
        operands = [output, labels]
        for name, array in self.arrays.items():
            if not array.size:
                raise GlowError(f"the loss's {name} are empty")
            operands.append(
                builder.constant(array.astype(_dtype(element_type)), f"loss.{name}")
            )
        loss = builder.node(self.node, *operands, **self.options)
        assert shape_of(loss) == ()
        loss.name_hint = "loss"
        return loss


def _dtype(element_type: Attribute) -> np.dtype[np.generic]:
    from glow.dialects.weight_table import dtype_of

    return dtype_of(element_type)


def as_loss(loss: str | Loss | None) -> Loss | None:
    """The loss of a name; raises GlowError for an unknown one."""
    return Loss(loss) if isinstance(loss, str) else loss
