"""Weights of convolutions that are computed, not constants: packed and unpacked at run time.

The packed order is that of constants: [group][tile of output blocks][input block][kernel row]
[kernel column][input lane][block][output lane], the last tile smaller where the blocks do not
divide; zeros where there is no channel.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, UnitAttr, i64
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)

from glow.backends.cpu.dialect.blocked import blocks
from glow.backends.cpu.dialect.config import PanelsAttr, panels_of
from glow.dialects.attributes import Attributes, int_attr
from glow.dialects.glow.convolution import check_rank
from glow.dialects.node import NodeOp, Types, fail_unless, public_nodes, tensor_type


@irdl_op_definition
class PackWeightsOp(NodeOp):
    """[O, C / group, kh, kw] in the order in which `cpu.conv2d` reads weights.

    With `turned` it packs the weights of the gradient of a convolution's input from those of the
    convolution, [C, O / group, kh, kw]: the taps in reverse order, and each group's inputs
    and outputs exchanged. `input_lanes` are the channels of an input block: one of a plain
    image.
    """

    name = "cpu.pack_weights"
    input = operand_def(TensorType)
    result = result_def(TensorType)
    group = prop_def(IntegerAttr.constr(i64), default_value=int_attr(1))
    input_lanes = prop_def(IntegerAttr.constr(i64))
    panels = prop_def(PanelsAttr)
    turned = opt_prop_def(UnitAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The packed weights, one-dimensional."""
        (weights,) = operands
        check_rank(weights, 4, "the weights")
        first, second, height, width = weights.get_shape()
        group, inside = attributes.int("group"), attributes.int("input_lanes")
        fail_unless(
            group > 0 and first % group == 0,
            f"group ({group}) must divide the weights' first axis ({first})",
        )
        panels = panels_of(attributes)
        assert panels is not None
        outputs, inputs = first // group, second
        if attributes.has("turned"):
            outputs, inputs = inputs, outputs
        rows = blocks(outputs, panels.lanes) * panels.lanes
        columns = blocks(inputs, inside) * inside
        size = group * rows * columns * height * width
        return [tensor_type((size,), weights.element_type)]


@irdl_op_definition
class UnpackWeightsOp(NodeOp):
    """Packed weights in panels of one block, back as [O, C / group, kh, kw].

    `shape` is that of the result; `lanes` and `input_lanes` are the channels of an output and an
    input block.
    """

    name = "cpu.unpack_weights"
    input = operand_def(TensorType)
    result = result_def(TensorType)
    group = prop_def(IntegerAttr.constr(i64), default_value=int_attr(1))
    lanes = prop_def(IntegerAttr.constr(i64))
    input_lanes = prop_def(IntegerAttr.constr(i64))
    shape = prop_def(DenseArrayBase)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The plain weights."""
        (packed,) = operands
        check_rank(packed, 1, "packed weights")
        shape = attributes.ints("shape")
        fail_unless(len(shape) == 4, f"shape needs 4 numbers, not {len(shape)}")
        outputs, inputs, height, width = shape
        group, lanes = attributes.int("group"), attributes.int("lanes")
        inside = attributes.int("input_lanes")
        fail_unless(
            group > 0 and outputs % group == 0,
            f"group ({group}) must divide the outputs ({outputs})",
        )
        rows = group * blocks(outputs // group, lanes) * lanes
        size = rows * blocks(inputs, inside) * inside * height * width
        fail_unless(
            packed.get_shape() == (size,),
            f"there must be {size} packed weights, not {packed}",
        )
        return [tensor_type(shape, packed.element_type)]


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
