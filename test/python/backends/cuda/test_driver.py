"""The driver's side: kernels on a driver that simulates them, and failures in one line."""

from __future__ import annotations

import gc
import traceback
from pathlib import Path

import numpy as np
import pytest
from support.gpu.contraction_cases import Case, error_of, fixed_matmul
from support.gpu.fake_cuda import FakeCuda, Launched
from support.gpu.host_kernels import host_kernels, simulated

import glow
from glow import GlowError
from glow.backends.cuda import driver
from glow.backends.cuda.driver import CudaDevice, CudaDriver, open_driver
from glow.backends.cuda.kernel_runner import gpu_target, run_on_device
from glow.options import CompileOptions

NETWORK = """
func.func @main(%x: tensor<4x12xf32>) -> tensor<4x12xf32> {
  %w = glow.constant dense<0.25> : tensor<12x12xf32>
  %0 = glow.matmul %x, %w : tensor<4x12xf32>
  %1 = glow.sigmoid %0 : tensor<4x12xf32>
  %2 = glow.softmax %1 axis 1 : tensor<4x12xf32>
  func.return %2 : tensor<4x12xf32>
}
"""


@pytest.fixture(scope="module")
def case() -> Case:
    return fixed_matmul(0, (2, 20, 24, 12), (True, False), "channel")


def device_of(case: Case, **facts: object) -> tuple[FakeCuda, CudaDevice]:
    library = FakeCuda({"contraction": simulated(case.kernel)}, **facts)
    opened = CudaDriver(library)
    return library, CudaDevice(opened, opened.facts(0))


def test_a_kernel_runs_on_copies_of_its_buffers(case: Case) -> None:
    library, device = device_of(case)
    buffers = case.buffers()
    run_on_device(device, case.kernel, buffers)
    assert error_of(case, buffers[0]) < case.tolerance
    assert library.memory == {}
    assert library.held["module"] == 0
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
    assert gpu_target("sm_90").cpu == "sm_90a"
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


def test_a_driver_that_is_missing_or_too_old_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(driver, "driver_library", lambda: None)
    with pytest.raises(
        GlowError, match=r"there is no .*, which NVIDIA's driver brings"
    ):
        open_driver()
    with pytest.raises(
        GlowError, match=r"is of CUDA 11\.4, and the kernels' PTX needs 11\.8"
    ):
        CudaDriver(FakeCuda({}, version=11040))
    with pytest.raises(GlowError, match="cuInit fails: error 100"):
        CudaDriver(FakeCuda({}, failures={"cuInit": 100}))


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("network") / "network.mlir"
    path.write_text(NETWORK)
    return path


@pytest.fixture(scope="module")
def kernels(network: Path) -> dict[str, Launched]:
    return host_kernels(network, CompileOptions("cuda", "sm_80"))


def test_a_network_runs_as_a_graph(
    monkeypatch: pytest.MonkeyPatch, network: Path, kernels: dict[str, Launched]
) -> None:
    """Weights are uploaded once, copies and launches are captured once."""
    library = FakeCuda(kernels)
    monkeypatch.setattr(driver, "driver_library", lambda: library)
    model = glow.compile(network, backend="cuda", device="Simulated")
    assert "Simulated GPU (sm_90)" in repr(model)
    before = len(library.calls)
    x = np.random.default_rng(0).random(model.inputs[0].shape, np.float32)
    expected = glow.compile(network, backend="interpreter")(x)
    for _ in range(2):
        np.testing.assert_allclose(model(x), expected, 1e-4, 1e-6)
    calls = library.calls[before:]
    assert calls.count("cuStreamBeginCapture_v2") == 1
    assert calls.count("cuGraphLaunch") == 2
    for name in ("HtoDAsync_v2", "DtoHAsync_v2"):
        assert calls.count(f"cuMemcpy{name}") == 1
    assert calls.count("cuLaunchKernel") == len(library.captured) - 2 > 1
    assert calls.count("cuStreamSynchronize") == 2
    assert len(library.pinned) == 1
    del model
    gc.collect()
    assert library.memory == library.pinned == {}
    assert not any(library.held.values())


def test_what_a_device_cannot_run_is_one_line(
    monkeypatch: pytest.MonkeyPatch, network: Path, kernels: dict[str, Launched]
) -> None:
    library = FakeCuda(kernels, gpu=(8, 0))
    monkeypatch.setattr(driver, "driver_library", lambda: library)
    with pytest.raises(GlowError, match="is sm_80, which does not run code for sm_90"):
        glow.compile(network, backend="cuda", target="sm_90")
    library.memory_bytes = 1000
    with pytest.raises(
        GlowError, match=r"needs 0\.0 GiB of memory, and device 'Simulated"
    ):
        glow.compile(network, backend="cuda")
    library.memory_bytes = 1 << 30
    library.failures["cuModuleLoadDataEx"] = 218
    with pytest.raises(
        GlowError, match=r"kernel '.*': the driver rejects kernels: ptxas"
    ) as caught:
        glow.compile(network, backend="cuda")
    assert caught.value.hint == "--debug prints its log"
    assert "extern function\nmore" in "".join(traceback.format_exception(caught.value))
    del library.failures["cuModuleLoadDataEx"]
    model = glow.compile(network, backend="cuda")
    library.failures["cuGraphLaunch"] = 700
    with pytest.raises(GlowError, match="cuGraphLaunch fails: an illegal address"):
        model(np.zeros(model.inputs[0].shape, np.float32))


def test_the_device_says_how_long_kernels_take(
    monkeypatch: pytest.MonkeyPatch, network: Path, kernels: dict[str, Launched]
) -> None:
    """Of a call, and of each kernel; events are given back, and calls go on."""
    library = FakeCuda(kernels)
    monkeypatch.setattr(driver, "driver_library", lambda: library)
    model = glow.compile(network, backend="cuda")
    x = np.ones(model.inputs[0].shape, np.float32)
    before = model(x)
    assert min(model.function.device_seconds(3)) > 0
    found = list(model.function.kernel_seconds(2, 3))
    assert [one.kernel in one.entry.entry for one in found] == [True] * len(found)
    assert len(found) == len(library.graphs[0]) - 2
    assert min(one.seconds for one in found) > 0
    assert library.held["event"] == 0
    assert np.array_equal(model(x), before)
