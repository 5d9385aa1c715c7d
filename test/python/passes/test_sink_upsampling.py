"""Convolutions of upsampled parts are the sums of their parts' convolutions, upsampled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.onnx_models.onnxruntime_testing import onnxruntime_outputs
from xdsl.dialects.builtin import ModuleOp

import glow
from glow.compiler import load, lower_to, run_passes
from glow.dialects.glow import Conv2dOp
from glow.dialects.node import shape_of
from glow.options import CompileOptions
from glow.passes.graph.sink_upsampling import SinkUpsamplingPass

Array = npt.NDArray[np.float32]

FLOAT = TensorProto.FLOAT
PLANE = (8, 12)
MODES = (
    {"mode": "nearest"},
    {"mode": "linear"},
    {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
    {"mode": "cubic"},
)


def network(seed: int) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A 1 x 1 convolution of parts, some of which are upsampled in one way or another."""
    rng = np.random.default_rng(seed)
    inputs = {f"x{n}": random_part(rng) for n in range(int(rng.integers(1, 4)))}
    filters = (24, sum(x.shape[1] for x in inputs.values()), 1, 1)
    weights = {
        "w": rng.standard_normal(filters).astype(np.float32),
        "b": rng.standard_normal(24).astype(np.float32),
        **{
            f"s{x}": np.array((*v.shape[:2], *PLANE), np.int64)
            for x, v in inputs.items()
        },
    }
    modes = [MODES[int(rng.integers(0, len(MODES)))] for _ in inputs]
    bias = ["b"] if rng.integers(0, 3) else []
    nodes = [
        *(
            helper.make_node("Resize", [x, "", "", f"s{x}"], [f"y{x}"], **mode)
            for x, mode in zip(inputs, modes, strict=True)
        ),
        helper.make_node("Concat", [f"y{x}" for x in inputs], ["joined"], axis=1),
        helper.make_node("Conv", ["joined", "w", *bias], ["sum"]),
        helper.make_node("Relu", ["sum"], ["z"]),
    ]
    return model_of(nodes, inputs, weights), inputs


def random_part(rng: np.random.Generator) -> Array:
    """Channels of a plane that is whole, halved along both axes or one, or one pixel."""
    plane = (PLANE, (4, 6), (8, 3), (1, 1))[int(rng.integers(0, 4))]
    shape = (2, int(rng.choice([1, 40, 64])), *plane)
    return rng.standard_normal(shape).astype(np.float32)


def model_of(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Array],
    weights: Mapping[str, npt.NDArray[np.generic]],
) -> onnx.ModelProto:
    """The model of nodes from those inputs to `z`."""
    graph = helper.make_graph(
        nodes,
        "parts",
        [helper.make_tensor_value_info(n, FLOAT, x.shape) for n, x in inputs.items()],
        [helper.make_tensor_value_info("z", FLOAT, (2, 24, *PLANE))],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    opset = [helper.make_opsetid("", 18)]
    return helper.make_model(graph, opset_imports=opset, ir_version=9)


@pytest.mark.parametrize("seed", range(16))
def test_results_stay(seed: int) -> None:
    model, inputs = network(seed)
    expected = onnxruntime_outputs(model, inputs)["z"]
    tolerance = 1e-4 * float(np.abs(expected).max())
    for backend in ("interpreter", "cpu"):
        compiled = glow.compile(model, backend=backend, threads=2)
        result = np.asarray(compiled.run(inputs)["z"], np.float32)
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=tolerance)


def planes_of(module: ModuleOp) -> list[tuple[int, ...]]:
    """The planes of the convolutions."""
    convolutions = (op for op in module.walk() if isinstance(op, Conv2dOp))
    return [shape_of(op.result)[2:] for op in convolutions]


def test_networks_have_upsampled_parts() -> None:
    """Of those above."""
    planes = set[tuple[int, ...]]()
    for seed in range(16):
        module = load(network(seed)[0], CompileOptions())
        run_passes(module, [SinkUpsamplingPass()])
        planes.update(planes_of(module))
    assert planes == {PLANE, (4, 6), (8, 3), (1, 1)}


@pytest.mark.parametrize("quantize", [False, True])
def test_quantized_sums_stay_whole(quantize: bool) -> None:
    """Parts of a network that is quantized would be rounded one by one."""
    module = load(network(2)[0], CompileOptions())
    lowered = lower_to(module, "graph", quantize=quantize)
    assert isinstance(lowered, ModuleOp)
    assert (planes_of(lowered) == [PLANE]) == quantize
