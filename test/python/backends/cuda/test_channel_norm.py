"""Local response norms for many threads, in the simulator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.gpu.assembler import assemble

from glow.backends.cpu.kernels.reduction.local_response_norm import (
    LocalResponseNormSpec,
)
from glow.backends.cuda.kernels.reduction.channel_norm import (
    ChannelNormSpec,
    build_channel_norm,
)
from glow.backends.cuda.ptx import gpu_kernels_ptx
from glow.interpreter.simt import run_kernel
from glow.lowering.target.target import Target

TARGET = Target.from_string("sm_80")


def expected(norm: LocalResponseNormSpec, x: np.ndarray) -> np.ndarray:
    """The norm of [N, C, HW] by its definition, in f64."""
    wide, result = x.astype(np.float64), np.empty(x.shape)
    for c in range(norm.channels):
        window = wide[:, max(0, c - norm.before) : c + norm.after + 1]
        squares = (window**2).sum(1)
        base = norm.bias + norm.alpha / norm.size * squares
        result[:, c] = wide[:, c] / base**norm.beta
    return result


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(24))
def test_a_random_norm_is_that_of_its_definition(number: int) -> None:
    """Of plain channels and blocks, whose last lanes hold NaN, with windows of any size."""
    random = np.random.default_rng(number)
    batch, channels, plane = (int(x) for x in random.integers(1, (3, 24, 90)))
    lanes, size = (1, 4, 8)[number % 3], int(random.integers(1, 14))
    beta = (0.5, 0.75, 1.3)[random.integers(3)]
    norm = LocalResponseNormSpec(batch, channels, plane, size, 0.3, beta, 1.5)
    spec = ChannelNormSpec(norm, lanes)
    x = random.standard_normal((batch, channels, plane), np.float32)
    stored = np.full((batch, spec.blocks * lanes, plane), np.nan, np.float32)
    stored[:, :channels] = x
    image = stored.reshape(batch, spec.blocks, lanes, plane).swapaxes(2, 3).copy()
    kernel = build_channel_norm(spec, TARGET, "norm")
    kernel.module.verify()
    result = np.zeros_like(image)
    report = run_kernel(kernel.function, [result, image])
    found = result.swapaxes(2, 3).reshape(stored.shape)[:, :channels]
    np.testing.assert_allclose(found, expected(norm, x), rtol=2e-5)
    assert report.bank_conflicts == 0


@pytest.mark.parametrize("gpu_name", ["sm_80", "sm_90"])
def test_norms_assemble(gpu_name: str, tmp_path: Path) -> None:
    norm = LocalResponseNormSpec(1, 96, 54 * 54, 5)
    text = gpu_kernels_ptx(
        [build_channel_norm(ChannelNormSpec(norm, 4), TARGET, "norm")], TARGET
    )
    # A block whole, and what windows have of the ones beside it.
    assert text.count("ld.global.nc.v4") + text.count("ld.global.v4") >= 1
    assert text.count("ld.global") <= 4
    assert text.count("st.global.v4") == 1
    (found,) = assemble(text, gpu_name, tmp_path)
    assert found.spills == 0
