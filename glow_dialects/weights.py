"""The weight table: tensors that live beside the IR, not in it.

100 MB of weights as a dense attribute take 11 s and 2 GB to print, so `glow.constant
@name` refers to an entry of the table that the module carries in its attribute
`glow.weights`. On disk the table is a safetensors file beside the `.mlir` file.

    builtin.module attributes {glow.weights = #glow.weights<"in.safetensors">} { ... }
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyDenseElement,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IntegerType,
    ModuleOp,
    TensorType,
)
from xdsl.ir import Operation, SSAValue

from glow.dialects.errors import GlowError
from glow.dialects.glow.storage import MAX_INLINE_ELEMENTS, ConstantOp, SplatOp
from glow.dialects.nibbles import unpack_nibbles
from glow.dialects.node import element_of, node_name, shape_of, tensor_type
from glow.dialects.quantized import (
    constant_type,
    is_packed,
    is_quantized,
    parameters_of,
)
from glow.dialects.weight_table import (
    Array,
    DeferredArray,
    WeightsAttr,
    WeightTable,
    dtype_of,
    element_type_of,
)

ATTRIBUTE = "glow.weights"


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
    count = int(np.prod(shape))
    if dtype == np.bool_ or (count > 1 and attribute.is_splat()):
        values = np.array(attribute.get_values(), dtype=dtype)
        return (
            np.broadcast_to(values, (count,)).reshape(shape)
            if values.size == 1
            else values.reshape(shape)
        )
    return np.frombuffer(attribute.data.data, dtype=dtype).reshape(shape)


def numpy_to_dense(array: Array) -> DenseIntOrFPElementsAttr:
    """A dense attribute of an array's value."""
    result_type = tensor_type(array.shape, element_type_of(array.dtype))
    if array.dtype == np.bool_:
        values = [int(value) for value in array.ravel().tolist()]
        boolean_type = cast("TensorType[IntegerType]", result_type)
        return DenseIntOrFPElementsAttr.from_list(boolean_type, values)
    return DenseIntOrFPElementsAttr(
        cast("TensorType[AnyDenseElement]", result_type),
        BytesAttr(np.ascontiguousarray(array).tobytes()),
    )


def constant_value(value: SSAValue) -> Array | None:
    """The array of a constant or splat value, or None when it is computed.

    Splats come back as broadcast views, so they cost no memory. Packed elements are
    unpacked.
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
    result = owner.result.type
    held = constant_type(result) if is_quantized(result) else result
    if array.shape != held.get_shape():
        raise GlowError(
            f"weight '{name}' has shape {array.shape}, the program says "
            f"{owner.result.type}"
        )
    return array


def new_constant(
    table: WeightTable, array: Array | DeferredArray, name_hint: str
) -> ConstantOp | SplatOp:
    """A constant op of an array: inline when small, else a new entry of the table."""
    result_type = tensor_type(array.shape, element_type_of(array.dtype))
    if array.size <= MAX_INLINE_ELEMENTS // 8:
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


def used_weights(module: ModuleOp) -> set[str]:
    """The names that the module's constants refer to."""
    return {
        name
        for op in module.walk()
        if isinstance(op, ConstantOp) and (name := op.weight_name) is not None
    }


def free_unused_weights(module: ModuleOp) -> None:
    """Drop the table's entries that no constant refers to any more."""
    table = weights_of(module)
    for name in set(table) - used_weights(module):
        del table[name]


def save_weights(module: ModuleOp, path: str | os.PathLike[str]) -> None:
    """Write the used entries to a safetensors file and print under its name from now."""
    from safetensors.numpy import save_file  # pyright: ignore[reportUnknownVariableType]

    table = weights_of(module)
    arrays = {
        name: np.ascontiguousarray(table[name]) for name in sorted(used_weights(module))
    }
    save_file(arrays, path)
    table.file = Path(path).name


def load_weights(module: ModuleOp, path: str | os.PathLike[str]) -> None:
    """Read all entries of a safetensors file into the module's table.

    Raises GlowError when the file is missing, damaged or lacks a name in use.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file  # pyright: ignore[reportUnknownVariableType]

    table = weights_of(module)
    try:
        table.update(load_file(path))
    except FileNotFoundError:
        raise GlowError(f"the weight file '{path}' does not exist") from None
    except (OSError, SafetensorError) as error:
        raise GlowError(f"cannot read the weight file '{path}': {error}") from None
    table.file = Path(path).name
    for name in sorted(used_weights(module)):
        _ = table[name]
