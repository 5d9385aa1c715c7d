"""Networks on an OpenCL driver for CPUs (PoCL) beside our CPU backend, on the same cores.

python -m benchmarks.devices.opencl [--cores 1] [NETWORK ...]     (from the root of the repository)

Both run in this process and take turns; the least of all rounds is printed, which other programs
disturb least. `matmul` is a product of 1024 x 1024 matrices in direct sums; without names it is
that one. `queue` leaves out that inputs and outputs are copied, which a CPU need not do.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

from benchmarks.rounds import fastest

SIZE = 1024
MATMUL = "matmul"


def matmul() -> ModelProto:
    """`y = x w` on float32[1024, 1024]."""
    weights = np.random.default_rng(1).standard_normal((SIZE, SIZE)).astype(np.float32)
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [SIZE, SIZE])
        for name in "xy"
    )
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    stored = numpy_helper.from_array(weights, "w")
    graph = helper.make_graph([node], "", [x], [y], [stored])
    opset = helper.make_opsetid("", 20)
    return helper.make_model(graph, opset_imports=[opset], ir_version=10)


def compare(name: str, cores: int, rounds: int) -> None:
    """Print the times of a network and their quotient."""
    import glow
    from benchmarks.networks import NETWORKS

    model = matmul() if name == MATMUL else NETWORKS[name]()
    numerics = "exact" if name == MATMUL else "default"
    cpu = glow.compile(model, numerics=numerics, threads=cores)
    started = time.perf_counter()
    device = glow.compile(model, backend="opencl", numerics=numerics)
    compiled = time.perf_counter() - started
    generator = np.random.default_rng(0)
    inputs = [
        generator.standard_normal(info.shape).astype(info.dtype)
        if np.dtype(info.dtype).kind == "f"
        else np.ones(info.shape, info.dtype)
        for info in cpu.inputs
    ]
    calls = {"cpu": lambda: cpu(*inputs), "opencl": lambda: device(*inputs)}
    if hasattr(device.function, "run_queue"):
        calls["queue"] = device.function.run_queue
    for call in calls.values():  # Drivers compile for the size of the groups then.
        call()
    least = dict(zip(calls, fastest([*calls.values()], rounds), strict=True))
    print(f"{name}, {cores} core{'s' * (cores != 1)}; compiled in {compiled:.1f} s")
    for which, seconds in least.items():
        rate = f"{2e-9 * SIZE**3 / seconds:8.1f} GFLOP/s" if name == MATMUL else ""
        ratio = seconds / least["cpu"]
        print(f"  {which:8}{1e3 * seconds:10.2f} ms{ratio:8.2f} x the CPU's{rate}")


def main() -> None:
    """Compare what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("networks", nargs="*", default=[MATMUL])
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=30)
    args = parser.parse_args()
    # Before the driver is loaded.
    os.environ["POCL_MAX_PTHREAD_COUNT"] = str(args.cores)
    from glow.backends.backend import get_backend

    if not get_backend("opencl").devices():
        print(f"nothing is measured: {get_backend('opencl').why_no_device()}")
        sys.exit(1)
    for name in args.networks:
        compare(name, args.cores, args.rounds)


if __name__ == "__main__":
    main()
