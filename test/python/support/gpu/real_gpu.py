"""Kernels of tests on a real GPU, in place of the simulator: `pytest --gpu -m gpu`.

Tests that are marked `gpu` compare what kernels compute. With `--gpu` their kernels run on the
driver's first device, whose machine code is made anew; without a device there are no tests to run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import pytest

from glow import GlowError
from glow.backends.cuda.driver import CudaDevice, open_driver
from glow.backends.cuda.kernel_runner import run_on_device
from glow.backends.cuda.kernels.gpu_builder import GpuKernel
from glow.dialects.gpu import gpu
from glow.interpreter import simt
from glow.interpreter.gpu.memory import Report

DEVICES: list[CudaDevice] = []
"""The device that kernels run on; none while they run in the simulator."""


def use_gpu() -> None:
    """Have kernels run on the first device from now on; a usage error where there is none."""
    try:
        driver = open_driver()
        if not driver.count():
            raise GlowError("the driver has no device")
        DEVICES.append(CudaDevice(driver, driver.facts(0)))
    except GlowError as error:
        raise pytest.UsageError(f"nothing is compared: {error.one_line()}") from error
    # Before the modules of tests are imported, which name the function.
    simt.run_kernel = run_kernel


def run_kernel(kernel: gpu.FuncOp, buffers: Sequence[np.ndarray]) -> Report:
    """Run a kernel on the device, as `simt.run_kernel` does; the report counts nothing."""
    module = kernel.parent_op()
    assert isinstance(module, gpu.ModuleOp)
    (device,) = DEVICES
    try:
        run_on_device(device, GpuKernel.of(module), buffers)
    finally:
        check_device(device)
    return Report()


def check_device(device: CudaDevice) -> None:
    """End the process where the device runs nothing any more.

    A context is lost with its process; pytest-xdist names the test, and starts another process.
    """
    try:
        device.synchronize()
    except GlowError:
        os._exit(1)
