"""The network that is trained: its graph for a batch size, with its weights as variables.

Parameters are the stored tensors of an ONNX model, and the weights of a graph in text. The model
is read with them as inputs, so that nothing is computed of their values, and the inputs become
variables under the same names. Numbers that a model has in `Constant` nodes, and those that choose
what an operator does (the scales of `Resize`), stay as they are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from glow.backends.levels import level_of
from glow.compiler import load
from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import INPUT_NAMES
from glow.dialects.glow.state import VariableOp
from glow.dialects.weight_table import Array
from glow.dialects.weights import weights_of
from glow.frontends.kinds import is_text
from glow.frontends.onnx.graph import sanitized
from glow.options import CompileOptions
from glow.passes.graph.convert_constants_to_variables import convert
from glow.passes.graph.training_mode import remove_dropouts
from glow.signature import main_function, signature_of

if TYPE_CHECKING:
    import onnx

    from glow.compiler import Model

FLOATS = (1, 11)
"""ONNX's numbers of f32 and f64."""

CHOICES = (
    "DequantizeLinear", "Dropout", "QuantizeLinear", "Range", "Resize", "Upsample",
)  # fmt: skip
"""Operators whose second and later inputs choose what they do."""


class Network:
    """A model as it was given, from which graphs of any batch size are made."""

    def __init__(self, model: Model) -> None:
        """Raises GlowError for what is no network."""
        self.proto: onnx.ModelProto | None = None
        self.module: ModuleOp | None = None
        if isinstance(model, ModuleOp) or is_text(model):
            self.module = load(model)
            if level_of(self.module) is not None:
                raise GlowError(
                    f"a program of the level {level_of(self.module)} cannot be trained",
                    hint="train the graph that it was made from",
                )
        else:
            self.proto = read_proto(model)

    def graph(
        self, batch_size: int | None, options: CompileOptions, training: bool = False
    ) -> ModuleOp:
        """The graph for a batch; raises GlowError where a size stays open.

        Dropouts are in it for `training` only.
        """
        if self.proto is None:
            assert self.module is not None
            module = load(self.module, options)
            convert(main_function(module))
        else:
            proto = copy_of(self.proto)
            if batch_size is not None:
                set_batch_size(proto, batch_size, options.input_shapes or {})
            values = take_parameters(proto)
            module = load(proto, options, training=True)
            make_variables(main_function(module), values)
        if not training:
            remove_dropouts(main_function(module))
        check_batch(main_function(module), batch_size)
        return module


def read_proto(model: Model) -> onnx.ModelProto:
    """The ONNX model of a file, of bytes, or a copy of one; raises GlowError."""
    import onnx
    from google.protobuf.message import DecodeError

    if isinstance(model, onnx.ModelProto):
        return copy_of(model)
    try:
        if isinstance(model, bytes):
            return onnx.load_model_from_string(model)
        path = os.fspath(cast("str | os.PathLike[str]", model))
        return onnx.load(path)  # pyright: ignore[reportUnknownMemberType]
    except DecodeError:
        what = "it" if isinstance(model, bytes) else f"'{model}'"
        raise GlowError(f"{what} is not an ONNX model") from None
    except OSError as error:
        raise GlowError(f"{model}: {error.strerror or error}") from None


def copy_of(proto: onnx.ModelProto) -> onnx.ModelProto:
    """A copy that can be changed."""
    copy = type(proto)()
    copy.CopyFrom(proto)
    return copy


def set_batch_size(
    proto: onnx.ModelProto, size: int, given: Mapping[str, object]
) -> None:
    """Change the first size of a model's inputs where that is 1 or open."""
    graph = proto.graph
    stored = {tensor.name for tensor in graph.initializer}
    for info in graph.input:
        shape = info.type.tensor_type.shape
        if info.name in stored or info.name in given or not shape.dim:
            continue
        first = shape.dim[0]
        if not first.HasField("dim_value") or first.dim_value in (-1, 0, 1):
            first.dim_value = size
    del graph.value_info[:]
    for info in graph.output:
        info.type.tensor_type.ClearField("shape")


def take_parameters(proto: onnx.ModelProto) -> dict[str, Array]:
    """Make inputs of the parameters that a model stores; their values by name."""
    from onnx import helper, numpy_helper

    graph, values = proto.graph, dict[str, Array]()
    stored = list(graph.initializer)
    choosing = {
        name
        for node in graph.node
        if node.op_type in CHOICES
        for name in node.input[1:]
    }
    declared = {info.name for info in graph.input}
    del graph.initializer[:]
    for tensor in stored:
        if is_parameter(tensor) and tensor.name not in choosing:
            values[tensor.name] = numpy_helper.to_array(tensor)
            if tensor.name not in declared:
                graph.input.append(
                    helper.make_tensor_value_info(
                        tensor.name, tensor.data_type, list(tensor.dims)
                    )
                )
        else:
            graph.initializer.append(tensor)
    return values


def is_parameter(tensor: onnx.TensorProto) -> bool:
    """Whether a stored tensor is one of floats with an axis, as weights are."""
    return tensor.data_type in FLOATS and len(tensor.dims) > 0


def make_variables(function: FuncOp, values: Mapping[str, Array]) -> None:
    """Turn arguments into variables of those initial values, under the same names."""
    block, table = function.body.block, weights_of(function)
    names = [info.name for info in signature_of(function).inputs]
    first = block.first_op
    assert first is not None
    for argument, name in zip(list(block.args), names, strict=True):
        if name not in values:
            continue
        entry = sanitized(name)
        if entry in table:
            raise GlowError(f"two parameters are called '{entry}'")
        table[entry] = np.ascontiguousarray(values[name])
        held = cast("TensorType[Attribute]", argument.type)
        variable = VariableOp.of(entry, held, SymbolRefAttr(entry))
        block.insert_op_before(variable, first)
        argument.replace_all_uses_with(variable.result)
        block.erase_arg(argument)
    keep_inputs(function, [name for name in names if name not in values])


def keep_inputs(function: FuncOp, names: Sequence[str]) -> None:
    """Let a function's type and names follow the arguments that are left."""
    function.attributes[INPUT_NAMES] = ArrayAttr([StringAttr(name) for name in names])
    function.update_function_type()


def check_batch(function: FuncOp, size: int | None) -> None:
    """Raise GlowError unless all inputs with axes are a batch of that size."""
    for info in signature_of(function).inputs:
        if size is not None and info.shape and info.shape[0] != size:
            raise GlowError(
                f"input '{info.name}' has shape {list(info.shape)}, not a batch of {size}",
                hint="give it batches of its own size, or a model that leaves it open",
            )
