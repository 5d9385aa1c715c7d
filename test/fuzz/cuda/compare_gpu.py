"""Kernels for many threads on a real GPU: `make test-gpu`.

Random products, convolutions, rows and transpositions are compared as in the simulator. Without a
driver or a device nothing is compared, which is no success.

    python test/fuzz/cuda/compare_gpu.py --count 200
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
sys.path.insert(0, str(Path(__file__).parents[3]))

from support.gpu.contraction_cases import error_of, random_case

from glow import GlowError
from glow.backends.cuda.driver import CudaDevice, open_driver
from glow.backends.cuda.kernel_runner import gpu_target, run_on_device
from glow.backends.cuda.kernels.reduction.rows import build_rows, softmax
from glow.backends.cuda.kernels.transpose import TransposeSpec, build_transpose


def wrong_products(device: CudaDevice, count: int) -> Iterator[str]:
    """The random products that differ from the interpreter's."""
    for number in range(count):
        case = random_case(number)
        buffers = case.buffers()
        try:
            run_on_device(device, case.kernel, buffers)
            error = error_of(case, buffers[0])
        except GlowError as failure:
            yield f"product {number}: {failure.one_line()}"
            continue
        if not error < case.tolerance:
            yield f"product {number}: {error:.1e} off, {case.spec}"


def wrong_rows(device: CudaDevice, count: int) -> Iterator[str]:
    """The random rows and matrices that differ from NumPy's."""
    target = gpu_target(device.facts.gpu)
    for number in range(count):
        random = np.random.default_rng(number)
        rows, columns = (int(x) for x in random.integers(1, (40, 3000)))
        x = random.standard_normal((1, rows, columns)).astype(np.float32)
        shifted = np.exp(x.astype(np.float64) - x.max(2, keepdims=True))
        for name, kernel, result, expected in (
            (
                "softmax",
                build_rows(softmax(rows, columns), target, "softmax"),
                np.empty_like(x),
                shifted / shifted.sum(2, keepdims=True),
            ),
            (
                "transpose",
                build_transpose(TransposeSpec(1, rows, columns), target, "transpose"),
                np.empty((1, columns, rows), np.float32),
                x.swapaxes(1, 2),
            ),
        ):
            run_on_device(device, kernel, [result, x])
            if not np.allclose(result, expected, 1e-5, 1e-7):
                yield f"{name} of {rows} x {columns}"


def main() -> int:
    """Compare, print what differs and how long it took."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=60, help="random shapes of a kind")
    args = parser.parse_args()
    try:
        driver = open_driver()
        if not driver.count():
            raise GlowError("the driver has no device")
        device = CudaDevice(driver, driver.facts(0))
    except GlowError as error:
        print(f"nothing is compared: {error.one_line()}")
        return 1
    begin, failed = time.monotonic(), 0
    for line in (*wrong_products(device, args.count), *wrong_rows(device, args.count)):
        print(line, flush=True)
        failed += 1
    print(f"{failed} differ on {device.facts.name}, {time.monotonic() - begin:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
