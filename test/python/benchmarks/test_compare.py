"""The benchmark's measuring, on networks of a few kilobytes; what it measures is not tested."""

import argparse
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import pytest

from benchmarks import compare
from benchmarks.networks import (
    BATCHED_NETWORKS,
    TINY_NETWORKS,
    bert,
    evaluate_reference,
    make_inputs,
    quantized,
)
from benchmarks.peers import ort_transformers
from benchmarks.peers.client import Array, Server, ServerError
from benchmarks.peers.contestants import Contest
from benchmarks.result import Result, largest_error
from benchmarks.table import table

pytest.importorskip("onnxruntime")


@pytest.fixture(params=TINY_NETWORKS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Returns a folder with a model and its inputs, as the benchmark writes them."""
    monkeypatch = request.getfixturevalue("monkeypatch")
    monkeypatch.setattr(compare, "KNOWN", TINY_NETWORKS)
    compare.write_network(request.param, tmp_path)
    return tmp_path


@pytest.fixture
def server(folder: Path) -> Iterator[Server]:
    with Server("ort", folder / "model.onnx", folder / "inputs.npz", 1) as server:
        yield server


def test_server_runs_and_saves(
    server: Server, folder: Path, request: pytest.FixtureRequest
) -> None:
    times = server.run(3)
    assert len(times) == 3
    assert min(times) > 0
    outputs, peak = server.save(folder / "outputs.npz")
    assert peak > 10
    model = TINY_NETWORKS[request.node.callspec.params["folder"]]()
    expected = evaluate_reference(model, make_inputs(model))
    assert largest_error(outputs, expected) < 1e-5


def state(server: Server) -> str:
    """Returns the letter of the process's state: T is stopped."""
    status = Path(f"/proc/{server.process.pid}/stat").read_text()
    return status.rpartition(")")[2].split()[0]


def test_server_is_stopped_unless_it_runs(server: Server) -> None:
    assert state(server) == "T"
    server.run(1)
    assert state(server) == "T"


def test_server_ends_with_its_context(tmp_path: Path) -> None:
    compare.write_network("squeezenet", tmp_path)
    with Server("ort", tmp_path / "model.onnx", tmp_path / "inputs.npz", 1) as server:
        pass
    assert server.process.returncode == 0


def test_failure_is_one_line(tmp_path: Path) -> None:
    np.savez(tmp_path / "inputs.npz", x=np.zeros(1))
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(ServerError, match=r"^ort: .+") as error:
        Server("ort", tmp_path / "model.onnx", tmp_path / "inputs.npz", 1)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("scheme", quantized.SCHEMES)
def test_quantized_networks_run_in_all_runtimes(scheme: str, tmp_path: Path) -> None:
    name = "bert" if scheme == "dynamic" else "mobilenet_v2"
    model = quantized.build(TINY_NETWORKS[name], scheme)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    np.savez(tmp_path / "inputs.npz", allow_pickle=False, **make_inputs(model))
    saved: list[list[Array]] = []
    for runtime in ("glow", "ort"):
        files = tmp_path / "model.onnx", tmp_path / "inputs.npz"
        with Server(runtime, *files, 1) as server:
            saved.append(server.save(tmp_path / f"{runtime}.npz")[0])
    assert largest_error(*saved) < 0.2


def test_operators_say_the_same_as_casts() -> None:
    casts, operators = (
        quantized.build(TINY_NETWORKS["mobilenet_v2"], "u8s8", operators=operators)
        for operators in (False, True)
    )
    convolutions = ["Conv", "QLinearConv"]
    counts = [
        [sum(node.op_type == kind for node in model.graph.node) for kind in kinds]
        for model, kinds in ((casts, convolutions), (operators, convolutions[::-1]))
    ]
    assert counts[0] == counts[1]
    assert counts[0][0] > 0
    assert counts[0][1] == 0


def test_error_is_relative_to_the_largest_expected_value() -> None:
    ours = [np.array([1.0, 5.0]), np.array([0.1])]
    theirs = [np.array([2.0, 4.0]), np.array([0.2])]
    assert largest_error(ours, theirs) == pytest.approx(0.5)


def test_results_that_are_no_numbers_are_an_error() -> None:
    ours = [np.array([1.0]), np.array([np.nan, 2.0])]
    theirs = [np.array([1.0]), np.array([1.0, 2.0])]
    assert np.isnan(largest_error(ours, theirs))


def test_zeros_prove_nothing() -> None:
    with pytest.raises(ServerError, match="zero everywhere"):
        largest_error([np.zeros(3)], [np.zeros(3)])


def test_probabilities_of_quantized_networks_stay_float() -> None:
    value = onnx.helper.make_tensor_value_info
    nodes = [
        onnx.helper.make_node("Relu", ["x"], ["hidden"], "relu"),
        onnx.helper.make_node("Softmax", ["hidden"], ["flat"], "softmax"),
        onnx.helper.make_node("Reshape", ["flat", "shape"], ["y"], "shape"),
    ]
    x = value("x", onnx.TensorProto.FLOAT, [1, 4])
    y = value("y", onnx.TensorProto.FLOAT, [1, 4])
    shape = onnx.numpy_helper.from_array(np.array([1, 4]), "shape")
    model = onnx.helper.make_model(
        onnx.helper.make_graph(nodes, "graph", [x], [y], [shape])
    )
    assert quantized.probabilities(model) == ["shape", "softmax"]


def test_table_shows_the_best_peer() -> None:
    result = Result(
        network="resnet50",
        threads=2,
        state="shared",
        cross_core_nanoseconds=70.0,
        rounds=5,
        milliseconds={"glow": 20.0, "ort": 30.0, "openvino": 25.0, "tvm": 10.0},
        spread={"glow": 0.01, "ort": 0.02, "openvino": 0.03, "tvm": 0.04},
        peak_megabytes={"glow": 200, "ort": 300, "openvino": 400},
        load_seconds={"glow": 0.5, "ort": 0.1, "openvino": 0.2},
        cold_seconds=2.5,
        cold_megabytes=350,
        optimizer_share=0.25,
        errors={"glow": {"ort": 3e-7, "openvino": 2e-7}},
        versions={},
    )
    header, rule, row = table([result]).splitlines()
    assert len(header) == len(rule) == len(row)
    cells = dict(
        zip(*([c.strip() for c in x.split("|")] for x in (header, row)), strict=True)
    )
    assert cells["threads"] == "2 shared"
    assert cells["ratio"] == "1.25"
    assert cells["ort ms"] == "30.00 ±2%"
    assert cells["tvm MB"] == "-"
    assert cells["cold s"] == "2.50"
    assert cells["cold MB"] == "350"
    assert cells["MB"] == "200"
    assert cells["optimizer"] == "25%"
    assert cells["openvino MB"] == "400"
    assert cells["error"] == "3e-07"


def test_missing_peers_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    contest = Contest(["ort", "tvm"], {"tvm": sys.executable, "ort": sys.executable})
    assert "ort" in contest.peers
    assert ("tvm" in contest.peers) == (find_spec("tvm") is not None)
    assert ("tvm" in contest.peers) == (
        "tvm is not installed" not in capsys.readouterr().err
    )


def test_quantized_networks_have_columns_of_their_own() -> None:
    contest = Contest(["ort"], exact=True)
    assert list(contest.runners("resnet50")) == ["glow", "ort", "glow exact"]
    assert list(contest.runners("resnet50_u8s8")) == ["glow", "ort", "ort operators"]


def test_transformers_are_optimized_for_onnx_runtime(tmp_path: Path) -> None:
    pytest.importorskip("sympy")
    model = TINY_NETWORKS["bert"]()
    np.savez(tmp_path / "inputs.npz", allow_pickle=False, **make_inputs(model))
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    optimized = ort_transformers.optimize(tmp_path / "model.onnx", bert.TINY)
    assert optimized is not None
    kinds = {node.op_type for node in optimized.graph.node}
    assert {"Attention", "BiasGelu", "SkipLayerNormalization"} <= kinds
    (tmp_path / "transformers.onnx").write_bytes(optimized.SerializeToString())
    saved: list[list[Array]] = []
    for file in ("model.onnx", "transformers.onnx"):
        with Server("ort", tmp_path / file, tmp_path / "inputs.npz", 1) as server:
            saved.append(server.save(tmp_path / "outputs.npz")[0])
    assert largest_error(*saved) < 1e-5
    runners = Contest(["ort"]).runners("bert_base")
    assert runners["ort transformers"] == ("ort", "transformers.onnx")


def test_different_shapes_are_no_result() -> None:
    with pytest.raises(ServerError, match="shapes"):
        largest_error([np.ones((3, 1))], [np.ones(3)])


def test_batched_networks_are_valid() -> None:
    model = BATCHED_NETWORKS["resnet50_batch8"]()
    (images,) = make_inputs(model).values()
    assert images.shape == (8, 3, 224, 224)
    onnx.checker.check_model(model)
    shapes = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    dims = shapes.graph.output[0].type.tensor_type.shape.dim
    assert [dim.dim_value for dim in dims] == [8, 1000]


def test_arguments_are_checked() -> None:
    assert compare.counts("1,2") == [1, 2]
    assert compare.positive("5") == 5
    for text in ("", "0", "1,x"):
        with pytest.raises(argparse.ArgumentTypeError):
            compare.counts(text)
    for text in ("", "0", "-1", "x"):
        with pytest.raises(argparse.ArgumentTypeError, match="a positive number"):
            compare.positive(text)
    with pytest.raises(
        argparse.ArgumentTypeError, match="unknown: vgg20; known are vgg19"
    ):
        compare.names(["vgg19"])("vgg19,vgg20")


def test_files_to_write_are_checked_first(tmp_path: Path) -> None:
    assert compare.new_file(f"{tmp_path}/new.json") == tmp_path / "new.json"
    for path in (tmp_path, tmp_path / "missing" / "new.json"):
        with pytest.raises(argparse.ArgumentTypeError, match="cannot be written"):
            compare.new_file(str(path))
