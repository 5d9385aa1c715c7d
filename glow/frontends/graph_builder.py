"""What conversions of other projects' operations into nodes are written with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects.attributes import AttributeValue
from glow.dialects.errors import GlowError
from glow.dialects.glow import (
    ConcatOp,
    ConstantOp,
    ConvertOp,
    MaxOp,
    MinOp,
    NotEqualOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    SplatOp,
    TransposeOp,
)
from glow.dialects.node import NodeOp, element_of, shape_of, tensor_type
from glow.dialects.weight_table import Array, dtype_of, element_type_of
from glow.dialects.weights import constant_value
from glow.passes.rewriting.node_builder import NodeBuilder

BUDGET = 2**24
"""The largest number of elements of a constant that is computed here."""


class GraphBuilder(NodeBuilder):
    """Makes the nodes that take the place of one operation."""

    def __init__(self, anchor: Operation) -> None:
        super().__init__(anchor)
        self.made: list[NodeOp] = []
        """The nodes so far."""

    def insert(self, op: Operation) -> Operation:
        """The operation, placed before the anchor."""
        if isinstance(op, NodeOp):
            self.made.append(op)
        return super().insert(op)

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The value under another shape, made from what was reshaped before."""
        owner = value.owner
        if isinstance(owner, ReshapeOp):
            value = owner.input
        return super().reshape(value, shape)

    @property
    def result(self) -> TensorType[Attribute]:
        """The type of the first result; GlowError where sizes are open."""
        return static_type(self.anchor.results[0])

    def known(self, value: SSAValue) -> Array | None:
        """The array of a constant."""
        owner = value.owner
        if isinstance(owner, SplatOp):
            dtype = dtype_of(element_of(value))
            return np.broadcast_to(np.array(owner.number, dtype), shape_of(value))
        if isinstance(owner, ReshapeOp):
            array = self.known(owner.input)
            return None if array is None else array.reshape(shape_of(value))
        if isinstance(owner, TransposeOp):
            array, order = self.known(owner.input), owner.attributes_view()
            return None if array is None else array.transpose(order.ints("permutation"))
        return constant_value(value) if isinstance(owner, ConstantOp) else None

    def known_number(self, value: SSAValue, what: str) -> float:
        """The number that all elements of a constant are; GlowError for anything else."""
        array = self.known(value)
        if array is None or not array.size or (array != array.flat[0]).any():
            raise GlowError(f"{what} must be a constant number")
        return array.flat[0].item()

    def put(self, array: Array, name: str = "constant") -> SSAValue:
        """A constant, or a splat where all elements are one number."""
        if array.dtype != np.bool_ and (array.size <= 1 or not any(array.strides)):
            number = array.flat[0].item() if array.size else 0
            element = element_type_of(array.dtype)
            op = SplatOp.from_number(number, tensor_type(array.shape, element))
            return self.insert(op).results[0]
        contiguous = np.ascontiguousarray(array).reshape(array.shape)
        return self.constant(contiguous, name)

    def typed(
        self,
        op_class: type[NodeOp],
        operands: Sequence[SSAValue],
        shape: Sequence[int],
        **attributes: AttributeValue,
    ) -> SSAValue:
        """A node with elements of the result's type, quantized ones among them."""
        types = [tensor_type(shape, self.result.element_type)]
        node = self.create(op_class, operands, attributes, types=types)
        assert isinstance(node.owner, Operation)
        node.owner.verify_()
        return node

    def number(self, number: float, like: SSAValue) -> SSAValue:
        """A number of rank 0 with the element type of a value."""
        return self.splat(number, element_of(like))

    def convert(self, value: SSAValue, element: Attribute) -> SSAValue:
        """The value with other elements; what is not 0 is true."""
        if element_of(value) == element:
            return value
        wanted = tensor_type(shape_of(value), element)
        if is_boolean(element):
            return self.node(NotEqualOp, value, self.number(0, value))
        return self.create(ConvertOp, [value], {}, types=[wanted])

    def slice(
        self,
        value: SSAValue,
        starts: Sequence[int],
        sizes: Sequence[int],
        steps: Sequence[int],
    ) -> SSAValue:
        """Every `steps`-th element from the starts on; the value itself if that is all."""
        if list(sizes) == list(shape_of(value)) and set(steps) <= {1}:
            return value
        return self.node(
            SliceOp, value, starts=list(starts), sizes=list(sizes), steps=list(steps)
        )

    def pad(
        self,
        value: SSAValue,
        low: Sequence[int],
        high: Sequence[int],
        number: float = 0.0,
    ) -> SSAValue:
        """The value with a border, which is negative where it is cropped."""
        if not any((*low, *high)):
            return value
        with np.errstate(over="ignore"):
            is_exact = number != number or float(np.float32(number)) == number
        if is_exact:
            return self.node(PadOp, value, pads=[*low, *high], value=float(number))
        crop = [min(one, 0) for one in (*low, *high)]
        if any(crop):
            value = self.node(PadOp, value, pads=crop, value=0.0)
        for axis, (before, behind) in enumerate(zip(low, high, strict=True)):
            value = self._framed(value, axis, (before, behind), number)
        return value

    def _framed(
        self, value: SSAValue, axis: int, counts: tuple[int, int], number: float
    ) -> SSAValue:
        """A border that `glow.pad`, whose number is an f32, cannot make: concatenated."""
        parts = [value]
        for at, count in zip((0, 2), counts, strict=True):
            if count > 0:
                shape = list(shape_of(value))
                shape[axis] = count
                border = tensor_type(shape, element_of(value))
                splat = self.insert(SplatOp.from_number(number, border)).results[0]
                parts.insert(at, splat)
        return parts[0] if len(parts) == 1 else self.node(ConcatOp, *parts, axis=axis)

    def dilate(
        self, value: SSAValue, gaps: Sequence[int], number: float = 0.0
    ) -> SSAValue:
        """The value with so many numbers between the elements of each axis."""
        for axis, gap in enumerate(gaps):
            shape = list(shape_of(value))
            if gap == 0 or shape[axis] <= 1:
                continue
            apart = self.reshape(value, [*shape[: axis + 1], 1, *shape[axis + 1 :]])
            low, high = [0] * (len(shape) + 1), [0] * (len(shape) + 1)
            high[axis + 1] = gap
            apart = self.pad(apart, low, high, number)
            size = shape[axis] * (gap + 1)
            value = self.reshape(apart, [*shape[:axis], size, *shape[axis + 1 :]])
            sizes = list(shape_of(value))
            sizes[axis] -= gap
            value = self.slice(value, [0] * len(sizes), sizes, [1] * len(sizes))
        return value

    def clamp(self, value: SSAValue, low: int, high: int) -> SSAValue:
        """Integers between two numbers, computed here where they are known."""
        array = self.known(value)
        if array is not None:
            clipped = np.clip(array, low, high).astype(array.dtype)
            return self.put(np.ascontiguousarray(clipped).reshape(array.shape))
        raised = self.node(MaxOp, value, self.number(low, value))
        return self.node(MinOp, raised, self.number(high, value))


def static_type(value: SSAValue) -> TensorType[Attribute]:
    """The tensor type of a value; GlowError where sizes are open or it is none."""
    found = value.type
    if not isinstance(found, TensorType):
        raise GlowError(f"a value of type {found}, not a tensor")
    tensor = cast("TensorType[Attribute]", found)
    if min(tensor.get_shape(), default=0) < 0:
        raise GlowError(
            f"{tensor} has open sizes",
            hint="export the program for sizes that are known",
        )
    return tensor


def is_boolean(element: Attribute) -> bool:
    """Whether elements are truth values."""
    return element == i1
