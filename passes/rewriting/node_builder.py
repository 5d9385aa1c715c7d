"""How passes replace nodes: new ones take the place, the location and the name hints.

xDSL's rewriters lose locations, and with them the network's node names that error
messages and profiles show. Every pass on the graph therefore builds its nodes here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, Region, SSAValue

from glow.dialects.attributes import AttributeValue
from glow.dialects.glow import (
    ConstantOp,
    ReshapeOp,
    SplatOp,
    TransposeOp,
)
from glow.dialects.nibbles import pack_nibbles
from glow.dialects.node import NodeOp, Types, node_name, shape_of, tensor_type
from glow.dialects.quant import Quantization, UniformQuantizedType, quantization_of
from glow.dialects.quantized import is_packed
from glow.dialects.weights import Array, new_constant, numpy_to_dense, weights_of
from glow.passes.rewriting.operations import all_operations
from glow.passes.rewriting.trace import counted


class NodeBuilder:
    """Inserts nodes before `anchor`, under its location, and finally replaces it."""

    def __init__(self, anchor: Operation) -> None:
        self.anchor = anchor
        self.location = anchor.location

    def insert(self, op: Operation) -> Operation:
        """The operation, placed before the anchor."""
        block = self.anchor.parent
        assert block is not None
        op.location = self.location
        block.insert_op_before(op, self.anchor)
        return op

    def node(
        self, op_class: type[NodeOp], *operands: SSAValue, **attributes: AttributeValue
    ) -> SSAValue:
        """The first result of a new node of inferred type, which no quantized one has
        (`NodeOp.check_inferred`).
        """
        return self.create(op_class, operands, attributes)

    def create(
        self,
        op_class: type[NodeOp],
        operands: Sequence[SSAValue],
        attributes: Mapping[str, AttributeValue],
        *,
        types: Types | None = None,
        regions: Sequence[Region] = (),
    ) -> SSAValue:
        """The first result of a new node; its types are inferred unless given."""
        op = op_class.build_node(
            operands,
            types,
            regions=regions,
            **attributes,  # pyright: ignore[reportArgumentType]
        )
        return self.insert(op).results[0]

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The value under another shape; itself when it has that shape."""
        if shape_of(value) == tuple(shape):
            return value
        return self.create(ReshapeOp, [value], {}, types=[like(value, shape)])

    def transpose(self, value: SSAValue, permutation: Sequence[int]) -> SSAValue:
        """The value with permuted axes; itself under the identity."""
        if list(permutation) == list(range(len(permutation))):
            return value
        return self.node(TransposeOp, value, permutation=list(permutation))

    def constant(self, array: Array, name: str) -> SSAValue:
        """A constant; `name` is the weight table's entry if it is not small."""
        op = new_constant(weights_of(self.anchor), array, name)
        return self.insert(op).results[0]

    def splat(self, number: float, element_type: Attribute) -> SSAValue:
        """One number of rank 0, which broadcasts to anything."""
        op = SplatOp.from_number(number, tensor_type((), element_type))
        return self.insert(op).results[0]

    def constant_like(self, value: SSAValue, array: Array, name: str) -> SSAValue:
        """A constant of moved elements of another one, whose quantization it has.

        `array` holds stored integers where `value` is quantized.
        """
        quantization = quantization_of(value.type)
        if quantization is None:
            return self.constant(array, name)
        return self.quantized_constant(array, quantization, name)

    def quantized_constant(
        self, stored: Array, data: Quantization, name: str
    ) -> SSAValue:
        """A constant of quantized elements from its stored integers."""
        result_type = tensor_type(stored.shape, UniformQuantizedType(data))
        held = pack_nibbles(stored) if is_packed(result_type) else stored
        table = weights_of(self.anchor)
        if not table.takes(held.size):
            op = ConstantOp.build_node([], [result_type], value=numpy_to_dense(held))
        else:
            entry = table.unique_name(name)
            table[entry] = np.ascontiguousarray(held)
            op = ConstantOp.from_name(entry, result_type)
        return self.insert(op).results[0]

    def substitute(
        self,
        op_class: type[NodeOp],
        operands: Sequence[SSAValue],
        attributes: Mapping[str, AttributeValue],
    ) -> SSAValue:
        """A node with the anchor's result types, to take its place."""
        types = cast(Types, self.anchor.result_types)
        return self.create(op_class, operands, attributes, types=types)

    def replace(self, *values: SSAValue) -> None:
        """Put the values in the place of the anchor's results and erase the anchor."""
        for old, new in zip(self.anchor.results, values, strict=True):
            if new.name_hint is None:
                new.name_hint = old.name_hint
            replace_value(old, new)
        erase(self.anchor)


def replace_value(old: SSAValue, new: SSAValue) -> None:
    """Let all that reads a value read another one of the same type.

    Readers would compute with another scale and zero point, or other sizes; a pass that
    does this is wrong, and raises TypeError.
    """
    if old.type != new.type:
        raise TypeError(f"a value of type {new.type} cannot replace one of {old.type}")
    old.replace_all_uses_with(new)


def erase(op: Operation) -> None:
    """Remove an operation whose results have no uses."""
    op.detach()
    op.erase()


def like(value: SSAValue, shape: Sequence[int]) -> TensorType[Attribute]:
    """The tensor type of a shape with the value's element type."""
    return tensor_type(shape, element_type(value))


def element_type(value: SSAValue) -> Attribute:
    """The element type of a tensor value."""
    return cast(TensorType[Attribute], value.type).element_type


def name_of(value: SSAValue) -> str:
    """A name for what is derived from a value: its weight's, its node's or its hint."""
    owner = value.owner
    if isinstance(owner, ConstantOp) and owner.weight_name is not None:
        return owner.weight_name
    if isinstance(owner, Operation) and (name := node_name(owner)) is not None:
        return name
    return value.name_hint or "constant"


def attributes_of(op: NodeOp) -> dict[str, AttributeValue]:
    """The attributes of a node, for building another one like it."""
    return {
        name: op.properties[name]
        for name in op.property_names()
        if name in op.properties
    }


NodeRewrite = Callable[[Operation], None]
"""Rewrites an operation in place, or leaves it."""


def rewrite_nodes(
    module: ModuleOp, table: Mapping[type[Operation], NodeRewrite]
) -> None:
    """One sweep in program order: each operation once, by its class.

    Operations that a rewrite inserts are not visited, erased ones are skipped.
    """
    for op in all_operations(module):
        rewrite = table.get(type(op))
        if rewrite is not None and op.parent is not None:
            counted(rewrite, op)


def erase_dead_nodes(module: ModuleOp) -> None:
    """Erase the nodes that nothing uses, in one reverse sweep."""
    for op in reversed(all_operations(module)):
        if _is_node(type(op)) and not any(result.uses for result in op.results):
            erase(op)


@cache
def _is_node(kind: type[Operation]) -> bool:
    return issubclass(kind, NodeOp)
