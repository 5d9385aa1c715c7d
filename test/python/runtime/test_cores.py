"""The default number of threads, and the runtime's code for other systems."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from glow.lowering.target.target import Target
from glow.runtime.native_code import compile_object
from glow.runtime.threads import cores
from glow.runtime.threads.clock import tick_code
from glow.runtime.threads.cores import available_cores, quotas
from glow.runtime.threads.thread_pool import pool_code


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "max 100000"}, []),
        ("0::/\n", {"cpu.max": "200000 100000"}, [2]),
        ("0::/\n", {"cpu.max": "150000 100000"}, [2]),
        ("0::/\n", {"cpu.max": "1000 100000"}, [1]),
        ("0::/a/b\n", {"a/cpu.max": "300000 100000", "cpu.max": "max 100000"}, [3]),
        ("0::/gone/host/path\n", {"cpu.max": "400000 100000"}, [4]),
        (
            "3:cpu,cpuacct:/a\n0::/\n",
            {"cpu/a/cpu.cfs_quota_us": "250000", "cpu/a/cpu.cfs_period_us": "100000"},
            [3],
        ),
        (
            "3:cpuacct,cpu:/docker/1\n",
            {"cpu/cpu.cfs_quota_us": "50000", "cpu/cpu.cfs_period_us": "100000"},
            [1],
        ),
        (
            "3:cpu:/\n",
            {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"},
            [],
        ),
        ("3:cpu:/\n", {"cpu/cpu.cfs_quota_us": "1", "cpu/cpu.cfs_period_us": "0"}, []),
        ("what\n", {"cpu.max": "100000 100000"}, []),
        ("0::/\n", {"cpu.max": "no numbers"}, []),
    ],
)
def test_quotas(
    tmp_path: Path, groups: str, files: dict[str, str], expected: list[int]
) -> None:
    (tmp_path / "groups").write_text(groups)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    assert [*quotas(tmp_path / "groups", tmp_path)] == expected
    assert not [*quotas(tmp_path / "none", tmp_path)]


@pytest.mark.parametrize(("found", "expected"), [([], 6), ([2], 2), ([8, 3], 3)])
def test_cores_of_a_container(
    monkeypatch: pytest.MonkeyPatch, found: list[int], expected: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(6)), raising=False)
    monkeypatch.setattr(cores, "quotas", lambda: iter(found))
    assert available_cores() == expected


def test_cores_where_the_system_has_no_affinity(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on macOS."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(cores, "quotas", lambda: iter(()))
    for count, expected in ((10, 10), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda count=count: count)
        assert available_cores() == expected


@pytest.mark.parametrize(
    ("triple", "preset", "magic"),
    [
        ("arm64-apple-darwin23.0.0", "neon", b"\xcf\xfa\xed\xfe"),
        ("x86_64-apple-darwin23.0.0", "avx2", b"\xcf\xfa\xed\xfe"),
        ("aarch64-unknown-linux-gnu", "neon", b"\x7fELF"),
    ],
)
def test_the_runtime_for_another_system(triple: str, preset: str, magic: bytes) -> None:
    """Code of the pool and the clock is generated; a futex is there on Linux only."""
    target = replace(Target.from_string(preset), triple=triple, cpu="")
    code = pool_code(target)
    assert ("@syscall(" in code) == ("linux" in triple)
    for text in (code, tick_code(target)):
        assert compile_object(text, target).startswith(magic)
