"""Profiles of kernels; what times they show is not tested."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from benchmarks import kernels
from benchmarks.networks import TINY_NETWORKS, make_inputs
from glow.backends.cpu.kernels.winograd.spec import WinogradSpec
from glow.backends.cpu.report.kernel_profile import (
    KernelProfile,
    TracedModel,
    grouped_rows,
    shape_text,
)
from glow.lowering.target.target import PRESETS, host_target
from glow.options import CompileOptions
from glow.runtime.native_code import compile_object
from glow.tools.glow import run_glow


def traced(network: str, threads: int) -> tuple[TracedModel, dict[str, np.ndarray]]:
    model = TINY_NETWORKS[network]()
    return TracedModel(model, CompileOptions(threads=threads)), make_inputs(model)


@pytest.mark.parametrize("network", list(TINY_NETWORKS))
def test_rows_cover_the_network(network: str) -> None:
    model, inputs = traced(network, 1)
    profile = model.profile(inputs, 2)
    rows = profile.rows()
    assert len(rows) == len(profile.calls) > 2
    groups = grouped_rows(rows)
    assert sum(row.calls for row in groups) == len(rows)
    assert [row.label for row in groups if row.operations]
    lines = profile.table().splitlines()
    assert len(lines) == len(groups) + 3
    assert "100.0%" in lines[-1]
    assert profile.seconds >= max(row.seconds for row in rows) > 0


def test_tracing_keeps_results() -> None:
    import glow

    model, inputs = traced("mobilenet_v2", 2)
    expected = glow.compile(TINY_NETWORKS["mobilenet_v2"](), threads=1).run(inputs)
    for name, array in model.model.run(inputs).items():
        np.testing.assert_array_equal(array, expected[name])


def test_calls_follow_each_other() -> None:
    """On each thread a call begins after the one before has ended."""
    model, inputs = traced("lstm", 2)
    times = model.profile(inputs, 1).times
    flat = times.reshape(*times.shape[:2], -1)
    assert (np.diff(flat) >= 0).all()
    assert flat.min() > 0


def test_two_threads_are_traced() -> None:
    """A network that is large enough for threads has a track for each."""
    shape = (1, 64, 56, 56)
    model = TracedModel(relu_of_sum(shape), CompileOptions(threads=2))
    profile = model.profile({"x": np.ones(shape, np.float32)}, 2)
    events = json.loads(profile.chrome_trace())["traceEvents"]
    assert {event["tid"] for event in events} == set(range(profile.threads))
    assert len(events) == profile.threads * len(profile.calls)


def relu_of_sum(shape: tuple[int, ...]) -> onnx.ModelProto:
    float_, make = onnx.TensorProto.FLOAT, onnx.helper.make_tensor_value_info
    nodes = [
        onnx.helper.make_node("Add", ["x", "x"], ["s"]),
        onnx.helper.make_node("Softmax", ["s"], ["y"]),
    ]
    x, y = make("x", float_, shape), make("y", float_, shape)
    graph = onnx.helper.make_graph(nodes, "graph", [x], [y])
    opset = onnx.helper.make_opsetid("", 17)
    return onnx.helper.make_model(graph, opset_imports=[opset], ir_version=9)


def test_fast_algorithms_have_operations() -> None:
    """A Winograd convolution stands for the operations of its direct sums, once."""
    network = TracedModel(convolution(64, 28), CompileOptions(threads=1))
    profile = network.profile({"x": np.ones((1, 64, 28, 28), np.float32)}, 1)
    names = [call.kernel.label for call in profile.calls]
    assert any(name.startswith("winograd") for name in names)
    (row,) = [row for row in kernels.shape_rows(profile) if row.operations]
    assert row.operations == 2 * 64 * 64 * 9 * 28 * 28
    assert row.label == "winograd 1 64 64 (3x3)/(1x1) on (28x28)"


def test_kernels_of_one_axis_are_named_so() -> None:
    columns = WinogradSpec(1, 64, 64, (32, 16), (2, 0, 0, 0), axes=(0,))
    assert shape_text(columns) == "1 64 64 (3x1)/(1x1) on (32x16)"


def convolution(channels: int, size: int) -> onnx.ModelProto:
    float_, make = onnx.TensorProto.FLOAT, onnx.helper.make_tensor_value_info
    weights = np.ones((channels, channels, 3, 3), np.float32)
    shape = (1, channels, size, size)
    node = onnx.helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    graph = onnx.helper.make_graph(
        [node],
        "graph",
        [make("x", float_, shape)],
        [make("y", float_, shape)],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    opset = onnx.helper.make_opsetid("", 17)
    return onnx.helper.make_model(graph, opset_imports=[opset], ir_version=9)


def test_kernels_of_a_network() -> None:
    """`benchmarks/kernels.py` has a row for each shape, and one for the rest."""
    model, inputs = traced("bert", 1)
    profile = model.profile(inputs, 1)
    lines = list(kernels.table(profile, 100.0))
    shapes = [row for row in kernels.shape_rows(profile) if row.operations]
    assert len(lines) == len(shapes) + 4
    assert lines[-1] == "the peak is 100.0 GFLOP/s on 1 threads"


@pytest.mark.parametrize("target", list(PRESETS))
def test_peak_code_is_valid(target: str) -> None:
    assert compile_object(kernels.peak_code(PRESETS[target]), PRESETS[target])


def test_peak_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "ITERATIONS", 1000)
    assert kernels.Peak(host_target(), 2).measure() > 0


def test_run_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`glow run --profile` prints the table and writes the trace."""
    path, trace = tmp_path / "model.onnx", tmp_path / "trace.json"
    onnx.save(convolution(16, 8), path)
    run_glow(["run", str(path), "--profile", "--trace", str(trace), "--repeat=2"])
    stdout, stderr = capsys.readouterr()
    assert "kernel" in stdout
    assert "conv2d" in stdout
    assert str(trace) in stderr
    names = {event["name"] for event in json.loads(trace.read_text())["traceEvents"]}
    assert any("conv2d" in name for name in names)


def test_empty_profile() -> None:
    """A network may have nothing to run."""
    profile = KernelProfile([], np.zeros((1, 1, 0, 2), np.int64))
    assert profile.seconds == 0
    assert profile.table().splitlines()[-1].endswith("all")
    assert json.loads(profile.chrome_trace())["traceEvents"] == []
