"""Pipelines: named phases of pass objects, and their text on the command line."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT
from xdsl.passes import ModulePass

from glow import GlowError
from glow.backends.backend import backend_names, get_backend
from glow.backends.pipeline import Passes, Phase, Pipeline
from glow.compiler import load, lower
from glow.dialects.printer import mlir_text
from glow.options import CompileOptions
from glow.passes.graph.fuse_activation import FuseActivationPass
from glow.passes.graph.verify_graph import VerifyGraphPass
from glow.passes.instr.fit_memory import FitMemoryPass
from glow.passes.instr.plan_memory import PlanMemoryPass
from glow.tools.glow_opt import run_glow_opt
from glow.tools.opt.listings import flag_of

SMALL = ROOT / "docs" / "small.mlir"
PHASES = ["graph", "lowered", "instr", "loops", "llvm", "asm", "obj"]


def pipeline_of(options: CompileOptions) -> Pipeline:
    return get_backend(options.backend).pipeline(options)


def test_phases_of_the_backends() -> None:
    assert pipeline_of(CompileOptions()).names == PHASES
    assert pipeline_of(CompileOptions("interpreter")).names == ["graph", "lowered"]


def test_an_unknown_phase_is_one_line() -> None:
    with pytest.raises(GlowError) as caught:
        pipeline_of(CompileOptions("interpreter"))["ptx"]
    assert caught.value.one_line() == "unknown phase 'ptx'; one of graph, lowered"


@pytest.mark.parametrize("backend", backend_names())
def test_passes_are_objects(backend: str) -> None:
    pipeline = pipeline_of(CompileOptions(backend))
    assert pipeline.compile_from in pipeline.names
    for phase in pipeline:
        assert all(isinstance(one, ModulePass) for one in phase.passes)
        assert bool(phase.passes) != phase.is_export


def test_options_reach_the_passes() -> None:
    options = CompileOptions(
        target="avx2", numerics="exact", weight_growth=1 / 3, memory_limit=4096
    )
    flags = {flag_of(one) for ph in pipeline_of(options) for one in ph.passes}
    assert "--fold-channel-shuffle='numerics=exact'" in flags
    assert (
        f"--assign-layout='target=avx2 numerics=exact weight_growth={1 / 3}'" in flags
    )
    assert "--instr-to-loops='target=avx2'" in flags
    instr = pipeline_of(options)["instr"].passes
    number = instr.index(PlanMemoryPass(limit=4096))
    assert instr[number - 1] == FitMemoryPass(4096)


def test_making_a_pipeline_imports_no_pass() -> None:
    program = """if True:
        import sys
        from glow.backends.backend import get_backend
        from glow.options import CompileOptions
        names = get_backend("cpu").pipeline(CompileOptions()).names
        assert "obj" in names
        print(*(n for n in sys.modules if n.startswith(("glow.passes", "xdsl"))))
    """
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def names_between(pipeline: Pipeline, level: str | None, last: str) -> list[str]:
    return [phase.name for phase in pipeline.between(level, last)]


def test_phases_between_levels() -> None:
    pipeline = pipeline_of(CompileOptions())
    assert names_between(pipeline, None, "instr") == PHASES[:3]
    assert names_between(pipeline, "lowered", "obj") == ["instr", "loops"]
    assert names_between(pipeline, "loops", "graph") == []
    small = pipeline_of(CompileOptions("interpreter"))
    assert names_between(small, "instr", "lowered") == []


def test_a_changed_phase() -> None:
    def without_verification(passes: Passes) -> Passes:
        return [one for one in passes if not isinstance(one, VerifyGraphPass)]

    old = pipeline_of(CompileOptions())
    new = old.change("graph", without_verification)
    assert [*new["graph"].passes, VerifyGraphPass()] == [*old["graph"].passes]
    assert new["lowered"] is old["lowered"]
    assert new.compile_from == old.compile_from
    with pytest.raises(GlowError, match="unknown phase 'grph'"):
        old.change("grph", without_verification)


def test_passes_are_made_once() -> None:
    made: list[int] = []

    def make() -> Passes:
        made.append(1)
        return [FuseActivationPass()]

    phase = Phase("graph", "", make)
    assert made == []
    assert phase.passes is phase.passes
    assert made == [1]


@pytest.mark.parametrize("phase", ["lowered", "instr", "loops"])
def test_listed_text_runs_the_phases(
    phase: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `--list-pipelines` prints does what the compiler does."""
    run_glow_opt(["--list-pipelines", "--backend=cpu", "--target-cpu=avx2"])
    listed = capsys.readouterr().out.replace("\\\n", "")
    arguments = [
        shlex.split(line) for line in listed.splitlines() if line.startswith("    --")
    ]
    text = tmp_path / "out.mlir"
    chosen = arguments[: PHASES.index(phase) + 1]
    run_glow_opt(
        [str(SMALL), *(flag for line in chosen for flag in line), "-o", str(text)]
    )
    expected = lower(load(SMALL), phase, CompileOptions(target="avx2"))
    assert text.read_text().split() == mlir_text(expected).split()
