"""Networks on OpenCL devices, compared with the interpreter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from support.nodes.differential import assert_close

import glow
from glow.backends.backend import get_backend

needs_device = pytest.mark.skipif(
    not get_backend("opencl").devices(),
    reason=get_backend("opencl").why_no_device(),
)


def drawn_inputs(model: glow.CompiledModel, seed: int = 0) -> Sequence[np.ndarray]:
    """Numbers for the inputs of a model: normal floats, small integers."""
    generator = np.random.default_rng(seed)
    return [
        generator.standard_normal(info.shape).astype(info.dtype)
        if np.dtype(info.dtype).kind == "f"
        else generator.integers(0, 2, info.shape).astype(info.dtype)
        for info in model.inputs
    ]


def as_list(results: object) -> Sequence[np.ndarray]:
    return list(results) if isinstance(results, tuple | list) else [results]


def check_against_interpreter(model: object, calls: int = 1, **options: object) -> None:
    """Assert that a device computes what the interpreter does: 1e-4 of the largest number."""
    device = glow.compile(model, backend="opencl", **options)
    expected = glow.compile(model, backend="interpreter", **options)
    for seed in range(calls):
        inputs = drawn_inputs(device, seed)
        results, wanted = as_list(device(*inputs)), as_list(expected(*inputs))
        for result, want in zip(results, wanted, strict=True):
            assert_close(result, want)
