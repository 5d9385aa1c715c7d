"""The trained network: to run beside its training, and as an ONNX file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from glow.compiled_model import CompiledModel
from glow.dialects.errors import GlowError
from glow.dialects.weight_table import Array
from glow.exporters.onnx import export_bytes
from glow.frontends.onnx.graph import sanitized
from glow.options import CompileOptions
from glow.passes.quantization.convert_fake_quantization import (
    convert_fake_quantization,
)
from glow.runtime.atomic_output import atomic_path
from glow.training.network import copy_of, is_parameter

if TYPE_CHECKING:
    from glow.training.program import StepBuilder


class TrainedModel(CompiledModel):
    """A compiled network whose variables are those of a training, as they are at a call."""

    def __init__(self, model: CompiledModel, state: Mapping[str, Array]) -> None:
        """`state` has the parameters and statistics by name, and may change."""
        super().__init__(model.signature, model.function, model.backend)
        self._state = state

    def _arrange(
        self, arrays: Sequence[Array], named: Mapping[str, Array]
    ) -> Sequence[Array]:
        self.refresh()
        return super()._arrange(arrays, named)

    def run_into(
        self,
        inputs: Sequence[Array] | Mapping[str, Array],
        outputs: Sequence[Array] | Mapping[str, Array],
        threads: int | None = None,
    ) -> None:
        """Writes the outputs into arrays, as `CompiledModel.run_into`."""
        self.refresh()
        super().run_into(inputs, outputs, threads)

    def refresh(self) -> None:
        """Take the parameters as they are now."""
        for name, array in self.variables.items():
            array[...] = self._state[name]


def export_network(
    builder: StepBuilder, state: Mapping[str, Array], path: Path
) -> None:
    """Write a trained network; the file appears whole or not at all.

    A model that came as ONNX keeps all but its weights. What fake quantization rounded is
    written as QuantizeLinear and DequantizeLinear, weights as integers. Raises
    GlowError for a graph that ONNX has no operators for.
    """
    proto = builder.network.proto
    if proto is None:
        module = builder.trained(state, CompileOptions())
        convert_fake_quantization(module)
        data = export_bytes(module)
    else:
        from onnx import numpy_helper

        proto = copy_of(proto)
        for tensor in proto.graph.initializer:
            value = state.get(sanitized(tensor.name))
            if value is not None and is_parameter(tensor):
                tensor.CopyFrom(numpy_helper.from_array(np.array(value), tensor.name))
        try:
            data = proto.SerializeToString()
        except ValueError as error:
            raise GlowError(f"cannot write {path}: {error}") from None
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)
