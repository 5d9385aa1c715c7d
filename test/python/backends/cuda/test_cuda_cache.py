"""What is kept of networks on a GPU: whole models, and machine code where there is an assembler."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.gpu.fake_cuda import CODE, FakeCuda
from support.gpu.host_kernels import host_kernels
from support.programs.control_flow_programs import KEPT
from support.runtime.model_cache_testing import own_folder

import glow
from glow import compiler
from glow.backends.cuda import assembler, driver
from glow.backends.cuda.cuda_function import CudaFunction
from glow.backends.cuda.kernel_assembly import KernelAssembly, stored_assembly
from glow.compilation import wait_for_stores
from glow.options import CompileOptions
from glow.runtime.caches.model_file import MAGIC

OPTIONS = CompileOptions("cuda", "sm_80")
GO, STOP = (np.full(1, number, np.float32) for number in (1, -1))
ROWS = np.array([0, 3])

ASSEMBLER = """#!/bin/sh
test "$1" = --version && {{ echo "version {version}"; exit; }}
for word in "$@"; do last=$word; done
printf '\\177ELF%s' "$*" > "$last"
echo "$*" >> {calls}
exit {status}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty folder of models."""
    return own_folder(tmp_path, monkeypatch)


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """One with a branch, and variables that calls keep."""
    path = tmp_path / "network.mlir"
    path.write_text(KEPT)
    return path


@pytest.fixture
def library(network: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    """A driver with the network's kernels, and no assembler."""
    made = FakeCuda(host_kernels(network, OPTIONS))
    monkeypatch.setattr(driver, "driver_library", lambda: made)
    monkeypatch.setattr(assembler, "find_ptxas", lambda: None)
    return made


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The models that the compiler had to compile."""
    compiled: list[object] = []
    original = compiler.compile_model

    def counted(model: Any, *options: Any) -> glow.CompiledModel:
        compiled.append(model)
        return original(model, *options)

    monkeypatch.setattr(compiler, "compile_model", counted)
    return compiled


def compiled(path: Path, **options: Any) -> glow.CompiledModel:
    """A network on the device, once it is stored."""
    model = glow.compile(path, backend="cuda", **options)
    wait_for_stores()
    assert isinstance(model, glow.CompiledModel)
    return model


def results(model: glow.CompiledModel) -> list[bytes]:
    """What three calls give."""
    found = [model.run_in_order([ROWS, go]) for go in (GO, STOP, GO)]
    return [array.tobytes() for call in found for array in call]


def test_a_network_is_compiled_once(
    library: FakeCuda, network: Path, folder: Path, compilations: list[object]
) -> None:
    first = compiled(network)
    again = compiled(network)
    assert compilations == [network]
    assert len(list(folder.iterdir())) == 1
    wanted = results(first)
    assert wanted == results(again)
    expected = glow.compile(network, backend="interpreter")
    assert isinstance(expected, glow.CompiledModel)
    for found, want in zip(wanted, results(expected), strict=True):
        numbers = (np.frombuffer(data, np.float32) for data in (found, want))
        np.testing.assert_allclose(*numbers, rtol=1e-5)
    assert repr(again) == repr(first)


def test_what_changes_the_code_is_another_entry(
    library: FakeCuda, network: Path, folder: Path, compilations: list[object]
) -> None:
    for options in ({}, {"numerics": "exact"}, {"target": "sm_90"}, {"threads": 1}):
        compiled(network, **options)
    assert len(compilations) == len(list(folder.iterdir())) == 3


DAMAGES = {
    "cut": lambda data: data[:-1],
    "old": lambda data: MAGIC[:-1] + b"0" + data[len(MAGIC) :],
    "code": lambda data: data.replace(b".entry", b".entrx"),
    "weights": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "empty": lambda data: b"",
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_entry_is_compiled_again(
    library: FakeCuda,
    network: Path,
    folder: Path,
    compilations: list[object],
    name: str,
) -> None:
    wanted = results(compiled(network))
    (entry,) = folder.iterdir()
    data = entry.read_bytes()
    entry.write_bytes(DAMAGES[name](data))
    assert entry.read_bytes() != data
    assert results(compiled(network)) == wanted
    assert len(compilations) == 2
    assert entry.read_bytes() == data


def test_a_pickle_has_the_values_of_variables(
    library: FakeCuda, network: Path, compilations: list[object]
) -> None:
    model = compiled(network)
    results(model)
    again = pickle.loads(pickle.dumps(model))
    assert isinstance(again.function, CudaFunction)
    assert again.function.device == "cuda:0"
    assert len(compilations) == 1
    np.testing.assert_array_equal(again.variables["calls/n"], [3])
    assert results(again) == results(model)


def test_a_device_that_cannot_run_a_known_network_is_one_line(
    library: FakeCuda, network: Path
) -> None:
    compiled(network, target="sm_90")
    library.gpu = (8, 0)
    with pytest.raises(glow.GlowError, match="is sm_80, which does not run code for"):
        compiled(network, target="sm_90")
    library.gpu, library.memory_bytes = (9, 0), 100
    with pytest.raises(glow.GlowError, match=r"needs 0\.0 GiB of memory, and device"):
        compiled(network, target="sm_90")
    library.failures["cuInit"] = 100
    with pytest.raises(glow.GlowError, match="'cuda' has no device: cuInit fails"):
        compiled(network, target="sm_90")


RUN = """
import sys
sys.path.insert(0, {tests!r})
from support.gpu.fake_cuda import FakeCuda
from glow.backends.cuda import driver
library = FakeCuda({{}})
driver.driver_library = lambda: library
import glow, json
glow.compile({path!r}, backend="cuda")
print(json.dumps([len(library.images), *[name in sys.modules for name in ("xdsl", "llvmlite")]]))
"""


def test_a_known_network_needs_no_compiler(library: FakeCuda, network: Path) -> None:
    compiled(network)
    tests = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", RUN.format(tests=tests, path=str(network))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [len(library.images), False, False]


def stand_in(folder: Path, version: int = 1, status: int = 0) -> str:
    """An assembler, which writes a line for each text to the file `calls`."""
    file = folder / f"ptxas{version}"
    calls = folder / "calls"
    file.write_text(ASSEMBLER.format(version=version, calls=calls, status=status))
    file.chmod(0o700)
    return str(file)


def test_machine_code_is_made_once_for_a_gpu_and_an_assembler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = stand_in(tmp_path)
    monkeypatch.setattr(assembler, "find_ptxas", lambda: made)
    code = assembler.machine_code("// text", "sm_90")
    assert code is not None
    assert code.startswith(CODE)
    assert b"-arch=sm_90" in code
    assert assembler.machine_code("// text", "sm_90") == code
    calls = (tmp_path / "calls").read_text
    assert len(calls().splitlines()) == 1
    assembler.machine_code("// other", "sm_90")
    own = assembler.machine_code(".version 8.0\n.target sm_90a\n", "sm_90")
    assert own is not None
    assert b"-arch=sm_90a" in own
    assembler.machine_code("// text", "sm_86")
    assert len(calls().splitlines()) == 4
    made = stand_in(tmp_path, 2)
    assembler.machine_code("// text", "sm_90")
    assert len(calls().splitlines()) == 5
    made = stand_in(tmp_path, 3, status=255)
    assert assembler.machine_code("// text", "sm_90") is None
    monkeypatch.setattr(assembler, "find_ptxas", lambda: None)
    assert assembler.machine_code("// text", "sm_90") is None


def test_a_driver_that_rejects_machine_code_gets_the_text(
    library: FakeCuda, network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = stand_in(tmp_path)
    monkeypatch.setattr(assembler, "find_ptxas", lambda: made)
    wanted = results(compiled(network))
    assert set(library.images) == {CODE}
    library.images.clear()
    library.takes_code = False
    assert results(compiled(network)) == wanted
    assert library.images
    assert all(image.startswith(b"//") for image in library.images)


def test_an_assembly_is_stored_whole() -> None:
    made = KernelAssembly("// \n\0ü", "relu_entry", (1, 2, 3), (4, 5, 6), 7, 8)
    assert stored_assembly(made.stored()) == made
