"""Networks with variables, which lie in the mutables, and with branches and loops."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.nodes.differential import assert_close
from support.programs.control_flow_programs import programs
from support.runtime.bundle_testing import NATIVE_TARGETS, written
from xdsl.parser import Parser

import glow
from glow.bundles.build import build_bundle
from glow.bundles.bundle import Bundle, BundleSettings
from glow.bundles.sizes import bundle_sizes
from glow.compiler import compile_module
from glow.options import CompileOptions
from glow.universe import new_context

STEP = np.array([1, 2, 3, 4], np.float32)
START = np.array([5, 6, 7, 8], np.float32)

TEXT = """
func.func @main(%x: tensor<4xf32> {glow.name = "x"}) -> tensor<4xf32> {
  %sum = glow.variable @sum initial dense<[5.0, 6.0, 7.0, 8.0]> : tensor<4xf32>
  %calls = glow.variable @calls : tensor<i32>
  %one = glow.constant dense<1> : tensor<i32>
  %next = glow.add %sum, %x : tensor<4xf32>
  %more = glow.add %calls, %one : tensor<i32>
  glow.save %next, @sum
  glow.save %more, @calls
  func.return %next : tensor<4xf32>
}
"""


def counting(target: str = "host", **settings: object) -> Bundle:
    """A network that adds up its inputs, and counts its calls."""
    options = CompileOptions(target=target)
    module = Parser(new_context(), TEXT).parse_module()
    return build_bundle({"net": module}, options, BundleSettings("net", **settings))


def check(loaded: glow.LoadedBundle) -> None:
    """Three calls, and the same after a reset."""
    (entry,) = loaded.entries.values()
    for _ in range(2):
        for number in range(1, 4):
            np.testing.assert_array_equal(entry(STEP), START + number * STEP)
        assert entry.variables["calls"] == 3
        np.testing.assert_array_equal(entry.variables["sum"], START + 3 * STEP)
        entry.reset()
    entry.variables["sum"][...] = 0
    np.testing.assert_array_equal(entry(STEP), STEP)


@pytest.mark.skipif(not NATIVE_TARGETS, reason="no x86-64 machine")
@pytest.mark.parametrize("weights", ["file", "linked"])
def test_variables_keep_their_values(weights: str, tmp_path: Path) -> None:
    folder = written(counting(weights=weights), tmp_path / "out")
    check(glow.load(folder))
    check(glow.load(folder))  # Nothing of the first one is left.
    assert bundle_sizes(folder).inputs_and_outputs >= 2 * 16 + 16 + 4


GATHER = """
func.func @main(%rows: tensor<2xi64>) -> tensor<2xf32> {
  %calls = glow.variable @calls : tensor<2xf32>
  %table = glow.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %found = glow.gather %table, %rows : tensor<2xf32>
  %next = glow.add %calls, %found : tensor<2xf32>
  glow.save %next, @calls
  func.return %next : tensor<2xf32>
}
"""


@pytest.mark.skipif(not NATIVE_TARGETS, reason="no x86-64 machine")
@pytest.mark.parametrize("threads", [False, True])
def test_errors_leave_variables_as_they_were(threads: bool, tmp_path: Path) -> None:
    module = Parser(new_context(), GATHER).parse_module()
    settings = BundleSettings("net", threads=threads)
    bundle = build_bundle({"net": module}, CompileOptions(), settings)
    loaded = glow.load(written(bundle, tmp_path / "out"))
    np.testing.assert_array_equal(loaded(np.array([0, 2])), [1, 3])
    with pytest.raises(glow.GlowError, match="outside of its axis"):
        loaded(np.array([0, 3]))
    np.testing.assert_array_equal(loaded(np.array([1, 1])), [3, 5])


@pytest.mark.parametrize("target", ["cortex-m0plus", "wasm"])
def test_emulated_variables(target: str, tmp_path: Path) -> None:
    pytest.importorskip("wasmtime" if target == "wasm" else "unicorn")
    pytest.importorskip("ziglang")
    folder = written(counting(target), tmp_path / "out")
    check(glow.load(folder, emulate=True))
    if target == "wasm" and shutil.which("node"):
        script = """
import { load } from './net.mjs';
const network = await load(), x = Float32Array.of(1, 2, 3, 4);
network.run({ x });
const first = network.run({ x }).output0[3] + network.variables.calls[0];
network.reset();
console.log(first, network.run({ x }).output0[3]);
"""
        command = ["node", "--input-type=module", "-e", script]
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=True
        )
        assert done.stdout == "18 12\n"


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.skipif(not NATIVE_TARGETS, reason="no x86-64 machine")
def test_programs_see_variables(tmp_path: Path) -> None:
    """The header has their places, and the example resets them before it runs."""
    folder = written(counting(), tmp_path / "out")
    header = (folder / "net.h").read_text()
    assert re.search(r"#define NET_SUM_OFFSET 0u\n#define NET_SUM_BYTES 16u", header)
    assert "int net_reset(const uint8_t *constants" in header
    make = ["make", "-s", "--no-print-directory", "run"]
    done = subprocess.run(make, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("OK\n", "")
    if shutil.which("rustc"):
        flags = ["--crate-type=lib", "--emit=metadata", "--edition=2021", "-Dwarnings"]
        (folder / "lib.rs").write_text("#![no_std]\npub mod net;\n")
        subprocess.run(["rustc", *flags, "lib.rs"], cwd=folder, check=True)


@pytest.mark.parametrize("name", ["counted", "while", "kept"])
def test_branches_and_loops(name: str, tmp_path: Path) -> None:
    """Trip counts and conditions that are data, on a machine of 32 bits."""
    pytest.importorskip("unicorn")
    pytest.importorskip("ziglang")
    text, cases = programs()[name]

    def parsed():
        return Parser(new_context(), text).parse_module()

    reference = compile_module(parsed(), CompileOptions(backend="interpreter"))
    options = CompileOptions(target="cortex-m4")
    bundle = build_bundle({"net": parsed()}, options, BundleSettings("net"))
    loaded = glow.load(written(bundle, tmp_path / "out"), emulate=True)
    for inputs in cases:
        found = loaded.run(
            dict(zip([i.name for i in loaded.inputs], inputs, strict=True))
        )
        for one, other in zip(
            found.values(), reference.function.run(inputs), strict=True
        ):
            assert_close(one, other, 1e-5)
