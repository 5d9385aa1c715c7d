"""Models of one operator on quantized tensors, and what ONNX Runtime makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, helper, numpy_helper
from support.onnx_models.onnxruntime_testing import exact_outputs

import glow
from glow import QuantizationOptions
from glow.compiler import load, run_passes
from glow.interpreter import run
from glow.passes.graph.pipeline import graph_passes
from glow.passes.quantization.quantize import quantize_module

Array = npt.NDArray[Any]

CONTRIB = "com.microsoft"
SCALE = np.float32(0.037)


def scalar(value: float, dtype: npt.DTypeLike = np.float32) -> Array:
    """An array of rank 0."""
    return np.array(value, dtype)


def model_of(
    operator: str,
    computed: Mapping[str, Array],
    inputs: Sequence[Array | str | None],
    domain: str = "",
    outputs: int = 1,
    **attributes: Any,
) -> ModelProto:
    """A model of one node; `inputs` are names of computed inputs, constants or nothing."""
    names: list[str] = []
    constants: dict[str, Array] = {}
    for number, value in enumerate(inputs):
        if isinstance(value, np.ndarray):
            constants[f"c{number}"] = value
            names.append(f"c{number}")
        else:
            names.append(value or "")
    results = [f"y{number}" for number in range(outputs)]
    node = helper.make_node(operator, names, results, domain=domain, **attributes)
    graph = helper.make_graph(
        [node],
        "one",
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in computed.items()
        ],
        [helper.make_empty_tensor_value_info(name) for name in results],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", 19), helper.make_opsetid(CONTRIB, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def ours_and_theirs(
    model: ModelProto, computed: Mapping[str, Array]
) -> tuple[list[Array], list[Array]]:
    """The results of the interpreter and of ONNX Runtime."""
    theirs = exact_outputs(model, computed)
    module = load(model)
    run_passes(module, graph_passes())
    quantize_module(module)
    return run(module, list(computed.values())), theirs


def check_fixed(model: ModelProto, computed: Mapping[str, Array]) -> None:
    """Fail unless fixed-point requantization has the same bits natively."""
    expected, found = (
        glow.compile(
            model,
            backend=backend,
            quantize=True,
            quantization=QuantizationOptions(requantize="fixed"),
        ).run(dict(computed))
        for backend in ("interpreter", "cpu")
    )
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


def check(model: ModelProto, computed: Mapping[str, Array], steps: int = 0) -> None:
    """Fail unless results differ by at most so many steps of the integers.

    Native code has the interpreter's bits at any number of threads.
    """
    ours, theirs = ours_and_theirs(model, computed)
    check_fixed(model, computed)
    for threads in (1, 3):
        native = glow.compile(model, threads=threads).run(dict(computed))
        for mine, compiled in zip(ours, native.values(), strict=True):
            np.testing.assert_array_equal(mine, compiled)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.dtype == other.dtype
        if mine.dtype.kind in "iu":
            difference = np.abs(mine.astype(np.int64) - other.astype(np.int64))
            assert difference.max(initial=0) <= steps
        else:
            np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-6)


def whole(
    generator: np.random.Generator, shape: Sequence[int], dtype: npt.DTypeLike
) -> Array:
    """Integers over the whole range of a type."""
    info = np.iinfo(dtype)
    return generator.integers(info.min, info.max + 1, shape).astype(dtype)
