"""Nodes that read, write or go along an axis in an order of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    f32,
    i1,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import OpTrait

from glow.dialects.attributes import Attributes, int_attr
from glow.dialects.glow.elementwise import check_numbers, is_integer
from glow.dialects.glow.normalization import check_axis
from glow.dialects.node import (
    NodeOp,
    OnnxNames,
    Types,
    fail_unless,
    public_nodes,
    tensor_type,
)

REDUCTIONS = ("none", "add", "mul", "max", "min")
"""What `glow.scatter` does with an update and the element that is there."""

CUMULATIVE = ("sum", "prod")
"""What `glow.cumulative` does with the elements up to one."""

BOX_PARTS = 5
"""Two corners of a box, and its area: what `glow.select_boxes` keeps of it in scratch memory."""

REGISTER_FLOATS = 16
"""The f32 of the widest register, whole ones of which that memory is made of."""


@dataclass(frozen=True)
class UpdatesOperand(OpTrait):
    """The result's elements depend on no other elements of an operand.

    A kernel that reads one of them before it writes there may work on the operand's memory.
    """

    number: int = 0


def _coordinate_count(indices: TensorType[Attribute]) -> int:
    """The size of the last axis of indices, which are integers."""
    fail_unless(
        is_integer(indices.element_type)
        and indices.element_type != i1
        and indices.get_num_dims() > 0,
        lambda: f"indices must be integers with at least one axis, not {indices}",
    )
    return indices.get_shape()[-1]


@irdl_op_definition
class GatherNDOp(NodeOp):
    """Slices of `input` at positions of several coordinates (ONNX GatherND-13).

    input [B..., D..., W...], indices [B..., U..., k] -> [B..., U..., W...]: the last axis of
    the indices holds one coordinate for each of the k axes D. The first `batch_dims` axes of
    both are the same. Indices outside of an axis are as in `glow.gather`.
    """

    name = "glow.gather_nd"
    ONNX: ClassVar[OnnxNames | None] = None
    input = operand_def(TensorType)
    indices = operand_def(TensorType)
    result = result_def(TensorType)
    batch_dims = prop_def(IntegerAttr.constr(i64), default_value=int_attr(0))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The indices' shape without its last axis, then the axes that they leave."""
        source, indices = operands
        shape, where = source.get_shape(), indices.get_shape()
        count, batch = _coordinate_count(indices), attributes.int("batch_dims")
        fail_unless(
            0 <= batch < len(where)
            and batch + count <= len(shape)
            and shape[:batch] == where[:batch],
            lambda: f"indices {indices} do not fit {source} with {batch} batch axes",
        )
        result = (*where[:-1], *shape[batch + count :])
        return [tensor_type(result, source.element_type)]


@irdl_op_definition
class ScatterOp(NodeOp):
    """`data` with `updates` written, or added and so on, at positions that `indices` give.

    data [D...], indices [U..., k], updates [U..., W...] -> [D...]. `coordinates` says for each
    axis of the data where an update's coordinate comes from: the number of an axis of the
    updates, or -1 - j for number j of the k indices. So [-1, -2, 1] is ONNX ScatterND of pairs
    into rows, and [0, -1] ScatterElements along axis 1.

    Updates apply in row-major order, with a `reduction` (add, mul, max, min; NaN wins) too;
    without one the last wins. Indices outside of an axis are as in `glow.gather`.
    """

    name = "glow.scatter"
    data = operand_def(TensorType)
    indices = operand_def(TensorType)
    updates = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(UpdatesOperand(0))
    coordinates = prop_def(DenseArrayBase)
    reduction = prop_def(StringAttr, default_value=StringAttr("none"))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The data's type; every coordinate of an update lies in the data."""
        data, indices, updates = operands
        sizes, shape = data.get_shape(), updates.get_shape()
        count, reduction = _coordinate_count(indices), attributes.string("reduction")
        fail_unless(
            reduction in REDUCTIONS,
            f"unknown reduction '{reduction}', expected {', '.join(REDUCTIONS)}",
        )
        fail_unless(
            updates.element_type == data.element_type
            and (reduction == "none" or data.element_type != i1),
            lambda: (
                f"updates {updates} do not suit {data} with reduction '{reduction}'"
            ),
        )
        coordinates = attributes.ints("coordinates")
        fail_unless(
            indices.get_shape()[:-1] == shape[: indices.get_num_dims() - 1]
            and len(coordinates) == len(sizes)
            and all(
                -count <= axis < len(shape) and (axis < 0 or shape[axis] <= size)
                for axis, size in zip(coordinates, sizes, strict=True)
            ),
            lambda: (
                f"coordinates {list(coordinates)} do not lead from updates {updates} and "
                f"indices {indices} into {data}"
            ),
        )
        return [data]


@irdl_op_definition
class CumulativeOp(NodeOp):
    """Sums or products of all elements up to each one along an axis (ONNX CumSum-14, CumProd-26).

    `kind` is sum or prod; `exclusive` leaves the element itself out, `reverse` begins at the
    end. Integers wrap.
    """

    name = "glow.cumulative"
    input = operand_def(TensorType)
    result = result_def(TensorType)
    kind = prop_def(StringAttr)
    axis = prop_def(IntegerAttr.constr(i64))
    exclusive = opt_prop_def(UnitAttr)
    reverse = opt_prop_def(UnitAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The input's type, which is of numbers."""
        check_numbers(cls, operands[0])
        check_axis(attributes.int("axis"), operands[0].get_num_dims())
        kind = attributes.string("kind")
        fail_unless(
            kind in CUMULATIVE,
            f"unknown kind '{kind}', expected {', '.join(CUMULATIVE)}",
        )
        return [operands[0]]


@irdl_op_definition
class TopKOp(NodeOp):
    """The k largest (or smallest) elements along the last axis, and where they are (ONNX TopK-24).

    They are sorted; of equal ones that of the lower index comes first, NaN is above all
    numbers, and -0 equals 0.
    """

    name = "glow.top_k"
    input = operand_def(TensorType)
    values = result_def(TensorType)
    indices = result_def(TensorType)
    k = prop_def(IntegerAttr.constr(i64))
    smallest = opt_prop_def(UnitAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The last axis has k elements; indices are i64."""
        check_numbers(cls, operands[0])
        k, shape = attributes.int("k"), operands[0].get_shape()
        fail_unless(len(shape) > 0, lambda: f"{operands[0]} has no axis to sort")
        *outer, extent = shape
        fail_unless(
            0 <= k <= extent,
            f"there are no {k} of {extent} elements along the last axis",
        )
        kept = (*outer, k)
        return [tensor_type(kept, operands[0].element_type), tensor_type(kept, i64)]


@irdl_op_definition
class CompactOp(NodeOp):
    """Where flags hold (ONNX NonZero and Compress): `places` in order, and how many there are.

    flags [n] i1 -> places [n] i64, whose elements behind the last are 0, and count [] i64.
    """

    name = "glow.compact"
    flags = operand_def(TensorType)
    places = result_def(TensorType)
    count = result_def(TensorType)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """As many places as flags, and a number."""
        (flags,) = operands
        fail_unless(
            flags.element_type == i1 and flags.get_num_dims() == 1,
            f"flags must be i1 along one axis, not {flags}",
        )
        return [tensor_type(flags.get_shape(), i64), tensor_type((), i64)]


def padded_boxes(limit: int) -> int:
    """Memory for so many boxes in whole registers."""
    return -(-limit // REGISTER_FLOATS) * REGISTER_FLOATS


@irdl_op_definition
class SelectBoxesOp(NodeOp):
    """Boxes that no selected one before them covers (ONNX NonMaxSuppression-11), class by class.

    boxes [B, N, 4] f32, order [B, C, M] i64 (the numbers of the boxes by falling score), valid
    [B, C, M] i1 (whether a candidate counts), threshold [] f32 -> selected [B, C, limit] i64,
    zeros behind the last, and count [B, C] i64.

    A box is two opposite corners, or with `center_point_box` its center, width and height. A
    candidate goes where the area that it shares with a selected box, divided by that of both
    together, is greater than the threshold.
    """

    name = "glow.select_boxes"
    boxes = operand_def(TensorType)
    order = operand_def(TensorType)
    valid = operand_def(TensorType)
    threshold = operand_def(TensorType)
    selected = result_def(TensorType)
    count = result_def(TensorType)
    limit = prop_def(IntegerAttr.constr(i64))
    center_point_box = opt_prop_def(UnitAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """At most `limit` boxes of a class."""
        boxes, order, valid, threshold = operands
        shape, limit = order.get_shape(), attributes.int("limit")
        fail_unless(
            [one.element_type for one in operands] == [f32, i64, i1, f32]
            and boxes.get_num_dims() == len(shape) == len(("image", "class", "box"))
            and boxes.get_shape()[0] == shape[0]
            and boxes.get_shape()[2] == len(("y", "x", "y", "x"))
            and valid.get_shape() == shape
            and not threshold.get_shape(),
            f"boxes {boxes}, order {order}, valid {valid} and threshold {threshold} do "
            "not agree",
        )
        fail_unless(limit >= 0, f"limit is {limit}, less than 0")
        return [tensor_type((*shape[:2], limit), i64), tensor_type(shape[:2], i64)]

    @classmethod
    def scratch_types(cls, operands: Types, attributes: Attributes) -> Types:
        """The corners and the area of each selected box, [B, C, 5, limit] rounded up."""
        classes, limit = operands[1].get_shape()[:2], attributes.int("limit")
        return [tensor_type((*classes, BOX_PARTS, padded_boxes(limit)), f32)]


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
