"""The driver's side: kernels on a driver that simulates them, and failures in one line."""

from __future__ import annotations

import pytest
from support.gpu.contraction_cases import Case, error_of, fixed_matmul
from support.gpu.fake_cuda import FakeCuda, simulated

from glow import GlowError
from glow.backends.cuda.driver import CudaDevice, CudaDriver, open_driver
from glow.backends.cuda.kernel_runner import gpu_target, run_on_device


@pytest.fixture(scope="module")
def case() -> Case:
    return fixed_matmul(0, (2, 20, 24, 12), (True, False), "channel")


def device_of(case: Case, **facts: object) -> tuple[FakeCuda, CudaDevice]:
    library = FakeCuda({"contraction": simulated(case.kernel)}, **facts)
    driver = CudaDriver(library)
    return library, CudaDevice(driver, driver.facts(0))


def test_a_kernel_runs_on_copies_of_its_buffers(case: Case) -> None:
    library, device = device_of(case)
    buffers = case.buffers()
    run_on_device(device, case.kernel, buffers)
    assert error_of(case, buffers[0]) < case.tolerance
    assert library.memory == {}
    assert library.calls.count("cuMemcpyHtoDAsync_v2") == len(buffers)
    assert library.calls.index("cuLaunchKernel") < library.calls.index(
        "cuMemcpyDtoHAsync_v2"
    )


def test_a_device_says_what_it_is(case: Case) -> None:
    _, device = device_of(case)
    facts = device.facts
    assert (facts.name, facts.gpu, facts.memory_bytes) == (
        "Simulated GPU",
        "sm_90",
        1 << 30,
    )
    assert gpu_target("sm_120").cpu == "sm_90"
    with pytest.raises(GlowError, match="'sm_70' is older than sm_75"):
        gpu_target("sm_70")


FAILURES = {
    "cuMemAlloc_v2": (2, "kernel 'contraction': cuMemAlloc_v2 fails: out of memory"),
    "cuLaunchKernel": (
        700,
        "kernel 'contraction': cuLaunchKernel fails: an illegal address",
    ),
    "cuStreamSynchronize": (999, "cuStreamSynchronize fails: error 999"),
    "cuModuleLoadDataEx": (218, "the driver rejects kernels: ptxas fatal: Unresolved"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_one_line(case: Case, name: str) -> None:
    status, line = FAILURES[name]
    library, device = device_of(case)
    library.failures[name] = status
    with pytest.raises(GlowError) as caught:
        run_on_device(device, case.kernel, case.buffers())
    assert line in caught.value.one_line()
    assert "\n" not in caught.value.one_line()
    assert library.memory == {}


def test_a_driver_that_is_missing_or_too_old_is_one_line() -> None:
    with pytest.raises(
        GlowError, match=r"there is no .*, which NVIDIA's driver brings"
    ):
        open_driver(lambda: None)
    with pytest.raises(
        GlowError, match=r"is of CUDA 11\.4, and the kernels' PTX needs 11\.8"
    ):
        CudaDriver(FakeCuda({}, version=11040))
    with pytest.raises(GlowError, match="cuInit fails: error 100"):
        CudaDriver(FakeCuda({}, failures={"cuInit": 100}))
