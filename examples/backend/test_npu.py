"""Native code and the reference functions compute what the network means."""

from pathlib import Path

import numpy as np

import glow
from glow.compiler import load, lower_to
from glow.interpreter import run

NETWORK = Path(__file__).parent / "network.mlir"
IMAGE = np.random.default_rng(0).standard_normal((2, 3, 8, 8)).astype(np.float32)


def test_every_level_computes_the_same() -> None:
    module = load(NETWORK)
    (expected,) = run(module, [IMAGE])
    for level in ("lowered", "instr"):
        lower_to(module, level, backend="npu")
        assert "npu.dense_relu" in str(module)
        np.testing.assert_allclose(run(module, [IMAGE]), [expected], 1e-5)
    np.testing.assert_allclose(
        glow.compile(NETWORK, backend="npu")(IMAGE), expected, 1e-5
    )
