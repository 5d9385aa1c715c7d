"""Steps of training under a limit of memory, and with products of 16-bit floats."""

from __future__ import annotations

import numpy as np
import pytest

import glow
from benchmarks.networks.trained import make_batch, resnet18
from glow.compiler import lower
from glow.options import CompileOptions
from glow.training.program import step_module

STEPS = 12


@pytest.fixture(scope="module")
def network() -> bytes:
    return resnet18(8, 16, widths=(16,), blocks=4).SerializeToString()


def curve(network: bytes, **options) -> tuple[list[float], dict[str, np.ndarray]]:
    """The losses of some steps on one batch, and the state after them."""
    step = glow.TrainStep(network, optimizer=glow.Adam(1e-2), **options)
    x, labels = make_batch(resnet18(8, 16, widths=(16,), blocks=4))
    return [step(x, labels.astype(np.int64)) for _ in range(STEPS)], dict(step.state())


@pytest.fixture(scope="module")
def plain(network: bytes):
    return curve(network)


def test_a_limit_computes_activations_again_and_changes_no_bit(
    network: bytes, plain
) -> None:
    def planned(limit: int | None):
        module = step_module(network, "cross_entropy", glow.Adam(1e-2))
        lower(module, "instr", CompileOptions(memory_limit=limit))
        (function,) = module.ops
        return function.attributes

    needed = planned(None)["glow.arena_bytes"].value.data
    limit = needed * 17 // 20
    attributes = planned(limit)
    assert attributes["glow.arena_bytes"].value.data <= limit
    assert len(attributes["glow.recomputed"]) >= 1
    losses, state = curve(network, memory_limit=limit)
    assert losses == plain[0]
    for name, array in plain[1].items():
        np.testing.assert_array_equal(state[name], array, name)


def test_bf16_learns_as_f32_does(network: bytes, plain) -> None:
    """Losses differ by 3 % of the first at most, without dot products of bf16 too."""
    losses, state = curve(network, precision="bf16", target="avx2")
    assert losses != plain[0]
    assert losses[-1] < 0.2 * losses[0]
    np.testing.assert_allclose(losses, plain[0], rtol=0, atol=0.03 * plain[0][0])
    assert all(array.dtype == np.float32 for array in state.values())
