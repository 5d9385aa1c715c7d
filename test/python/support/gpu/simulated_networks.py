"""Networks by the kernels that they choose for GPUs, beside the interpreter.

The driver is in the host's memory; kernels for many threads run in the simulator. With `--gpu`
they run on a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.gpu.fake_cuda import FakeCuda
from support.gpu.host_kernels import host_kernels
from support.gpu.real_gpu import DEVICES

import glow
from glow.backends.cuda import driver, ptx
from glow.options import CompileOptions


def compare(
    monkeypatch: pytest.MonkeyPatch,
    path: Path,
    inputs: Mapping[str, np.ndarray],
    options: Mapping[str, Any],
    tolerance: float,
    wanted: set[str],
) -> None:
    """Results are the interpreter's, and the network has kernels for many threads as wanted.

    `options` may name the target, which is sm_80 else. `tolerance`: the largest error relative to
    the largest result.
    """
    given = {"target": "sm_80", **options}
    if DEVICES:
        compare_with_interpreter(path, inputs, given, tolerance)
        return
    kernels = host_kernels(path, CompileOptions("cuda", **given))
    threads = {name.rpartition("_")[0] for name in kernels if "_entry" not in name}
    assert threads >= wanted
    # What the assembler is replaced by stays out of the cache that all tests share.
    monkeypatch.setenv("GLOW_CACHE_DIR", str(path.parent / "cache"))
    library = FakeCuda(kernels)
    monkeypatch.setattr(driver, "driver_library", lambda: library)
    monkeypatch.setattr(
        ptx, "assembly", lambda *_: "// Which this driver does not read."
    )
    compare_with_interpreter(path, inputs, given, tolerance)


def compare_with_interpreter(
    path: Path,
    inputs: Mapping[str, np.ndarray],
    options: Mapping[str, Any],
    tolerance: float,
) -> None:
    """The driver's device, and options for it, compute what the interpreter does."""
    results = glow.compile(path, backend="cuda", **options)(**inputs)
    others = {name: value for name, value in options.items() if name != "target"}
    expected = glow.compile(path, backend="interpreter", **others)(**inputs)
    for result, wanted_result in zip(listed(results), listed(expected), strict=True):
        assert np.array_equal(np.isnan(result), np.isnan(wanted_result))
        scale = np.nanmax(np.abs(wanted_result), initial=0)
        error = np.nanmax(np.abs(result - wanted_result), initial=0)
        assert error <= tolerance * scale


def listed(results: Any) -> list[np.ndarray]:
    """One result or several."""
    return [results] if isinstance(results, np.ndarray) else list(results)
