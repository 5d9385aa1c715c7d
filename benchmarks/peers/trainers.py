"""The runtimes of `server.py` that train: a run is a step on one batch, with its optimizer.

The model is an ONNX file named after its network, the inputs `x` and `y`. Outputs are the losses
of the first steps. Memory is counted from the end of the loading on.
"""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

# pyright: basic, reportMissingImports=false

Array = np.ndarray
Inputs = dict[str, Array]
Run = Callable[[], list[Array]]

FIRST_STEPS = 5
RATE = 1e-3


def recorded(step: Callable[[], float]) -> Run:
    """Returns a run that takes a step, and returns the first losses."""
    losses: list[float] = []

    def run() -> list[Array]:
        loss = step()
        if len(losses) < FIRST_STEPS:
            losses.append(loss)
        return [np.array(losses)]

    for _ in range(FIRST_STEPS):
        run()
    # The peak begins anew (proc(5), clear_refs).
    Path("/proc/self/clear_refs").write_text("5")
    return run


def _load_glow(model: str, feed: Inputs, threads: int) -> tuple[Run, str, float]:
    import glow

    start = time.perf_counter()
    optimizer = glow.Adam(RATE)
    step = glow.TrainStep(
        model, loss="cross_entropy", optimizer=optimizer, threads=threads
    )
    seconds = time.perf_counter() - start
    x, y = feed["x"], feed["y"]
    return recorded(lambda: float(step(x, y))), glow.__version__, seconds


def _load_torch(
    model: str, feed: Inputs, threads: int, *, compiled: bool = False
) -> tuple[Run, str, float]:
    import onnx
    import torch
    import torch_networks
    from torch.nn import functional

    torch.set_num_threads(threads)
    network = torch_networks.NETWORKS[Path(model).stem]()
    torch_networks.load_weights(network, onnx.load(model)).train()
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE, fused=True)
    x, y = torch.from_numpy(feed["x"]), torch.from_numpy(feed["y"])

    def loss_of(x, y):
        return functional.cross_entropy(network(x), y)

    start = time.perf_counter()
    if compiled:
        loss_of = torch.compile(loss_of)
        loss_of(x, y).backward()
        # The statistics of batch normalization are those of before, too.
        torch_networks.load_weights(network, onnx.load(model))
    seconds = time.perf_counter() - start

    def step() -> float:
        optimizer.zero_grad()
        loss = loss_of(x, y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return recorded(step), torch.__version__, seconds


def _load_compiled(model: str, feed: Inputs, threads: int) -> tuple[Run, str, float]:
    return _load_torch(model, feed, threads, compiled=True)


LOADERS = {
    "glow_training": _load_glow,
    "torch_training": _load_torch,
    "torch_compiled_training": _load_compiled,
}
