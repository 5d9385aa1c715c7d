"""Which runtimes `compare.py` knows, and which of them run a network, and on which file."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.networks import (
    BATCHED_NETWORKS,
    FEW_BITS_NETWORKS,
    NETWORKS,
    OPERATOR_NETWORKS,
    QUANTIZED_NETWORKS,
    TRANSFORMER_NETWORKS,
    WIDER_NETWORKS,
)

ROUNDED_NETWORKS = {**QUANTIZED_NETWORKS, **FEW_BITS_NETWORKS}
"""Those that runtimes compute in integers, as far as each wants to."""
KNOWN = {
    **NETWORKS,
    **WIDER_NETWORKS,
    **BATCHED_NETWORKS,
    **ROUNDED_NETWORKS,
}
PEERS = {
    "ort": "onnxruntime",
    "openvino": "openvino",
    "iree": "iree.compiler",
    "tvm": "tvm",
    "tensorflow": "tensorflow",
    "torch": "torch",
}
"""The module of each peer."""
RIVALS = ("ort", "ort operators", "ort transformers", "openvino")
"""The best of them is what ratios are against; the others stand beside."""
MODEL = "model.onnx"
OPERATORS = "operators.onnx"
"""The same quantized network as integer operators."""
TRANSFORMERS = "transformers.onnx"
"""The same network as ONNX Runtime's optimizer of transformers writes it."""

_FIND = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"


def is_ours(name: str) -> bool:
    """Returns whether the column `name` is Glow under some option."""
    return name.startswith("glow")


@dataclass
class Contest:
    """The peers to compare with; those that are not installed are left out.

    `pythons` are the interpreters of those that have one of their own; `exact` adds Glow
    under `numerics=exact`, `bf16` computes in the processor's bf16 where a runtime can.
    """

    peers: Sequence[str]
    pythons: dict[str, str] = field(default_factory=dict)
    exact: bool = False
    bf16: bool = False

    def __post_init__(self) -> None:
        self.peers = [peer for peer in self.peers if self._is_installed(peer)]

    def python(self, name: str) -> str:
        """Returns the interpreter that has the runtime of the column `name`."""
        return self.pythons.get(name.split()[0], sys.executable)

    def _is_installed(self, peer: str) -> bool:
        """Tell on stderr if `peer` is missing; returns whether it is there."""
        command = [self.python(peer), "-c", _FIND, PEERS[peer]]
        found = not subprocess.run(command, capture_output=True).returncode
        if not found:
            print(f"compare: {PEERS[peer]} is not installed, left out", file=sys.stderr)
        return found

    def runners(self, network: str) -> dict[str, tuple[str, str]]:
        """Returns the runtime of `server.py` and the file of each column of the table.

        Of a quantized network OpenVINO may compute the rest in its default precision.
        """
        found = {name: (name, MODEL) for name in ("glow", *self.peers)}
        if self.exact and network not in ROUNDED_NETWORKS:
            found["glow exact"] = ("glow_exact", MODEL)
        if self.bf16:
            found["glow"] = ("glow_bf16", MODEL)
        if (self.bf16 or network in ROUNDED_NETWORKS) and "openvino" in found:
            found["openvino"] = ("openvino_default", MODEL)
        if network in OPERATOR_NETWORKS and "ort" in found:
            found["ort operators"] = ("ort", OPERATORS)
        if network in TRANSFORMER_NETWORKS and "ort" in found:
            found["ort transformers"] = ("ort", TRANSFORMERS)
        return found
