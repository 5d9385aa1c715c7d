"""The standard ONNX backend interface over `glow.compile`.

    import glow.onnx_backend as backend

    prepared = backend.prepare(model)          # an onnx.ModelProto
    outputs = prepared.run([image])

Source: `onnx.backend.base`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from glow.compiler import compile
from glow.dialects.weight_table import Array
from glow.specialized_model import RunnableModel

Inputs = Mapping[str, Array] | Sequence[Array] | Array


class GlowBackendRep(BackendRep):
    """A compiled model behind ONNX's interface."""

    def __init__(self, model: RunnableModel) -> None:
        self.model = model

    def run(self, inputs: Inputs, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs, as a named tuple; `inputs` is a list, a dict or one array."""
        arrays = self._by_name(inputs)
        outputs = self.model.run(arrays)
        return namedtupledict("Outputs", list(outputs))(*outputs.values())

    def _by_name(self, inputs: Inputs) -> dict[str, Array]:
        if isinstance(inputs, Mapping):
            return {str(name): _value(value) for name, value in inputs.items()}
        names = [name_of(info) for info in self.model.inputs]
        arrays = [inputs] if isinstance(inputs, np.ndarray) else list(inputs)
        return dict(zip(names, map(_value, arrays), strict=True))


def name_of(info: object) -> str:
    """The name of an input, which those of a model of sequences are themselves."""
    return str(getattr(info, "name", info))


def _value(value: object) -> Array:
    """An array; lists and None are sequences and optionals."""
    is_tensor = value is not None and not isinstance(value, list)
    return np.asarray(value) if is_tensor else cast(Array, value)


class GlowBackend(Backend):
    """ONNX's backend: `prepare`, `run_model`, `run_node`, `supports_device`."""

    @classmethod
    def is_compatible(
        cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any
    ) -> bool:
        """Whether the device is there; `prepare` says what a model lacks."""
        return cls.supports_device(device)

    @classmethod
    def prepare(
        cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any
    ) -> GlowBackendRep:
        """The compiled model; keyword arguments go to `glow.compile`."""
        onnx.checker.check_model(model)  # pyright: ignore[reportUnknownMemberType]
        return GlowBackendRep(compile(model, **kwargs))

    @classmethod
    def run_model(
        cls, model: onnx.ModelProto, inputs: Inputs, device: str = "CPU", **kwargs: Any
    ) -> tuple[Any, ...]:
        """The outputs of a model for one set of inputs."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Inputs,
        device: str = "CPU",
        outputs_info: Sequence[tuple[Any, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """The outputs of one operator; missing output types are left to inference."""
        names = [name for name in node.input if name]
        arrays = (
            [inputs[name] for name in names] if isinstance(inputs, Mapping) else inputs
        )
        model = single_node_model(node, list(map(np.asarray, arrays)), outputs_info)
        return cls.prepare(model, device, **kwargs).run(arrays)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether the device is the CPU."""
        return device.partition(":")[0] == "CPU"


def single_node_model(
    node: onnx.NodeProto,
    inputs: Sequence[Array],
    outputs_info: Sequence[tuple[Any, tuple[int, ...]]] | None,
) -> onnx.ModelProto:
    """A model of one node over inputs of the given arrays' types."""
    names = [name for name in node.input if name]
    declared = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in zip(names, inputs, strict=True)
    ]
    results = [name for name in node.output if name]
    if outputs_info is None:
        outputs = [onnx.ValueInfoProto(name=name) for name in results]
    else:
        outputs = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape
            )
            for name, (dtype, shape) in zip(results, outputs_info, strict=True)
        ]
    model = helper.make_model(helper.make_graph([node], "node", declared, outputs))
    return (
        model if outputs_info is not None else onnx.shape_inference.infer_shapes(model)
    )


is_compatible = GlowBackend.is_compatible
prepare = GlowBackend.prepare
run_model = GlowBackend.run_model
run_node = GlowBackend.run_node
supports_device = GlowBackend.supports_device
