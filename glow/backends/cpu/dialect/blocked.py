"""Packing into blocks of channels and back, and nodes on blocked tensors."""

from __future__ import annotations

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from glow.dialects.attributes import Attributes, float_attr
from glow.dialects.glow.convolution import check_rank
from glow.dialects.node import NodeOp, Types, fail_unless, public_nodes, tensor_type


def blocks(channels: int, lanes: int) -> int:
    """The number of channel blocks that hold `channels`."""
    if lanes <= 0:
        raise VerifyException(f"a block needs at least one channel, not {lanes}")
    return -(-channels // lanes)


def check_channels(image: TensorType[Attribute], channels: int, lanes: int) -> None:
    """An image of blocks of `lanes` holds so many channels; a plain one has blocks of one."""
    if image.get_shape()[1] != blocks(channels, lanes):
        # The text of types is too costly to make in vain.
        fail_unless(False, f"the input {image} does not hold {channels} channels")


def check_groups(attributes: Attributes, lanes: int) -> int:
    """The groups of a convolution, whose channels fill their blocks where there are several."""
    group = attributes.int("group")
    fail_unless(group > 0, f"the number of groups must be positive, not {group}")
    for name in ("input_channels", "output_channels") if group > 1 else ():
        channels = attributes.int(name)
        fail_unless(
            channels % (group * lanes) == 0,
            f"{channels} {name} in {group} groups do not fill blocks of {lanes}",
        )
    return group


@irdl_op_definition
class PackOp(NodeOp):
    """[N, C, H, W] into blocks: [N, C / lanes, H, W, lanes]."""

    name = "cpu.pack"
    input = operand_def(TensorType)
    result = result_def(TensorType)
    lanes = prop_def(IntegerAttr.constr(i64))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The blocked shape."""
        check_rank(operands[0], 4, "the input")
        batch, channels, height, width = operands[0].get_shape()
        lanes = attributes.int("lanes")
        fail_unless(lanes > 0, f"lanes must be positive, not {lanes}")
        shape = (batch, blocks(channels, lanes), height, width, lanes)
        return [tensor_type(shape, operands[0].element_type)]


@irdl_op_definition
class UnpackOp(NodeOp):
    """Blocks back into [N, C, H, W]; `channels` says how many are real."""

    name = "cpu.unpack"
    input = operand_def(TensorType)
    result = result_def(TensorType)
    channels = prop_def(IntegerAttr.constr(i64))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The plain shape."""
        check_rank(operands[0], 5, "the input")
        batch, block, height, width, lanes = operands[0].get_shape()
        channels = attributes.int("channels")
        fail_unless(
            blocks(channels, lanes) == block,
            f"{channels} channels do not fill {block} blocks of {lanes}",
        )
        return [tensor_type((batch, channels, height, width), operands[0].element_type)]


@irdl_op_definition
class LocalResponseNormOp(NodeOp):
    """`glow.local_response_norm` on a blocked tensor of `channels` channels."""

    name = "cpu.local_response_norm"
    input = operand_def(TensorType)
    result = result_def(TensorType)
    channels = prop_def(IntegerAttr.constr(i64))
    size = prop_def(IntegerAttr.constr(i64))
    alpha = prop_def(FloatAttr, default_value=float_attr(1e-4))
    beta = prop_def(FloatAttr, default_value=float_attr(0.75))
    offset = prop_def(FloatAttr, default_value=float_attr(1.0))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The input's type."""
        check_rank(operands[0], 5, "the input")
        return [operands[0]]


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
