"""The weight table: tensors that live beside the IR, not in it.

100 MB of weights as a dense attribute take 11 s and 2 GB to print, so `glow.constant
@name` refers to an entry of the table that the module carries in its attribute
`glow.weights`. On disk the table is a safetensors file beside the `.mlir` file, which is
named with the digest of its content where this compiler wrote it.

    builtin.module attributes {glow.weights = #glow.weights<"in.mlir.safetensors", "d09f...">}
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyDenseElement,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IntegerType,
    ModuleOp,
    SymbolRefAttr,
    TensorType,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from glow.dialects.attributes import is_splat
from glow.dialects.errors import GlowError
from glow.dialects.glow.state import VariableBase
from glow.dialects.glow.storage import ConstantOp, SplatOp
from glow.dialects.nibbles import unpack_nibbles
from glow.dialects.node import element_of, node_name, shape_of, tensor_type
from glow.dialects.quantized import (
    constant_type,
    is_packed,
    is_quantized,
    parameters_of,
)
from glow.dialects.small_types import is_small
from glow.dialects.weight_table import (
    Array,
    DeferredArray,
    WeightsAttr,
    WeightTable,
    dtype_of,
    element_type_of,
)

ATTRIBUTE = "glow.weights"

HOLDERS = ("glow.constant", "glow.variable", "instr.weight", "instr.variable")
"""The operations whose `value` may name an entry of the table, at their levels."""


WHOLE_BYTES = {
    name: np.dtype(np.uint8 if name.startswith("u") else np.int8)
    for name in ("int4", "uint4", "int2", "uint2")
}
"""Integers of storage to those that attributes hold: their sign fills the byte."""


def module_of(op: Operation) -> ModuleOp:
    """The module that holds an operation."""
    top = op
    while (parent := top.parent_op()) is not None:
        top = parent
    if not isinstance(top, ModuleOp):
        raise GlowError(f"{op.name} is not inside a module")
    return top


def weights_of(op: Operation) -> WeightTable:
    """The weight table of the module that is or holds `op`, created when absent."""
    module = module_of(op)
    attribute = module.attributes.get(ATTRIBUTE)
    if not isinstance(attribute, WeightsAttr):
        attribute = WeightsAttr(WeightTable())
        module.attributes[ATTRIBUTE] = attribute
    return attribute.data


def clone_module(module: ModuleOp) -> ModuleOp:
    """A copy of a module with a weight table of its own; arrays are shared."""
    clone = module.clone()
    clone.attributes[ATTRIBUTE] = WeightsAttr(weights_of(module).copy())
    return clone


def dense_to_numpy(attribute: DenseIntOrFPElementsAttr) -> Array:
    """The value of a dense attribute as an array (read-only where it is a view)."""
    shape = attribute.get_shape()
    element_type = attribute.get_element_type()
    dtype = dtype_of(element_type)
    count = prod(shape)
    if dtype == np.bool_:
        values = np.array(attribute.get_values(), dtype=dtype)
    else:
        whole = WHOLE_BYTES.get(dtype.name, dtype)
        values = np.frombuffer(attribute.data.data, whole).astype(dtype, copy=False)
        if count > 1 and is_splat(attribute):
            values = values[:1]
    if values.size == 1:
        values = np.broadcast_to(values, (count,))
    return values.reshape(shape)


def numpy_to_dense(array: Array) -> DenseIntOrFPElementsAttr:
    """A dense attribute of an array's value."""
    result_type = tensor_type(array.shape, element_type_of(array.dtype))
    if array.dtype == np.bool_:
        values = [int(value) for value in array.ravel().tolist()]
        boolean_type = cast("TensorType[IntegerType]", result_type)
        return DenseIntOrFPElementsAttr.from_list(boolean_type, values)
    whole = array.astype(WHOLE_BYTES.get(array.dtype.name, array.dtype), copy=False)
    return DenseIntOrFPElementsAttr(
        cast("TensorType[AnyDenseElement]", result_type),
        BytesAttr(np.ascontiguousarray(whole).tobytes()),
    )


def constant_value(value: SSAValue) -> Array | None:
    """The numbers of a constant or splat value, or None when it is computed.

    None for a constant of quantized elements too: what it stores are no numbers of the
    network (`stored_value` has them). Splats come back as broadcast views, so they cost
    no memory.
    """
    return None if is_quantized(value.type) else stored_value(value)


def stored_value(value: SSAValue) -> Array | None:
    """The array of a constant or splat value, or None when it is computed.

    Of quantized elements it is the stored integers; packed ones are unpacked.
    """
    owner = value.owner
    if isinstance(owner, SplatOp):
        number = np.array(owner.number, dtype=dtype_of(element_of(owner.result)))
        return np.broadcast_to(number, shape_of(owner.result))
    if not isinstance(owner, ConstantOp):
        return None
    array, result = held_value(owner), owner.result.type
    if not is_quantized(result) or not is_packed(result):
        return array
    signed = parameters_of(result).signed
    return unpack_nibbles(array, result.get_shape()[-1], signed=signed)


def held_value(owner: ConstantOp) -> Array:
    """The array that a constant holds."""
    name = owner.weight_name
    if name is None:
        attribute = owner.value
        assert isinstance(attribute, DenseIntOrFPElementsAttr)
        return dense_to_numpy(attribute)
    try:
        array = weights_of(owner)[name]
    except GlowError as error:
        raise GlowError(error.message, node=node_name(owner)) from None
    array = as_held(array, owner.result.type)
    check_held(name, array, owner.result.type)
    return array


def initial_value(owner: VariableBase) -> Array:
    """A new array of the value that a variable has before the first call."""
    held = owner.results[0].type
    dtype, shape = dtype_of(element_of(held)), shape_of(held)
    value, name = owner.properties.get("value"), owner.weight_name
    if value is None:
        return np.zeros(shape, dtype)
    if name is None:
        assert isa(value, DenseIntOrFPElementsAttr)
        return np.array(dense_to_numpy(value))
    array = as_held(weights_of(owner)[name], held)
    check_held(name, array, held)
    return np.array(array, order="C")


def as_held(array: Array, program: Attribute) -> Array:
    """A weight that a file holds as bytes, in the type of storage that a program says."""
    element = element_of(held_type(program))
    return array.view(dtype_of(element)) if is_small(element) else array


def held_type(program: Attribute) -> Attribute:
    """The type of the array of a weight that has a tensor or memref type."""
    if not is_quantized(program):
        return program
    return constant_type(cast("TensorType[Attribute]", program))


def check_held(name: str, array: Array | DeferredArray, program: Attribute) -> None:
    """Raise GlowError unless a weight is what a tensor or memref type says."""
    held = held_type(program)
    shape, dtype = shape_of(held), dtype_of(element_of(held))
    if array.shape != shape or array.dtype != dtype:
        raise GlowError(
            f"weight '{name}' is {array.dtype}{list(array.shape)}, the program says "
            f"{program}"
        )


def new_constant(
    table: WeightTable, array: Array | DeferredArray, name_hint: str
) -> ConstantOp | SplatOp:
    """A constant op of an array: inline when small, else a new entry of the table."""
    result_type = tensor_type(array.shape, element_type_of(array.dtype))
    if not table.takes(array.size):
        value = array.array() if isinstance(array, DeferredArray) else array
        return ConstantOp.build_node([], [result_type], value=numpy_to_dense(value))
    name = table.unique_name(name_hint)
    if isinstance(array, DeferredArray):
        table.defer(name, array)
    else:
        table[name] = array
    op = ConstantOp.from_name(name, result_type)
    op.result.name_hint = name if SSAValue.is_valid_name(name) else None
    return op


def references(module: ModuleOp) -> Iterator[tuple[Operation, str]]:
    """The operations that name an entry of the table, each with the name."""
    for op in module.walk():
        if op.name in HOLDERS:
            value = op.properties.get("value")
            if isinstance(value, SymbolRefAttr):
                yield op, value.string_value()


def used_weights(module: ModuleOp) -> set[str]:
    """The names of the table's entries that the module uses."""
    return {name for _, name in references(module)}


def free_unused_weights(module: ModuleOp) -> None:
    """Drop the table's entries that no operation refers to any more."""
    table = weights_of(module)
    for name in set(table) - used_weights(module):
        del table[name]
