"""A node computed in a wider element type, between conversions to it and back."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import TensorType, i1, i64
from xdsl.ir import Attribute, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, Types, element_of, shape_of, tensor_type
from glow.dialects.weights import constant_value, dtype_of
from glow.lowering.type_guards import is_integer
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of, name_of

PRODUCTS = (glow.Conv2dOp, glow.MatmulOp, glow.FullyConnectedOp, glow.GemmOp)
"""Those of integers saturate."""


def bits(element: Attribute) -> int:
    """The width of an integer type; 0 of booleans and everything else."""
    if is_integer(element) and element != i1:
        return 8 * dtype_of(element).itemsize
    return 0


def compute_in(op: NodeOp, element: Attribute, wide: Attribute) -> None:
    """Replace a node by one on another element type, and give results in the one that there was."""
    builder = NodeBuilder(op)
    inputs = {
        value: converted(builder, value, element, wide)
        for value in dict.fromkeys(op.inputs)
    }
    new = type(op).build_node(
        [inputs[value] for value in op.inputs],
        cast(Types, [_with_element(r.type, element, wide) for r in op.results]),
        predicate=op.predicate,
        **attributes_of(op),  # pyright: ignore[reportArgumentType]
    )
    builder.insert(new)
    saturates = type(op) in PRODUCTS and wide == i64
    builder.replace(
        *(
            _back(builder, value, cast(TensorType[Attribute], old.type), saturates)
            for value, old in zip(new.results, op.results, strict=True)
        )
    )


def _with_element(type_: Attribute, old: Attribute, new: Attribute) -> Attribute:
    same = element_of(type_) == old
    return tensor_type(shape_of(type_), new) if same else type_


def converted(
    builder: NodeBuilder, value: SSAValue, old: Attribute, new: Attribute
) -> SSAValue:
    """An operand in the wider type; constants are converted here."""
    element = element_of(value)
    if element == new or (element != old and is_integer(element)):
        return value
    array = constant_value(value)
    if array is not None:
        wide = array.astype(dtype_of(new))
        return builder.constant(wide, f"{name_of(value)}.{new}")
    return convert(builder, value, new)


def convert(builder: NodeBuilder, value: SSAValue, element: Attribute) -> SSAValue:
    wanted = tensor_type(shape_of(value), element)
    return builder.create(glow.ConvertOp, [value], {}, types=[wanted])


def _back(
    builder: NodeBuilder,
    value: SSAValue,
    wanted: TensorType[Attribute],
    saturates: bool,
) -> SSAValue:
    """A result in the node's own type."""
    element = wanted.element_type
    if element_of(value) == element:
        return value
    if saturates:
        width = bits(element)
        unsigned = dtype_of(element).kind == "u"
        low = 0.0 if unsigned else -(2.0 ** (width - 1))
        high = low + 2.0**width - 1
        value = builder.node(glow.ClipOp, value, low=low, high=high)
    return convert(builder, value, element)
