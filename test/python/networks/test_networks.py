"""All benchmark networks, compiled, against ONNX Runtime; results for any thread count."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from support.nodes.differential import assert_close
from support.onnx_models.onnxruntime_testing import onnxruntime_outputs
from support.programs.pipelines import passes_of

import glow
from benchmarks.networks import NETWORKS, TINY_NETWORKS, make_inputs, weights
from glow.compiler import load, run_passes
from glow.dialects.function_attributes import ARENA_BYTES, LIVE_BYTES
from glow.interpreter import run
from glow.runtime.native_function import NativeFunction
from glow.signature import main_function

DRAWN = 65_521
"""A prime, so that the rows of a weight differ when so many numbers are repeated."""


@pytest.fixture
def few_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights repeat a few numbers, each from another on: a tenth of the time to draw."""
    few = np.random.default_rng(0).standard_normal(DRAWN).astype(np.float32)

    def normal(
        name: str, shape: tuple[int, ...], deviation: float
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        start = zlib.crc32(name.encode()) % DRAWN
        return np.resize(np.roll(few, -start) * np.float32(deviation), shape)

    monkeypatch.setattr(weights, "normal", normal)


@pytest.mark.usefixtures("few_weights")
@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_network_agrees_with_onnxruntime(name: str) -> None:
    """Within 1e-4 of the largest output, bit-identical for any number of threads."""
    model = NETWORKS[name]()
    inputs = make_inputs(model, seed=1)
    expected = onnxruntime_outputs(model, inputs)
    compiled = glow.compile(model, threads=1)
    assert isinstance(compiled.function, NativeFunction)
    results = compiled.run(inputs)
    assert set(results) == set(expected)
    for output, array in results.items():
        assert_close(array, expected[output])
    for threads in (2, 3):
        compiled.function = NativeFunction(compiled.function.program, threads)
        for output, array in compiled.run(inputs).items():
            np.testing.assert_array_equal(array, results[output])


@pytest.mark.parametrize("name", [*sorted(TINY_NETWORKS), "squeezenet", "resnet50"])
def test_interpreter_and_cpu_agree(name: str) -> None:
    """The interpreter of the graph and the native code give one answer."""
    model = (TINY_NETWORKS | NETWORKS)[name]()
    inputs = make_inputs(model, seed=2)
    module = load(model)
    expected = run(module, list(inputs.values()))
    actual = glow.compile(module).run(inputs)
    for one, other in zip(actual.values(), expected, strict=True):
        assert_close(one, other)


@pytest.mark.usefixtures("few_weights")
@pytest.mark.parametrize("name", ["resnet50", "vgg19"])
def test_arena_is_close_to_the_live_set(name: str) -> None:
    """The arena is at most 1.05 times what must be alive at once."""
    module = load(NETWORKS[name]())
    run_passes(module, passes_of("graph", "lowered", "instr"))
    attributes = main_function(module).attributes
    arena, live = (attributes[key].value.data for key in (ARENA_BYTES, LIVE_BYTES))
    assert 0 < arena <= 1.05 * live
