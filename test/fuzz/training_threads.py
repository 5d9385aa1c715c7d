"""Trains networks for a hundred steps on one thread and on two: all bits must be the same.

python test/fuzz/training_threads.py [STEPS]     (from the root of the repository; a minute)

Half of the steps of the second training are done after a resume from a checkpoint.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

import glow
from benchmarks.networks import trained

NETWORKS = {
    "digits_mlp": trained.digits_mlp,
    "digits_cnn": trained.digits_cnn,
    "resnet18": lambda: trained.resnet18(8, 32, (16, 32, 64, 64)),
    "transformer": lambda: trained.transformer(4, trained.Decoder(64, 2, 2, 32, 65)),
}
BATCHES = 4


def main() -> int:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    wrong = [name for name in NETWORKS if not is_same(name, steps)]
    return int(bool(wrong))


def is_same(name: str, steps: int) -> bool:
    """Whether losses and states agree; says which do not."""
    model = NETWORKS[name]()
    batches = [trained.make_batch(model, seed) for seed in range(BATCHES)]
    one, two, resumed = (
        glow.TrainStep(model, optimizer=glow.Adam(1e-3), threads=threads)
        for threads in (1, 2, 2)
    )
    expected = [one(*batches[k % BATCHES]) for k in range(steps)]
    found = [two(*batches[k % BATCHES]) for k in range(steps // 2)]
    with tempfile.TemporaryDirectory() as folder:
        two.save(Path(folder) / "half.safetensors")
        resumed.load(Path(folder) / "half.safetensors")
    found += [resumed(*batches[k % BATCHES]) for k in range(steps // 2, steps)]
    states = one.state(), resumed.state()
    differing = [n for n, v in states[0].items() if not np.array_equal(v, states[1][n])]
    if expected != found or differing:
        first = next((k for k in range(steps) if expected[k] != found[k]), None)
        print(f"{name}: differs from step {first}, and in {differing[:3]}")
        return False
    print(f"{name}: {steps} steps, loss {expected[0]:.4f} to {expected[-1]:.4f}")
    return True


if __name__ == "__main__":
    sys.exit(main())
