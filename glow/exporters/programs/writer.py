"""The function under construction: operations of a foreign dialect, and which value is which."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar, TypeAlias, TypeVar, cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyDenseElement,
    DenseIntOrFPElementsAttr,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from glow.dialects.node import NodeOp, element_of, shape_of, tensor_type
from glow.dialects.weight_table import Array, dtype_of, element_type_of
from glow.dialects.weights import numpy_to_dense
from glow.exporters.programs.operations import operation
from glow.exporters.programs.weights import Weights

INLINE_ELEMENTS = 64
"""Constants of so many elements are spelled in the text."""


class ProgramWriter:
    """Appends operations to blocks, and remembers what each value became."""

    CONSTANT: ClassVar[str]
    """The dialect's operation of constants."""

    VALUE: ClassVar[str] = "value"
    """The attribute that it has the value in."""

    def __init__(self, weights: str, is_fast: bool = False) -> None:
        self.is_fast = is_fast
        """Whether results may differ, `numerics="fast"`, for a simpler program."""
        self.entry = self.block = Block()
        self.weights = Weights(weights, self.entry, (self.CONSTANT, self.VALUE))
        self._values: dict[SSAValue, SSAValue] = {}

    # Values

    def type_of(self, kind: Attribute) -> Attribute:
        """What a type is called in the dialect."""
        return kind

    def bind(self, value: SSAValue, new: SSAValue) -> None:
        """Say what a value became."""
        self._values[value] = new
        if new.name_hint is None:
            new.name_hint = value.name_hint

    def value(self, value: SSAValue) -> SSAValue:
        """What a value became."""
        return self._values[value]

    def values(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """What values became."""
        return [self._values[value] for value in values]

    def has(self, values: Sequence[SSAValue]) -> bool:
        """Whether values became something."""
        return all(value in self._values for value in values)

    # Operations

    def append(self, op: Operation) -> Operation:
        """The operation, behind those that are there."""
        self.block.add_op(op)
        return op

    def emit(
        self,
        name: str,
        operands: Sequence[SSAValue],
        types: Sequence[Attribute],
        properties: Mapping[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
    ) -> SSAValue:
        """The first result of a new operation."""
        op = self.append(operation(name, operands, types, properties, regions))
        return op.results[0]

    @contextmanager
    def inside(self, block: Block) -> Generator[Block]:
        """Append to another block."""
        outer, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = outer

    # Constants

    def splat(
        self, number: float, shape: Sequence[int], element: Attribute
    ) -> SSAValue:
        """A constant whose elements are one number."""
        array = np.broadcast_to(np.array(number).astype(dtype_of(element)), shape)
        return self.constant(array)

    def array(self, array: Array, hint: str = "constant") -> SSAValue:
        """A constant: spelled where it is small or one number, else a weight."""
        if array.size <= INLINE_ELEMENTS or not any(array.strides):
            return self.constant(array)
        if array.dtype == np.bool_:
            # Compilers do not agree on how a resource holds bits.
            stored = self.weights.read(array.astype(np.int8), hint)
            return self.as_boolean(stored)
        return self.weights.read(array, hint)

    def as_boolean(self, value: SSAValue) -> SSAValue:
        """Bytes as truth values."""
        raise NotImplementedError

    def constant(self, array: Array) -> SSAValue:
        """A constant that is spelled in the text."""
        held = tensor_type(array.shape, element_type_of(array.dtype))
        return self.emit(self.CONSTANT, [], [held], {self.VALUE: spelled(array)})

    def finish(self) -> Block:
        """The entry block, which reads the weights first."""
        first = self.entry.first_op
        for op in self.weights.loads:
            if first is None:
                self.entry.add_op(op)
            else:
                self.entry.insert_op_before(op, first)
        return self.entry


def spelled(array: Array) -> DenseIntOrFPElementsAttr:
    """The array as an attribute; a splat where all elements are one number."""
    if array.size and not any(array.strides) and array.ndim:
        one = numpy_to_dense(array.reshape(-1)[:1].copy())
        held = tensor_type(array.shape, element_type_of(array.dtype))
        return DenseIntOrFPElementsAttr(
            cast("TensorType[AnyDenseElement]", held), one.data
        )
    return numpy_to_dense(array)


def is_boolean(value: SSAValue) -> bool:
    """Whether a tensor has truth values."""
    return element_of(value) == i1


def type_like(
    value: SSAValue,
    shape: Sequence[int] | None = None,
    element: Attribute | None = None,
) -> TensorType[Attribute]:
    """The type of a value, with another shape or other elements."""
    return tensor_type(
        shape_of(value) if shape is None else shape,
        element_of(value) if element is None else element,
    )


def result_type(op: NodeOp) -> TensorType[Attribute]:
    """The type of a node's first result."""
    return cast("TensorType[Attribute]", op.results[0].type)


W = TypeVar("W", bound=ProgramWriter)

Handler: TypeAlias = (
    "Callable[[W, NodeOp, Sequence[SSAValue]], SSAValue | Sequence[SSAValue]]"
)
"""Appends what a node becomes, from what its operands became."""

Control: TypeAlias = "Callable[[W, Operation, Callable[[Block], None]], None]"
"""Appends what an operation with regions becomes; is given what writes a block of them."""
