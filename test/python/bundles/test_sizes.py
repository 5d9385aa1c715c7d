"""`glow size`, and the bound of the stack that the headers tell."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from places import ROOT
from support.runtime.bundle_testing import bundle_of

from glow.bundles.elf import ObjectSymbols
from glow.bundles.stack_bound import (
    FLOAT_GAP,
    RUNTIME_BYTES,
    call_graph,
    frames_told,
    stack_bound,
    with_frame_warnings,
)
from glow.dialects.errors import GlowError
from glow.lowering.target.target import SIZE, Target
from glow.lowering.target.target_names import with_feature
from glow.runtime.native_code import compile_object
from glow.tools.glow import run_glow

MLP = ROOT / "examples" / "digits" / "mlp.onnx"
M4 = Target.from_string("cortex-m4")


def test_sizes_of_a_bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "out"
    options = ["--target=cortex-m4", "--optimize=size", "--weights=linked"]
    run_glow(["compile", str(MLP), "--emit=bundle", "-o", str(folder), *options])
    capsys.readouterr()
    run_glow(["size", str(folder), "--json"])
    sizes = json.loads(capsys.readouterr().out)
    run_glow(["size", str(folder)])
    table = dict(
        line.rsplit(maxsplit=1)
        for line in capsys.readouterr().out.split("\n")[1:-1]
        if line != "kernels"
    )
    numbers = {name.strip(): int(number) for name, number in table.items()}

    content = ObjectSymbols((folder / "mlp.o").read_bytes())
    loaded = sum(section.size for section in content.sections if section.is_loaded)
    assert sizes["flash"] == numbers["flash"] == loaded
    assert sizes["text"] >= sum(sizes["kernels"].values()) > 0
    assert sizes["ram"] == numbers["RAM"]
    parts = "activations", "inputs_and_outputs", "stack"
    assert sizes["ram"] == sum(sizes[part] for part in parts)
    assert f"MLP_STACK_BYTES {sizes['stack']}u" in (folder / "mlp.h").read_text()


def test_folders_without_a_bundle(tmp_path: Path) -> None:
    with pytest.raises(GlowError, match="has no bundle"):
        run_glow(["size", str(tmp_path)])


IR = """
define internal void @leaf(ptr %p) nounwind {
  %room = alloca [100 x i32]
  store volatile i32 1, ptr %room
  ret void
}

define void @middle(ptr %p) nounwind {
  %room = alloca [10 x i32]
  store volatile i32 1, ptr %room
  call void @leaf(ptr %p)
  call void @elsewhere()
  ret void
}

define void @top(ptr %p) nounwind {
  call void @leaf(ptr %p)
  call void @middle(ptr %p)
  ret void
}

declare void @elsewhere()
"""


def test_the_deepest_path_counts(capfd: pytest.CaptureFixture[str]) -> None:
    with frames_told() as frames:
        compile_object(with_frame_warnings(IR), M4)
        os.write(2, b"something else\n")
    assert capfd.readouterr().err == "something else\n"
    assert 400 <= frames["leaf"] < 420
    assert 40 <= frames["middle"] < 60
    calls = call_graph(text + "}" for text in IR.split("\n}\n"))
    assert calls["top"] == {"leaf", "middle"}
    bound = stack_bound(calls, frames, M4, calls_runtime=False)
    path = [frames[name] + FLOAT_GAP for name in ("top", "middle", "leaf")]
    assert bound == sum(path)
    more = stack_bound(calls, frames, M4, calls_runtime=True)
    assert more == bound + RUNTIME_BYTES


def test_calls_push_the_place_to_return_to() -> None:
    host = Target.from_string("x86-64")
    calls = {"top": frozenset({"leaf"}), "leaf": frozenset[str]()}
    bound = stack_bound(calls, {"leaf": 32}, host, calls_runtime=False)
    assert bound == 8 + (32 + 8 + host.vector_bytes)


@pytest.mark.parametrize(
    ("network", "target"),
    [("mlp", "cortex-m3"), ("mlp", "riscv32"), ("keyword_spotting", "cortex-m55")],
)
def test_sums_are_kept_in_registers(network: str, target: str) -> None:
    """On cores of few or narrow ones, too: the stack of a microcontroller is small."""
    small = with_feature(target, SIZE)
    bundle = bundle_of(network, small, quantized=True, optimize="size")
    assert bundle.stack_bytes is not None
    assert bundle.stack_bytes <= 512
