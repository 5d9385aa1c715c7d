"""Small networks whole, by the kernels that they choose: the driver in the host's memory, kernels
for many threads in the simulator. Results are the interpreter's, those of integers bit for bit.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.gpu.fake_cuda import FakeCuda
from support.gpu.host_kernels import host_kernels

import glow
from benchmarks.networks import TINY_NETWORKS, TINY_WIDER_NETWORKS, make_inputs
from glow.backends.cuda import driver, ptx
from glow.options import CompileOptions

NETWORKS = {**TINY_NETWORKS, **TINY_WIDER_NETWORKS}

CASES: dict[str, tuple[str, dict[str, Any], float, set[str]]] = {
    "exact": (
        "bert",
        {"numerics": "exact"},
        1e-4,
        {"attention", "contraction", "rows"},
    ),
    "default": ("bert", {}, 1e-4, {"attention", "contraction", "rows", "elementwise"}),
    "fast": ("bert", {"numerics": "fast"}, 1e-2, {"contraction"}),
    "bf16": ("bert", {"precision": "bf16"}, 1e-2, {"contraction"}),
    "patches": ("vit", {}, 1e-4, {"contraction", "rows", "transpose"}),
    "convolutions": ("regnet", {}, 1e-4, {"contraction"}),
    "recurrence": ("lstm", {}, 1e-4, {"contraction"}),
    "bytes": ("mobilenet_v2", {"quantize": True}, 0.0, {"contraction"}),
}
"""A network, options, the largest error relative to the largest result, kernels that it has."""


@pytest.mark.filterwarnings("ignore:no profile")
@pytest.mark.parametrize("name", CASES)
def test_a_network_computes_what_the_interpreter_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    network, options, tolerance, wanted = CASES[name]
    path, model = tmp_path / "network.onnx", NETWORKS[network]()
    path.write_bytes(model.SerializeToString())
    kernels = host_kernels(path, CompileOptions("cuda", "sm_80", **options))
    threads = {name.rpartition("_")[0] for name in kernels if "_entry" not in name}
    assert threads >= wanted
    # What the assembler is replaced by stays out of the cache that all tests share.
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path / "cache"))
    library = FakeCuda(kernels)
    monkeypatch.setattr(driver, "driver_library", lambda: library)
    monkeypatch.setattr(
        ptx, "assembly", lambda *_: "// Which this driver does not read."
    )
    inputs = make_inputs(model)
    results = glow.compile(path, backend="cuda", target="sm_80", **options)(**inputs)
    expected = glow.compile(path, backend="interpreter", **options)(**inputs)
    for result, wanted_result in zip(listed(results), listed(expected), strict=True):
        scale = np.abs(wanted_result).max()
        assert np.abs(result - wanted_result).max() <= tolerance * scale


def listed(results: Any) -> list[np.ndarray]:
    """One result or several."""
    return [results] if isinstance(results, np.ndarray) else list(results)
