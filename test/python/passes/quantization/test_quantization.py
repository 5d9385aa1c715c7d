"""Profiling and quantization of whole networks: accuracy, profiles, and what goes wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_dynamic,
    quantize_static,
)
from onnxruntime.quantization.shape_inference import quant_pre_process
from places import ROOT
from support.onnx_models.onnxruntime_testing import exact_session
from support.programs.pipelines import passes_of, run_text
from xdsl.dialects.builtin import ModuleOp

import glow
from benchmarks.networks import TINY_NETWORKS, make_inputs
from glow import Profile, QuantizationOptions
from glow.backends.backend import get_backend
from glow.compiler import load, run_passes
from glow.dialects.glow import Conv2dOp, DynamicMatmulOp
from glow.dialects.quantized import parameters_of
from glow.dialects.weights import clone_module, stored_value
from glow.interpreter import run
from glow.interpreter.integer_arithmetic import dequantize, scales_of
from glow.options import CompileOptions
from glow.passes.graph.pipeline import graph_passes
from glow.passes.quantization.quantize import quantize_module
from glow.passes.rewriting.node_builder import NodeBuilder

Array = npt.NDArray[Any]

DIGITS = ROOT / "examples" / "digits"
CALIBRATION = 64
TESTED = 200


@pytest.fixture(scope="module")
def images() -> Array:
    """The held-back digits as inputs of the network."""
    with np.load(DIGITS / "held_back.npz") as held_back:
        return held_back["images"][:, None, None].astype(np.float32) / 16


@pytest.fixture(scope="module")
def labels() -> Array:
    """The digits that were meant."""
    with np.load(DIGITS / "held_back.npz") as held_back:
        return held_back["labels"]


@pytest.fixture(scope="module")
def profile(images: Array) -> Profile:
    """The profile of the digits network on the first images."""
    return glow.profile(DIGITS / "digits.onnx", list(images[:CALIBRATION]))


@pytest.fixture(scope="module")
def graph() -> ModuleOp:
    """The optimized digits network."""
    module = load(DIGITS / "digits.onnx")
    run_passes(module, graph_passes())
    return module


def logits(graph: ModuleOp, images: Array) -> Array:
    """The network's outputs for images, none of which was profiled, of native code.

    It has the interpreter's bits, and runs hundreds of images in the time of one.
    """
    module, backend = clone_module(graph), get_backend("cpu")
    run_passes(module, passes_of("lowered", "instr"))
    function = backend.compile(module, CompileOptions(threads=1))
    tested = images[CALIBRATION : CALIBRATION + TESTED]
    return np.concatenate([function.run([image])[0] for image in tested])


@pytest.fixture(scope="module")
def exact(graph: ModuleOp, images: Array) -> Array:
    """The outputs of the network in floats."""
    return logits(graph, images)


def quantized(graph: ModuleOp, profile: Profile | None, **options: Any) -> ModuleOp:
    """A quantized copy of a graph."""
    module = clone_module(graph)
    quantize_module(module, profile, QuantizationOptions(**options))
    module.verify()
    return module


def decibels(exact: Array, noisy: Array) -> float:
    """The signal-to-noise ratio."""
    noise = np.square(exact - noisy).sum()
    return float(10 * np.log10(np.square(exact).sum() / noise))


@pytest.mark.parametrize(
    ("options", "least"),
    [
        ({}, 35),
        ({"calibration": "mse"}, 34.5),
        ({"calibration": "percentile"}, 30),
        ({"calibration": "entropy"}, 28),
        ({"schema": "symmetric"}, 32),
        ({"schema": "symmetric-uint8"}, 34),
        ({"schema": "power-of-two"}, 33),
        ({"precision": "int16"}, 36),
        ({"per_channel": False}, 33),
        ({"requantize": "fixed"}, 35),
        ({"activations": "per-row"}, 35),
        ({"bias_correction": False}, 32.5),
        ({"bias": "int8"}, 30),
        ({"fidelity": "fused"}, 35),
        ({"keep": ("layer.2.relu", "fully_connected")}, 35),
    ],
)
def test_signal_to_noise(
    graph: ModuleOp,
    profile: Profile,
    images: Array,
    exact: Array,
    options: dict[str, Any],
    least: float,
) -> None:
    """Forgetting to round, or to fuse ReLU, costs ten decibels or more."""
    module = quantized(graph, profile, **options)
    assert decibels(exact, logits(module, images)) > least


def rescaled_channels(graph: ModuleOp) -> ModuleOp:
    """The same function, the channels between convolutions scaled at random."""
    module, generator = clone_module(graph), np.random.default_rng(0)
    for op in list(module.walk()):
        first = op.operands[0].owner if isinstance(op, Conv2dOp) else None
        if not isinstance(first, Conv2dOp) or not op.operands[0].has_one_use():
            continue
        count = stored_value(first.bias).size
        factors = np.exp(generator.standard_normal(count)).astype(np.float32)
        for holder, index, by in (
            (first, 1, 1 / factors[:, None, None, None]),
            (first, 2, 1 / factors),
            (op, 1, factors[None, :, None, None]),
        ):
            array = stored_value(holder.operands[index]) * by
            constant = NodeBuilder(holder).constant(array, "rescaled")
            holder.operands[index] = constant
    return module


def test_equalization_restores_badly_scaled_channels(
    graph: ModuleOp, images: Array, exact: Array
) -> None:
    module = rescaled_channels(graph)
    rescaled = logits(module, images)
    np.testing.assert_allclose(rescaled, exact, rtol=1e-3, atol=1e-3)
    profile = glow.profile(module, list(images[:CALIBRATION]))
    with_and_without = [
        decibels(rescaled, logits(quantized(module, profile, equalization=on), images))
        for on in (True, False)
    ]
    assert with_and_without[0] > 32 > 28 > with_and_without[1]


@pytest.mark.parametrize("activations", ["auto", "per-row", "static"])
def test_transformer(activations: str) -> None:
    """Residual stream, layer normalization and softmax stay float."""
    model = TINY_NETWORKS["bert"]()
    profile = glow.profile(model, [make_inputs(model, seed=s) for s in range(16)])
    graph = load(model)
    run_passes(graph, graph_passes())
    module = quantized(graph, profile, activations=activations)
    inputs = list(make_inputs(model, seed=100).values())
    (exact, *_), (rounded, *_) = run(graph, inputs), run(module, inputs)
    assert decibels(exact, rounded) > (35 if activations == "static" else 38)
    dynamic = sum(isinstance(op, DynamicMatmulOp) for op in module.walk())
    assert dynamic == (0 if activations == "static" else 12)


@pytest.mark.parametrize(("embeddings", "least"), [("int8", 38), ("int4", 15)])
def test_embeddings(embeddings: str, least: float) -> None:
    """Rows of the table have scales of their own, and give floats."""
    model = TINY_NETWORKS["bert"]()
    graph = load(model)
    run_passes(graph, graph_passes())
    module = quantized(graph, None, embeddings=embeddings, keep=("matmul",))
    inputs = list(make_inputs(model, seed=100).values())
    (exact, *_), (rounded, *_) = run(graph, inputs), run(module, inputs)
    assert decibels(exact, rounded) > least


@pytest.mark.parametrize("bias", ["int8", "int32"])
def test_biases(graph: ModuleOp, profile: Profile, bias: str) -> None:
    """Those of 8 bits are whole numbers of 127ths of the largest, up to the sums' unit."""
    coarse: list[bool] = []
    for op in quantized(graph, profile, bias=bias).walk():
        if isinstance(op, Conv2dOp) and op.bias is not None:
            data = parameters_of(op.bias.type)
            floats = dequantize(stored_value(op.bias), data).astype(np.float64)
            step = np.abs(floats).max() / 127
            off = np.abs(floats - step * np.rint(floats / step))
            coarse.append(bool((off <= 2 * scales_of(data, 1)).all()))
    assert coarse
    assert coarse == [bias == "int8"] * len(coarse)


def test_accuracy(
    graph: ModuleOp, profile: Profile, images: Array, labels: Array, exact: Array
) -> None:
    """Top-1 drops by at most 0.4 points."""
    wanted = labels[CALIBRATION : CALIBRATION + TESTED]
    module = quantized(graph, profile)
    run_text(module, "assert-all-quantized")
    top, rounded = (
        (found.argmax(axis=1) == wanted).mean()
        for found in (exact, logits(module, images))
    )
    assert rounded >= top - 0.005


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"schema": "symmetric"},
        {"schema": "power-of-two"},
        {"precision": "int16"},
        {"fidelity": "fused"},
        {"per_channel": False},
        {"requantize": "fixed"},
        {"requantize": "fixed", "precision": "int16"},
        {"requantize": "fixed", "schema": "symmetric"},
    ],
)
def test_native_code_has_the_same_bits(
    profile: Profile, images: Array, options: dict[str, Any]
) -> None:
    """On the CPU at any number of threads and in the interpreter."""
    models = [
        glow.compile(
            DIGITS / "digits.onnx",
            quantize=profile,
            quantization=QuantizationOptions(**options),
            backend=backend,
            threads=threads,
        )
        for backend, threads in (("interpreter", 1), ("cpu", 1), ("cpu", 3))
    ]
    for image in images[:20]:
        expected, *others = (model(image) for model in models)
        for other in others:
            np.testing.assert_array_equal(other, expected)


def test_compile_quantizes(profile: Profile, images: Array, tmp_path: Path) -> None:
    """By a profile or by its file; results are those of the interpreted graph."""
    path = tmp_path / "digits.profile.yaml"
    profile.save(path)
    models = [
        glow.compile(DIGITS / "digits.onnx", backend="interpreter", quantize=quantize)
        for quantize in (profile, path, str(path))
    ]
    results = [model(images[0]) for model in models]
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


def test_bits_beyond_the_network_stay(graph: ModuleOp, profile: Profile) -> None:
    """Quantizing a copy leaves the graph and its weights alone."""
    before = str(graph)
    quantized(graph, profile)
    assert str(graph) == before
    run_text(clone_module(graph), "verify-graph")


# -- networks that come quantized


class Reader(CalibrationDataReader):
    """Images for ONNX Runtime's calibration."""

    def __init__(self, images: Array) -> None:
        self._images = iter(images)

    def get_next(self) -> dict[str, Array] | None:
        """The next batch."""
        image = next(self._images, None)
        return None if image is None else {"image": image}


@pytest.mark.parametrize("form", [QuantFormat.QDQ, QuantFormat.QOperator])
@pytest.mark.parametrize("kind", [QuantType.QUInt8, QuantType.QInt8])
@pytest.mark.parametrize("per_channel", [False, True])
def test_quantized_networks(
    form: QuantFormat,
    kind: QuantType,
    per_channel: bool,
    images: Array,
    tmp_path: Path,
) -> None:
    """All integer, and all but a step of one logit in fifty as ONNX Runtime has it."""
    prepared, path = tmp_path / "prepared.onnx", tmp_path / "quantized.onnx"
    quant_pre_process(DIGITS / "digits.onnx", prepared, skip_symbolic_shape=True)
    quantize_static(
        prepared,
        path,
        Reader(images[:CALIBRATION]),
        quant_format=form,
        per_channel=per_channel,
        activation_type=kind,
        weight_type=QuantType.QInt8,
    )
    module = load(path)
    run_passes(module, graph_passes())
    quantize_module(module)
    run_text(module, "assert-all-quantized")
    session = exact_session(onnx.load(path))
    theirs = [session.run(None, {"image": image})[0] for image in images[:50]]
    ours = [run(module, [image])[0] for image in images[:50]]
    difference = np.abs(np.array(ours) - np.array(theirs))
    assert (difference > 1e-6).mean() <= 0.02
    assert difference.max() <= 0.0708  # one step of the logits


@pytest.mark.parametrize("per_channel", [False, True])
def test_dynamically_quantized_transformer(per_channel: bool, tmp_path: Path) -> None:
    """All linear layers become one node each, with ONNX Runtime's results."""
    model, path = TINY_NETWORKS["bert"](), tmp_path / "dynamic.onnx"
    onnx.save(model, tmp_path / "float.onnx")
    quantize_dynamic(
        tmp_path / "float.onnx",
        path,
        per_channel=per_channel,
        op_types_to_quantize=["MatMul"],
        extra_options={"MatMulConstBOnly": True},
    )
    module = load(path)
    run_passes(module, graph_passes())
    quantize_module(module)
    dynamic = sum(isinstance(op, DynamicMatmulOp) for op in module.walk())
    assert dynamic == 12
    inputs = make_inputs(model, seed=3)
    session = exact_session(onnx.load(path))
    names = [info.name for info in session.get_inputs()]
    theirs = session.run(None, {name: inputs[name] for name in names})
    for one, other in zip(run(module, list(inputs.values())), theirs, strict=True):
        assert decibels(other, one) > 45  # a rounding differs where floats differ
