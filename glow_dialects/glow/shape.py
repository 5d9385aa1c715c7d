"""Nodes that move elements: reshape, transpose, concat, slice, pad, broadcast, gather."""

from __future__ import annotations

from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    var_operand_def,
)

from glow.dialects.attributes import Attributes, float_attr, int_attr
from glow.dialects.glow.elementwise import broadcast_shape
from glow.dialects.glow.normalization import check_axis
from glow.dialects.node import NodeOp, Types, fail_unless, public_nodes, tensor_type
from glow.dialects.quantized import IntegerForm, lookup_form, movement_form

PAD_MODES = ("constant", "edge", "reflect", "wrap")


@irdl_op_definition
class ReshapeOp(NodeOp):
    """The same elements in row-major order under another shape."""

    name = "glow.reshape"
    INTEGER_FORM: ClassVar[IntegerForm | None] = movement_form
    input = operand_def(TensorType)
    result = result_def(TensorType)

    @classmethod
    def check(cls, operands: Types, attributes: Attributes, results: Types) -> None:
        """The number of elements and their type stay."""
        source, target = operands[0], results[0]
        fail_unless(
            prod(source.get_shape()) == prod(target.get_shape())
            and source.element_type == target.element_type,
            lambda: f"a reshape keeps the elements: {source} to {target}",
        )


@irdl_op_definition
class TransposeOp(NodeOp):
    """Result axis `i` is input axis `permutation[i]` (ONNX Transpose-13)."""

    name = "glow.transpose"
    INTEGER_FORM: ClassVar[IntegerForm | None] = movement_form
    input = operand_def(TensorType)
    result = result_def(TensorType)
    permutation = prop_def(DenseArrayBase)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The permuted shape."""
        shape = operands[0].get_shape()
        permutation = attributes.ints("permutation")
        fail_unless(
            sorted(permutation) == list(range(len(shape))),
            f"{list(permutation)} is not a permutation of {len(shape)} axes",
        )
        return [
            tensor_type([shape[axis] for axis in permutation], operands[0].element_type)
        ]


@irdl_op_definition
class ConcatOp(NodeOp):
    """Joins tensors along an axis (ONNX Concat-13)."""

    name = "glow.concat"
    INTEGER_FORM: ClassVar[IntegerForm | None] = movement_form
    inputs_ = var_operand_def(TensorType)
    result = result_def(TensorType)
    axis = prop_def(IntegerAttr.constr(i64))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The sizes add up along the axis and agree elsewhere."""
        fail_unless(len(operands) > 0, "concat needs an operand")
        first = operands[0]
        axis = check_axis(attributes.int("axis"), first.get_num_dims())
        for operand in operands[1:]:
            same = (
                operand.get_num_dims() == first.get_num_dims()
                and operand.element_type == first.element_type
                and all(
                    a == b or index == axis
                    for index, (a, b) in enumerate(
                        zip(operand.get_shape(), first.get_shape(), strict=True)
                    )
                )
            )
            if not same:  # the text of types is too costly to make in vain
                fail_unless(
                    False,
                    (f"concat along axis {axis} cannot join {first} and {operand}"),
                )
        shape = list(first.get_shape())
        shape[axis] = sum(operand.get_shape()[axis] for operand in operands)
        return [tensor_type(shape, first.element_type)]


@irdl_op_definition
class SliceOp(NodeOp):
    """`sizes` elements from `starts` on, every `steps`-th (steps may be negative)."""

    name = "glow.slice"
    INTEGER_FORM: ClassVar[IntegerForm | None] = movement_form
    input = operand_def(TensorType)
    result = result_def(TensorType)
    starts = prop_def(DenseArrayBase)
    sizes = prop_def(DenseArrayBase)
    steps = prop_def(DenseArrayBase)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The result has shape `sizes`."""
        shape = operands[0].get_shape()
        starts, sizes = attributes.ints("starts"), attributes.ints("sizes")
        steps = attributes.ints("steps")
        fail_unless(
            len(starts) == len(sizes) == len(steps) == len(shape),
            f"starts, sizes and steps need one number for each of {len(shape)} axes",
        )
        for axis, (start, size, step) in enumerate(
            zip(starts, sizes, steps, strict=True)
        ):
            last = start + (size - 1) * step
            fail_unless(
                size == 0
                or (0 <= start < shape[axis] and 0 <= last < shape[axis] and step != 0),
                f"the slice [{start}, {size}, {step}] leaves axis {axis} of size "
                f"{shape[axis]}",
            )
        return [tensor_type(sizes, operands[0].element_type)]


@irdl_op_definition
class DynamicSliceOp(NodeOp):
    """Element `index` of axis 0, as a tensor without that axis (a loop's step)."""

    name = "glow.dynamic_slice"
    input = operand_def(TensorType)
    index = operand_def(IndexType)
    result = result_def(TensorType)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The shape without axis 0."""
        return [tensor_type(operands[0].get_shape()[1:], operands[0].element_type)]


@irdl_op_definition
class DynamicUpdateOp(NodeOp):
    """`input` with element `index` of axis 0 replaced by `value`."""

    name = "glow.dynamic_update"
    input = operand_def(TensorType)
    value = operand_def(TensorType)
    index = operand_def(IndexType)
    result = result_def(TensorType)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The input's type; the value has its shape without axis 0."""
        fail_unless(
            operands[1].get_shape() == operands[0].get_shape()[1:],
            lambda: (
                f"the value {operands[1]} must have the shape of {operands[0]} "
                "without axis 0"
            ),
        )
        return [operands[0]]


@irdl_op_definition
class PadOp(NodeOp):
    """Adds `pads` (begins, then ends) around the input (ONNX Pad-24).

    Negative pads crop. Modes: constant, edge, reflect, wrap.
    """

    name = "glow.pad"
    INTEGER_FORM: ClassVar[IntegerForm | None] = movement_form
    input = operand_def(TensorType)
    result = result_def(TensorType)
    pads = prop_def(DenseArrayBase)
    value = prop_def(FloatAttr, default_value=float_attr(0.0))
    mode = prop_def(StringAttr, default_value=StringAttr("constant"))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """Each axis grows by its two pads."""
        shape, pads = operands[0].get_shape(), attributes.ints("pads")
        rank = len(shape)
        fail_unless(len(pads) == 2 * rank, f"pads needs {2 * rank} numbers")
        mode = attributes.string("mode")
        fail_unless(
            mode in PAD_MODES, f"unknown mode '{mode}', expected {', '.join(PAD_MODES)}"
        )
        result = [
            size + pads[axis] + pads[axis + rank] for axis, size in enumerate(shape)
        ]
        fail_unless(min(result, default=0) >= 0, f"pads {list(pads)} leave nothing")
        for axis, size in enumerate(shape if mode != "constant" else ()):
            ends = pads[axis], pads[axis + rank]
            kept = size + sum(min(end, 0) for end in ends)
            fail_unless(
                kept > 0 or max(ends) <= 0,
                f"pad mode '{mode}' needs an element to repeat",
            )
        return [tensor_type(result, operands[0].element_type)]


@irdl_op_definition
class BroadcastOp(NodeOp):
    """The input repeated along axes of size 1 or missing ones (ONNX Expand-13)."""

    name = "glow.broadcast"
    INTEGER_FORM: ClassVar[IntegerForm | None] = movement_form
    input = operand_def(TensorType)
    result = result_def(TensorType)

    @classmethod
    def check(cls, operands: Types, attributes: Attributes, results: Types) -> None:
        """The input broadcasts to the result's shape."""
        target = results[0].get_shape()
        fail_unless(
            broadcast_shape([operands[0].get_shape(), target]) == target
            and operands[0].element_type == results[0].element_type,
            lambda: f"{operands[0]} does not broadcast to {results[0]}",
        )


@irdl_op_definition
class TileOp(NodeOp):
    """The input repeated `repeats` times along each axis (ONNX Tile-13)."""

    name = "glow.tile"
    INTEGER_FORM: ClassVar[IntegerForm | None] = movement_form
    input = operand_def(TensorType)
    result = result_def(TensorType)
    repeats = prop_def(DenseArrayBase)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """Each size times its repeats."""
        shape, repeats = operands[0].get_shape(), attributes.ints("repeats")
        fail_unless(
            len(repeats) == len(shape) and min(repeats, default=0) >= 0,
            f"repeats needs {len(shape)} counts",
        )
        result = [size * count for size, count in zip(shape, repeats, strict=True)]
        return [tensor_type(result, operands[0].element_type)]


def _indexed_axis(operands: Types, attributes: Attributes) -> int:
    """The axis of the first operand, which the integers in the second index."""
    source, indices = operands
    fail_unless(
        isinstance(indices.element_type, IntegerType),
        lambda: f"indices must be integers, not {indices}",
    )
    return check_axis(attributes.int("axis"), source.get_num_dims())


@irdl_op_definition
class GatherOp(NodeOp):
    """Slices of `input` along `axis` at `indices` (ONNX Gather-13).

    Negative indices count from the end; one that is still outside of the axis is an
    error of the call that computes it, and reads nothing outside of the input.
    """

    name = "glow.gather"
    INTEGER_FORM: ClassVar[IntegerForm | None] = lookup_form
    input = operand_def(TensorType)
    indices = operand_def(TensorType)
    result = result_def(TensorType)
    axis = prop_def(IntegerAttr.constr(i64), default_value=int_attr(0))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The indices' shape in the place of the axis."""
        source, indices = operands
        shape = source.get_shape()
        axis = _indexed_axis(operands, attributes)
        result = (*shape[:axis], *indices.get_shape(), *shape[axis + 1 :])
        return [tensor_type(result, source.element_type)]


@irdl_op_definition
class GatherElementsOp(NodeOp):
    """An element of `input` for each of `indices`, which say where along `axis` it is.

    The other coordinates are those of the index (ONNX GatherElements-13); indices
    outside of the axis are as in `glow.gather`.
    """

    name = "glow.gather_elements"
    input = operand_def(TensorType)
    indices = operand_def(TensorType)
    result = result_def(TensorType)
    axis = prop_def(IntegerAttr.constr(i64), default_value=int_attr(0))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The indices' shape, which fits into the input's beside the axis."""
        source, indices = operands
        sizes, shape = source.get_shape(), indices.get_shape()
        axis = _indexed_axis(operands, attributes)
        fail_unless(
            len(shape) == len(sizes)
            and all(
                size <= whole or place == axis
                for place, (size, whole) in enumerate(zip(shape, sizes, strict=True))
            ),
            lambda: f"indices {indices} do not fit into {source} beside axis {axis}",
        )
        return [tensor_type(shape, source.element_type)]


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
