"""The names, shapes and dtypes that a function's types and attributes tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, Block, Region
from xdsl.utils.hints import isa

from glow.dialects.attributes import AttributeValue
from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import INPUT_COUNT, INPUT_NAMES, OUTPUT_NAMES
from glow.dialects.locations import place_of
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.dialects.quantized import is_quantized
from glow.dialects.weight_table import dtype_of
from glow.tensor_info import Signature, TensorInfo


def program_of(
    node: type[NodeOp],
    types: Sequence[TensorType[Attribute]],
    attributes: Mapping[str, AttributeValue],
) -> ModuleOp:
    """A program that is one node of its inputs, which have some types."""
    block = Block(arg_types=types)
    made = node.build_node(block.args, **cast("dict[str, Any]", dict(attributes)))
    block.add_ops([made, func.ReturnOp(*made.results)])
    signature = types, made.result_types
    return ModuleOp([func.FuncOp("main", signature, Region(block))])


def main_function(module: ModuleOp) -> func.FuncOp:
    """The function that is compiled: `main`, or the only one with a body."""
    functions = [
        op for op in module.ops if isinstance(op, func.FuncOp) and op.body.blocks
    ]
    named = [op for op in functions if op.sym_name.data == "main"]
    if not named and len(functions) != 1:
        raise GlowError("the module needs a function 'main'")
    return (named or functions)[0]


def signature_of(function: func.FuncOp) -> Signature:
    """The signature of a function, with the names of the imported network.

    On buffers, the arguments behind the inputs are the outputs.
    """
    inputs = list(function.function_type.inputs)
    outputs = list(function.function_type.outputs)
    if any(isinstance(argument, MemRefType) for argument in inputs):
        count = input_count(function)
        inputs, outputs = inputs[:count], inputs[count:]
    return Signature(
        _infos(function, inputs, _names(function, INPUT_NAMES), "input"),
        _infos(function, outputs, _names(function, OUTPUT_NAMES), "output"),
    )


def _names(function: func.FuncOp, attribute: str) -> list[str]:
    names = function.attributes.get(attribute)
    if isa(names, ArrayAttr):
        return [cast(StringAttr, name).data for name in names.data]
    if attribute == INPUT_NAMES:
        return [argument.name_hint or "" for argument in function.body.block.args]
    return []


def _infos(
    function: func.FuncOp,
    types: Sequence[Attribute],
    names: Sequence[str],
    fallback: str,
) -> tuple[TensorInfo, ...]:
    infos: list[TensorInfo] = []
    for number, tensor in enumerate(types):
        if not (isa(tensor, TensorType) or isa(tensor, MemRefType)):
            raise GlowError(
                f"{fallback} {number} has type {tensor}, not a tensor",
                location=place_of(function),
            )
        name = names[number] if number < len(names) else ""
        dtype, shape = dtype_of(element_of(tensor)), shape_of(tensor)
        infos.append(TensorInfo(name or f"{fallback}{number}", shape, dtype))
    return tuple(infos)


def input_count(function: func.FuncOp) -> int:
    """The number of inputs of a function on buffers; raises GlowError if it is unknown."""
    count = function.attributes.get(INPUT_COUNT)
    known = count.value.data if isinstance(count, IntegerAttr) else -1
    if not 0 <= known <= len(function.function_type.inputs):
        raise GlowError(
            f"@{function.sym_name.data} does not say how many of its arguments are inputs",
            hint=f"{INPUT_COUNT} = 1 : i64, for one",
        )
    return known


def buffer_infos(
    function: func.FuncOp,
) -> list[tuple[tuple[int, ...], np.dtype[np.generic]]]:
    """The shape and dtype of each argument of a function on buffers."""
    infos: list[tuple[tuple[int, ...], np.dtype[np.generic]]] = []
    for argument in function.body.block.args:
        infos.append((shape_of(argument), dtype_of(element_of(argument))))
    return infos


def check_interfaces(module: ModuleOp) -> None:
    """Raise GlowError where a function takes or returns quantized elements.

    Those are stored integers between nodes; callers have floats, or plain integers.
    """
    for function in module.ops:
        if not isinstance(function, func.FuncOp):
            continue
        types = function.function_type
        for shaped in (*types.inputs, *types.outputs):
            if is_quantized(shaped):
                raise GlowError(
                    f"@{function.sym_name.data} takes or returns {shaped}, which no "
                    "compiled program does",
                    location=place_of(function),
                    hint="cast from floats and to floats inside, with quant.qcast and "
                    "quant.dcast",
                )
