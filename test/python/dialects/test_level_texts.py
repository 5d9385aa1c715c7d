"""Programs printed at any level, read by a fresh process: the same code and bits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from places import ROOT
from support.programs.level_texts import (
    HOST,
    LEVELS,
    OTHER_TARGETS,
    Options,
    differences,
    read_in_fresh_process,
    write_levels,
)

import glow
from benchmarks.networks import TINY_NETWORKS, make_inputs
from glow.compiler import load, lower_to
from glow.dialects.errors import GlowError
from glow.dialects.weight_file import write_weight_file
from glow.lowering.target.program_target import (
    ProgramTarget,
    advice,
    program_target,
)
from glow.lowering.target.target import PRESETS, Target
from glow.options import CompileOptions
from glow.tools.compile_command import compile_model
from glow.tools.glow import run_glow
from glow.tools.glow_opt import run_glow_opt

EXAMPLES = ROOT / "examples" / "digits"
SMALL = ROOT / "docs" / "small.mlir"

CASES = {
    "mobilenet_v2": (HOST, OTHER_TARGETS[0]),
    "bert": (HOST,),
    "digits": (HOST, OTHER_TARGETS[1]),
}
"""Networks and their targets; `make fuzz` takes all of both."""


STEP = """
func.func @main(%x: tensor<2x16xf32>) -> tensor<2x16xf32> {
  %w = glow.variable @"fc/w" initial @w : tensor<16x16xf32>
  %b = glow.variable @fc.b initial dense<[1.0, 2.0]> : tensor<2xf32>
  %m = glow.variable @"fc/w.moment" : tensor<16x16xf32>
  %0 = glow.matmul %x, %w : tensor<2x16xf32>
  %1 = glow.reshape %b : tensor<2x1xf32>
  %2 = glow.add %0, %1 : tensor<2x16xf32>
  %3 = glow.transpose %x permutation [1, 0] : tensor<16x2xf32>
  %4 = glow.matmul %3, %2 : tensor<16x16xf32>
  %5 = glow.add %m, %4 : tensor<16x16xf32>
  %6 = glow.sub %w, %5 : tensor<16x16xf32>
  glow.save %6, @"fc/w"
  glow.save %5, @"fc/w.moment"
  func.return %2 : tensor<2x16xf32>
}
"""


def write_model(name: str, folder: Path) -> Path:
    """The model file of a case, with its inputs beside it."""
    path = folder / f"{name}.onnx"
    model = (
        TINY_NETWORKS[name]()
        if name in TINY_NETWORKS
        else onnx.load(EXAMPLES / f"{name}.onnx")
    )
    onnx.save(model, str(path))
    np.savez(folder / f"{name}.inputs.npz", **make_inputs(model))
    return path


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all texts, read by one fresh process."""
    folder = tmp_path_factory.mktemp("texts")
    for name, targets in CASES.items():
        write_levels(write_model(name, folder), folder, {}, targets)
    read_in_fresh_process(folder, "llvm")
    return folder


@pytest.mark.parametrize("name", CASES)
def test_texts_make_the_code_of_the_model(name: str, texts: Path) -> None:
    inputs = dict(np.load(texts / f"{name}.inputs.npz"))
    path = texts / f"{name}.onnx"
    assert not list(differences(path, texts, inputs, "llvm", {}, CASES[name]))


def test_texts_of_variables(tmp_path: Path) -> None:
    """Initial values come from the weight file, the text and nowhere."""
    (folder := tmp_path / "texts").mkdir()
    path = tmp_path / "step.mlir"
    path.write_text(STEP)
    weights = np.random.default_rng(0).standard_normal((16, 16)).astype(np.float32)
    write_weight_file({"w": weights}, tmp_path / "step.mlir.safetensors")
    inputs = {"x": np.ones((2, 16), np.float32)}
    np.savez(folder / "step.inputs.npz", **inputs)
    write_levels(path, folder, {}, (HOST,))
    read_in_fresh_process(folder, "llvm")
    assert not list(differences(path, folder, inputs, "llvm", {}, (HOST,)))


@pytest.mark.parametrize("target", OTHER_TARGETS)
@pytest.mark.parametrize("level", ["lowered", "instr", "loops"])
def test_texts_for_other_targets_are_refused(
    level: str, target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By every way into the compiler, in a line that says what works; which works."""
    text, out = tmp_path / "text.mlir", ["-o", str(tmp_path / "out")]
    compile_model(SMALL, level, text, CompileOptions(target=target))
    refused = f"lowered for {target} .*; --target-cpu={target} compiles it for that"
    commands = [["compile", *out], ["report", *out]]
    for command, *rest in commands if level != "loops" else commands[:1]:
        with pytest.raises(GlowError, match=refused):
            run_glow([command, str(text), *rest])
        run_glow([command, str(text), *rest, f"--target-cpu={target}"])
    with pytest.raises(GlowError, match=refused):
        run_glow_opt([str(text), "-t", "asm"])
    run_glow_opt([str(text), "-t", "asm", f"--target-cpu={target}"])
    assert ("ymm" in capsys.readouterr().out) == (target == "x86-64-v3")
    if level != "loops":
        with pytest.raises(GlowError, match=refused):
            run_glow(["run", str(text)])
        with pytest.raises(GlowError, match=refused):
            glow.compile(text)


def test_objects_are_those_of_the_model(tmp_path: Path) -> None:
    """Of each level, for two other targets."""
    for target in OTHER_TARGETS:
        expected = lower_to(load(SMALL), "obj", target=target)
        for level in LEVELS:
            text = tmp_path / f"{level}.{target}.mlir"
            compile_model(SMALL, level, text, CompileOptions(target=target))
            assert lower_to(load(text), "obj", target=target) == expected


def test_graphs_are_for_any_target(tmp_path: Path) -> None:
    text = tmp_path / "graph.mlir"
    compile_model(SMALL, "graph", text, CompileOptions(target="x86-64-v3"))
    assert program_target(load(text)) is None
    lower_to(load(text), "lowered", target="neoverse-n1")


def test_packed_layouts_without_a_target_are_refused(tmp_path: Path) -> None:
    for level in ("lowered", "instr"):
        module = load(SMALL)
        lower_to(module, level)
        del module.attributes["glow.target"]
        with pytest.raises(GlowError, match="does not say for which target"):
            glow.compile(module)


@pytest.mark.parametrize("options", [{"numerics": "exact"}, {"precision": "fp16"}])
def test_options_that_come_too_late(options: Options) -> None:
    module = load(SMALL)
    lower_to(module, "lowered")
    with pytest.raises(
        GlowError, match="comes too late for a program of the level low"
    ):
        glow.compile(module, **options)
    glow.compile(module, memory_limit=1024)
    lower_to(module, "instr")
    with pytest.raises(GlowError, match="memory_limit comes too late"):
        glow.compile(module, memory_limit=1024)


def test_loops_do_not_run() -> None:
    module = load(SMALL)
    lower_to(module, "loops")
    with pytest.raises(GlowError, match="has no weights, and cannot run by itself"):
        glow.compile(module)


@pytest.mark.parametrize("name", [*PRESETS, "host", "host_without-fma", "znver4"])
def test_targets_in_programs(name: str) -> None:
    """The attribute says what the target is, and advice names it where it has a name."""
    target = Target.from_string(name)
    spelled = ProgramTarget.of(target, name)
    assert ProgramTarget.from_attribute(spelled.attribute()) == spelled
    advised = advice(spelled)
    assert advised.startswith("--target-cpu=")
    assert ("--target-features=-fma" in advised) == (name == "host_without-fma")
    unknown = replace(spelled, l1_bytes=12345, name="z80")
    assert advice(unknown).startswith("lower the network anew")


def test_target_of_the_pass_pipeline(capsys: pytest.CaptureFixture[str]) -> None:
    """`--target-cpu` is for all passes that take a target."""
    passes = ["--lower", "--split-batch", "--assign-layout"]
    run_glow_opt([str(SMALL), *passes, "--target-cpu=x86-64-v3"])
    output = capsys.readouterr().out
    assert 'glow.target = #glow.target<{name = "x86-64-v3", arch = "x86_64"' in output
    assert "x8xf32>" in output
    other = [*passes[:-1], "--assign-layout=target=neon", "--target-cpu=x86-64-v3"]
    with pytest.raises(GlowError, match="assign-layout: the program is lowered for"):
        run_glow_opt([str(SMALL), *other])
    with pytest.raises(GlowError, match="--target-cpu is for passes with a target"):
        run_glow_opt([str(SMALL), "--cse", "--target-cpu=x86-64-v3"])
