"""What compilation leaves undone: collections of garbage, and code that is cached."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from onnx import ModelProto, TensorProto, helper

import glow
from glow.dialects.errors import GlowError
from glow.frontends.onnx import messages
from glow.garbage_collection import collect_new, collection_paused, new_objects_only
from glow.runtime.threads import switch_interval
from glow.runtime.threads.switch_interval import frequent_switches

CODE_GENERATOR = "glow.lowering.loops_to_llvm.convert_loops_to_llvm"

COMPILE = f"""
import sys, numpy as np, onnx, onnx.helper as h, glow
x, y = (h.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [2, 3]) for n in "xy")
graph = h.make_graph([h.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
model = glow.compile(h.make_model(graph))
assert (model(np.full((2, 3), -1.0, np.float32)) == 0).all()
print("{CODE_GENERATOR}" in sys.modules)
"""

UNNEEDED = ("onnx", "ml_dtypes", "importlib.metadata")
"""Packages that take longer to load than they would be of use."""

COMPILE_FILE = f"""
import sys, time, glow
from pathlib import Path
glow.compile(sys.argv[1])
print([name for name in {UNNEEDED} if name in sys.modules])
from glow.lowering.target.library_pages import MAPS, read_mappings
from glow.lowering.target.llvm_library import PAGES
starts = [mapping.start for mapping in PAGES.mappings]

def resident():
    total, inside = 0, False
    for line in MAPS.read_text().splitlines() if MAPS.exists() else ():
        if "-" in line.split()[0]:
            inside = any(m.start in starts for m in read_mappings([line]))
        elif inside and line.startswith("Rss:"):
            total += int(line.split()[1])
    return total

print(resident())
glow.compile(sys.argv[2])
until = time.monotonic() + 30
while resident() >= 4096 and time.monotonic() < until:
    time.sleep(0.1)
print(resident())
"""


class Cycle:
    """Garbage that only the collector finds."""

    def __init__(self) -> None:
        self.me = self
        self.alive.append(1)

    def __del__(self) -> None:
        self.alive.pop()

    alive: list[int] = []


@pytest.fixture
def alone() -> None:
    """Compilations that other tests have begun in threads of their own are over."""
    end = time.monotonic() + 60
    while not gc.isenabled() or switch_interval._before:
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.usefixtures("alone")
def test_collection_is_paused_and_comes_back() -> None:
    assert gc.isenabled()
    with collection_paused():
        assert not gc.isenabled()
        with collection_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


@pytest.mark.usefixtures("alone")
def test_collection_comes_back_after_errors() -> None:
    with pytest.raises(GlowError):
        glow.compile("missing.onnx")
    assert gc.isenabled()


def test_new_garbage_is_collected_in_a_pause() -> None:
    with collection_paused():
        Cycle()
        assert Cycle.alive
        collect_new()
        assert not Cycle.alive


def test_objects_of_before_are_not_visited() -> None:
    with collection_paused():
        Cycle()
        with new_objects_only():
            Cycle()
            assert len(Cycle.alive) == 2
            collect_new()
            assert len(Cycle.alive) == 1
    gc.collect()
    assert not Cycle.alive


@pytest.mark.usefixtures("alone")
def test_turns_are_short_in_contexts_and_come_back() -> None:
    before = sys.getswitchinterval()
    first, second = frequent_switches(), frequent_switches()
    first.__enter__()
    assert sys.getswitchinterval() < before
    second.__enter__()
    first.__exit__(None, None, None)
    assert sys.getswitchinterval() < before
    second.__exit__(None, None, None)
    assert sys.getswitchinterval() == before


def test_a_file_needs_few_packages_and_leaves_no_pages_of_llvm(tmp_path: Path) -> None:
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy"
    )
    files = [tmp_path / f"{name}.onnx" for name in ("Relu", "Sigmoid")]
    for file in files:
        node = helper.make_node(file.stem, ["x"], ["y"])
        graph = helper.make_graph([node], "g", [x], [y])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        file.write_bytes(model.SerializeToString())
    unneeded, first, second = subprocess.run(
        [sys.executable, "-c", COMPILE_FILE, *map(str, files)],
        env={**os.environ, "GLOW_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert unneeded == "[]"
    assert int(first) < 4096, "at once"
    assert int(second) < 4096, "a while later"


def test_messages_are_those_of_the_package() -> None:
    assert messages.load().ModelProto is ModelProto
    assert messages.ModelProto is ModelProto


def test_a_known_network_needs_no_code_generator(tmp_path: Path) -> None:
    environment = {**os.environ, "GLOW_CACHE_DIR": str(tmp_path)}
    needed = [
        subprocess.run(
            [sys.executable, "-c", COMPILE],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for _ in range(2)
    ]
    assert needed == ["True", "False"]
