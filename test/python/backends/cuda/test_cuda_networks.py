"""Small networks whole, by the kernels that they choose: the driver in the host's memory, kernels
for many threads in the simulator. Results are the interpreter's, those of integers bit for bit.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.gpu.simulated_networks import compare

from benchmarks.networks import TINY_NETWORKS, TINY_WIDER_NETWORKS, make_inputs

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
    "convolutions": ("regnet", {}, 1e-4, {"contraction", "windows"}),
    "recurrence": ("lstm", {}, 1e-4, {"contraction", "recurrence"}),
    "bytes of rows": ("bert", {"quantize": True}, 1e-2, {"contraction", "rows"}),
    "bytes": ("mobilenet_v2", {"quantize": True}, 0.0, {"contraction", "windows"}),
}
"""A network, options, the largest error relative to the largest result, kernels that it has."""


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore:no profile")
@pytest.mark.parametrize("name", CASES)
def test_a_network_computes_what_the_interpreter_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    network, options, tolerance, wanted = CASES[name]
    path, model = tmp_path / "network.onnx", NETWORKS[network]()
    path.write_bytes(model.SerializeToString())
    compare(monkeypatch, path, make_inputs(model), options, tolerance, wanted)
