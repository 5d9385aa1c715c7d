"""Objects of the runtime: cached by machine and version, and the machine's description."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import glow.runtime.caches.runtime_objects as runtime_objects
from glow.lowering.target.target import Target, host_target
from glow.runtime.caches import calibration
from glow.runtime.caches.machine import machine
from glow.runtime.native_code import compile_object

ANSWER = "define i64 @answer() {\n  ret i64 42\n}\n"

POOL_WITHOUT_LLVM = """
import sys
from glow.runtime.threads.thread_pool import thread_pool
thread_pool()
print("llvmlite" in sys.modules)
"""


@pytest.fixture
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path))


@pytest.mark.usefixtures("_empty_cache")
def test_an_object_is_compiled_once() -> None:
    asked: list[Target] = []

    def code(target: Target) -> str:
        asked.append(target)
        return ANSWER

    first = runtime_objects.runtime_object("answer", code)
    assert runtime_objects.runtime_object("answer", code) == first
    assert first == compile_object(ANSWER, host_target())
    assert asked == [host_target()]


@pytest.mark.usefixtures("_empty_cache")
@pytest.mark.parametrize("what", ["machine", "versions"])
def test_another_machine_or_version(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = runtime_objects.runtime_object("answer", lambda _: ANSWER)
    monkeypatch.setattr(runtime_objects, what, lambda: "another")
    other = ANSWER.replace("42", "43")
    assert runtime_objects.runtime_object("answer", lambda _: other) != first


def test_known_objects_need_no_llvm(tmp_path: Path) -> None:
    answers = [
        subprocess.run(
            [sys.executable, "-c", POOL_WITHOUT_LLVM],
            env={"GLOW_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for _ in range(2)
    ]
    assert answers == ["True", "False"]


def test_machine_without_its_description(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = machine()
    monkeypatch.setattr(calibration, "PROCESSORS", str(tmp_path / "missing"))
    assert machine.__wrapped__() == repr(host_target())
    monkeypatch.setattr(calibration, "PROCESSORS", str(tmp_path / "processors"))
    (tmp_path / "processors").write_text(
        "processor : 0\nflags : a b\ncpu MHz : 1\n\nflags : c\n"
    )
    text = machine.__wrapped__()
    assert text != described
    assert "flags: a b" in text
    assert "MHz" not in text
    assert "c" not in text.splitlines()
