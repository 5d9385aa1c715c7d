"""What the rest of the compiler asks a backend, of any backend."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from places import ROOT
from xdsl.dialects.builtin import ModuleOp
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

import glow
from glow import GlowError, compilation
from glow.backends import backend as backends
from glow.backends.backend import get_backend
from glow.backends.cpu import CpuBackend
from glow.backends.device import Device, find_device
from glow.compiler import load, lower_to
from glow.dialects import glow as glow_dialect
from glow.dialects.node import NodeOp
from glow.lowering.target.program_target import ATTRIBUTE
from glow.passes.rewriting.contract import VALUES, preserved_by
from glow.runtime.memory import memory_bytes
from glow.tools.devices_command import BackendDevices

SMALL = ROOT / "docs" / "small.mlir"
IMAGE = np.ones((1, 3, 4, 4), np.float32)


class OtherBackend(CpuBackend):
    """One of another package, which says what it is asked."""

    name = "other"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def version(self) -> str:
        return "1"

    def prepare(self) -> None:
        self.asked.append("prepare")
        raise OSError("nothing to prepare")

    def verify(self, module: ModuleOp) -> None:
        self.asked.append("verify")
        super().verify(module)

    def load_program(self, *arguments: object) -> backends.CompiledFunction:
        self.asked.append("load_program")
        return super().load_program(*arguments)


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> Iterator[OtherBackend]:
    """A backend that is loaded under its own name."""
    backend = OtherBackend()
    monkeypatch.setitem(backends._loaded, "other", backend)
    return backend


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of models of its own."""
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("GLOW_MODEL_CACHE_MB", "100")
    return tmp_path / "models"


def test_a_known_model_is_loaded_by_its_backend(
    other: OtherBackend, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = glow.compile(SMALL, backend="other")
    compilation.wait_for_stores()
    assert len([*cache.iterdir()]) == 1
    assert "prepare" in other.asked
    assert "load_program" not in other.asked
    again = glow.compile(SMALL, backend="other")
    assert other.asked[-1] == "load_program"
    assert again.backend == "other"
    np.testing.assert_array_equal(again(IMAGE), first(IMAGE))
    monkeypatch.setattr(OtherBackend, "version", lambda _: "2")
    other.asked.clear()
    glow.compile(SMALL, backend="other")
    assert "load_program" not in other.asked


def test_models_of_other_backends_are_not_kept(cache: Path) -> None:
    glow.compile(SMALL, backend="interpreter")
    compilation.wait_for_stores()
    assert not cache.exists()


def test_pickles_name_their_backend(
    other: OtherBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = glow.compile(SMALL, backend="other", threads=1)
    data = pickle.dumps(model)
    again = pickle.loads(data)
    assert other.asked[-1] == "load_program"
    assert again.backend == "other"
    np.testing.assert_array_equal(again(IMAGE), model(IMAGE))
    monkeypatch.setattr(OtherBackend, "version", lambda _: "2")
    with pytest.raises(GlowError, match="another version"):
        pickle.loads(data)


def test_what_no_backend_keeps_is_not_pickled() -> None:
    with pytest.raises(GlowError, match="InterpretedFunction runs cannot be pickled"):
        pickle.dumps(glow.compile(SMALL, backend="interpreter"))
    program = glow.compile(SMALL).function.program
    with pytest.raises(GlowError, match="backend 'interpreter' stores no programs"):
        get_backend("interpreter").load_program(program, 1)


def test_layouts_without_a_target_are_refused() -> None:
    module = load(SMALL)
    lower_to(module, "lowered")
    del module.attributes[ATTRIBUTE]
    for backend in ("cpu", "interpreter"):
        with pytest.raises(GlowError, match="does not say for which target"):
            lower_to(module.clone(), "lowered", backend=backend)


@pytest.mark.parametrize("name", ["cpu", "interpreter"])
def test_devices(name: str) -> None:
    (device,) = get_backend(name).devices()
    assert device.name == f"{name}:0"
    assert device.kind == "cpu"
    assert device.memory_bytes == memory_bytes()


def test_rows_of_devices() -> None:
    (row,) = BackendDevices("gpu", [], "no driver").rows()
    assert row.split(maxsplit=1) == ["gpu", "cannot be used: no driver"]
    (row,) = BackendDevices("gpu", [Device("gpu:1", "gpu", None)]).rows()
    assert row.split() == ["gpu:1", "gpu", "?"]
    broken = Device("gpu:0", "gpu", 1 << 30, "X1", problem="its driver is old")
    (row,) = BackendDevices("gpu", [broken]).rows()
    assert row.endswith("1,024 MB  cannot be used: its driver is old")


GPUS = [
    Device("gpu:0", "gpu", None, "Maker X1", problem="its driver is old"),
    Device("gpu:1", "gpu", None, "Maker X2"),
    Device("gpu:2", "gpu", None, "Other 3"),
]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (None, "gpu:1"),
        ("gpu:2", "gpu:2"),
        ("2", "gpu:2"),
        ("x2", "gpu:1"),
        ("maker", "gpu:1"),
    ],
)
def test_a_device_is_found(wanted: str | None, found: str) -> None:
    assert find_device("gpu", GPUS, wanted, "").name == found


@pytest.mark.parametrize(
    ("devices", "wanted", "message"),
    [
        (GPUS, "0", "device 'gpu:0' cannot be used: its driver is old"),
        (GPUS, "3", "unknown device '3'"),
        (GPUS, "gpu:3", r"unknown device 'gpu:3'; there are gpu:0 \(Maker X1\), gpu:1"),
        ([], None, "backend 'gpu' has no device: no driver"),
    ],
)
def test_a_device_that_is_not_there(
    devices: Sequence[Device], wanted: str | None, message: str
) -> None:
    with pytest.raises(GlowError, match=message):
        find_device("gpu", devices, wanted, "no driver")


def test_a_model_runs_on_a_device_that_is_there() -> None:
    assert glow.compile(SMALL, device="cpu:0")(IMAGE).shape == (1, 16, 4, 4)
    with pytest.raises(GlowError, match=r"unknown device '7'; there are cpu:0 \("):
        glow.compile(SMALL, device="7")
    with pytest.raises(GlowError, match="device must be a name, not 0"):
        glow.compile(SMALL, device=0)


def test_earlier_names_work() -> None:
    """Those of methods of a backend, and what a pass `preserves`, which was `keeps`."""
    with pytest.warns(
        FutureWarning, match=r"Earlier\.(keeps|supports) is now "
    ) as caught:

        class Earlier(OtherBackend):
            def keeps(self, op: NodeOp) -> bool:
                return False

            def supports(self, op: NodeOp) -> str | None:
                return "never"

    class EarlierPass(DeadCodeElimination):
        name = "earlier"
        keeps = VALUES

    relu = glow_dialect.ReluOp.__new__(glow_dialect.ReluOp)
    assert len(caught) == 2
    assert not Earlier().is_legal(relu)
    assert Earlier().refuses(relu) == "never"
    with pytest.warns(FutureWarning, match=r"EarlierPass\.keeps is now preserves"):
        assert preserved_by(EarlierPass()) == VALUES
