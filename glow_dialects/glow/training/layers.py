"""Layers that compute otherwise while a network is trained."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TensorType, f32, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from glow.dialects.attributes import Attributes, float_attr, int_attr
from glow.dialects.glow.normalization import BatchNormOp, check_float
from glow.dialects.node import NodeOp, Types, fail_unless, public_nodes, tensor_type

SEED = tensor_type((2,), i64)
"""A generator's state: its key, and the number of the call."""


@irdl_op_definition
class BatchNormTrainingOp(NodeOp):
    """Batch normalization by the statistics of the batch, with their moving averages.

    [N, C, ...] and four of [C] -> the normalized input, the new mean and the new variance. The
    variance that normalizes is that of the elements, the one that is averaged that of what they
    are drawn from (divided by their number less 1): torch.nn.functional.batch_norm with
    `training=True`. Each average keeps `1 - momentum` of the old one.
    """

    name = "glow.batch_norm_training"
    input = operand_def(TensorType)
    scale = operand_def(TensorType)
    bias = operand_def(TensorType)
    mean = operand_def(TensorType)
    variance = operand_def(TensorType)
    result = result_def(TensorType)
    new_mean = result_def(TensorType)
    new_variance = result_def(TensorType)
    epsilon = prop_def(FloatAttr, default_value=float_attr(1e-5))
    momentum = prop_def(FloatAttr, default_value=float_attr(0.1))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The types of the input and of the statistics; a channel has several elements."""
        BatchNormOp.infer(operands, attributes)
        shape = operands[0].get_shape()
        fail_unless(
            prod(shape) != shape[1],
            f"the variance of one element a channel is unknown: {operands[0]} (train on "
            "batches of several images)",
        )
        return [operands[0], operands[3], operands[4]]


COLUMNS = 1024
"""The most counters of a row: that of an element is its row's first plus its column."""


def counter_grid(elements: int) -> tuple[int, int]:
    """Rows and columns of the counters of random numbers, each of which gives four.

    The elements are the first words of all counters, then the second ones, and so on. So
    every word is a run of elements.
    """
    blocks = max(-(-elements // 4), 1)
    columns = min(blocks, COLUMNS)
    return -(-blocks // columns), columns


class RandomOp(NodeOp):
    """What is drawn by a counter-based generator: Philox 4x32-10.

    `seed` [2] i64 is its key and the number of the call, `stream` tells several of one call
    apart. Numbers depend on these and on the element's place alone, so they are the same on
    every backend and for any number of threads. Source: Salmon and others, "Parallel random
    numbers: as easy as 1, 2, 3", 2011.
    """

    seed = operand_def(TensorType)
    stream = prop_def(IntegerAttr.constr(i64), default_value=int_attr(0))

    @classmethod
    def check_seed(cls, seed: TensorType[Attribute], attributes: Attributes) -> None:
        """The seed is two numbers, the stream a word of the counter."""
        fail_unless(seed == SEED, f"the seed must be {SEED}, not {seed}")
        stream = attributes.int("stream")
        fail_unless(0 <= stream < 1 << 32, f"stream {stream} is not a 32-bit number")


@irdl_op_definition
class RandomUniformOp(RandomOp):
    """Numbers that are distributed evenly in [0, 1), multiples of 2^-24.

    %u = glow.random_uniform %seed stream 1 : tensor<8x128xf32>
    """

    name = "glow.random_uniform"
    result = result_def(TensorType)

    @classmethod
    def check(cls, operands: Types, attributes: Attributes, results: Types) -> None:
        """The elements are f32; the shape is the caller's choice."""
        cls.check_seed(operands[0], attributes)
        element = results[0].element_type
        fail_unless(element == f32, f"random numbers are f32, not {element}")


@irdl_op_definition
class DropoutOp(RandomOp):
    """The input, where a random number is less than `ratio` 0, elsewhere times 1 / (1 - ratio).

    The random numbers are those of `glow.random_uniform`. So dropout of a gradient with the
    same seed drops what dropout of the input has dropped.
    """

    name = "glow.dropout"
    input = operand_def(TensorType)
    seed = operand_def(TensorType)
    result = result_def(TensorType)
    ratio = prop_def(FloatAttr, default_value=float_attr(0.5))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The input's type; the ratio is a part of 1."""
        check_float(cls, operands[0])
        cls.check_seed(operands[1], attributes)
        ratio = attributes.float("ratio")
        fail_unless(0 <= ratio <= 1, f"ratio is {ratio:g}, outside of [0, 1]")
        return [operands[0]]


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
