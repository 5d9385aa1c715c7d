"""What a network computes, by the `onnx` package's own evaluator.

The evaluator of onnx 1.23 computes two operators otherwise than their specification says.
Before opset 14 it takes every BatchNormalization for a training step, and normalises by the
batch at hand; such a model is converted first. LRN it computes for the first N channels of a
batch of N only; it is replaced here.
"""

from collections.abc import Callable

import numpy as np
from onnx import ModelProto, version_converter
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from benchmarks.networks.inputs import Array

_INFERENCE_OPSET = 14
"""The first at which BatchNormalization says whether it trains."""


def evaluate_reference(model: ModelProto, inputs: dict[str, Array]) -> list[Array]:
    """Returns the outputs of `model` in their order."""
    return reference_of(model)(inputs)


def reference_of(model: ModelProto) -> Callable[[dict[str, Array]], list[Array]]:
    """Returns the function that `model` is; it holds a copy of all weights."""
    if _opset(model) < _INFERENCE_OPSET:
        model = version_converter.convert_version(model, _INFERENCE_OPSET)
    evaluator = ReferenceEvaluator(model, new_ops=[LRN])

    def run(inputs: dict[str, Array]) -> list[Array]:
        results = evaluator.run(None, dict(inputs))  # pyright: ignore[reportUnknownMemberType]
        return [np.asarray(result) for result in results]

    return run


def _opset(model: ModelProto) -> int:
    return next(entry.version for entry in model.opset_import if not entry.domain)


class LRN(OpRun):
    """Local response normalization over all channels; the evaluator finds it by its name."""

    op_domain = ""

    def _run(
        self, x: Array, alpha: float, beta: float, bias: float, size: int
    ) -> tuple[Array]:
        before = (size - 1) // 2
        edges = ((0, 0), (before, size - 1 - before), (0, 0), (0, 0))
        squares = np.pad(x, edges) ** 2
        channels = x.shape[1]
        total = sum(squares[:, shift : shift + channels] for shift in range(size))
        return ((x / (bias + alpha / size * total) ** beta).astype(x.dtype),)
