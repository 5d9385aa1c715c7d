"""The checker of translations finds wrong rewrites, broken conditions and bad excuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from places import TESTS
from support.programs import validation
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of
from glow.passes.rewriting.contract import BITS, MEANING, VALUES, Condition
from glow.passes.rewriting.node_builder import NodeBuilder
from glow.passes.rewriting.patterns import RewritePass

PROGRAM = """// RUN: glow-opt --{name} %s | filecheck %s
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {{
  %0 = glow.relu %x : tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}}
"""


def to_abs(op: NodeOp, builder: NodeBuilder) -> SSAValue:
    """A wrong rewrite: right only where x is not negative."""
    return builder.node(glow.AbsOp, op.operands[0])


def slightly_off(op: NodeOp, builder: NodeBuilder) -> SSAValue:
    """A rewrite that changes results by rounding."""
    x = op.operands[0]
    bounded = builder.node(glow.ClipOp, x, low=0.0)
    for number in (3.0, 1 / 3):
        factor = builder.splat(number, element_of(x))
        bounded = builder.node(glow.MulOp, bounded, factor)
    return bounded


def _relus(module: ModuleOp) -> str | None:
    return "glow.relu" if any(op.name == "glow.relu" for op in module.walk()) else None


NO_RELU = Condition("without relu", _relus)


class WrongPass(RewritePass):
    name = "wrong"
    rewrites = {glow.ReluOp: (to_abs,)}


class RoundingPass(RewritePass):
    name = "rounding"
    rewrites = {glow.ReluOp: (slightly_off,)}


class DeclaredPass(RoundingPass):
    name = "declared"
    preserves = VALUES


class OnPurposePass(WrongPass):
    name = "on-purpose"
    preserves = MEANING


class NeedyPass(RewritePass):
    name = "needy"
    requires = (NO_RELU,)


class LazyPass(RewritePass):
    name = "lazy"
    ensures = (NO_RELU,)


class RaisingPass(RewritePass):
    name = "raising"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise ValueError("out of ideas")


PASSES = (
    WrongPass, RoundingPass, DeclaredPass, OnPurposePass, NeedyPass, LazyPass, RaisingPass,
)  # fmt: skip


@pytest.fixture
def with_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {
        **validation.all_passes(),
        **{made.name: (lambda made=made: made) for made in PASSES},
    }
    monkeypatch.setattr(validation, "all_passes", lambda: known)
    return


def report_of(tmp_path: Path, name: str) -> validation.Report:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM.format(name=name))
    return validation.validate_file(path)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("wrong", "wrong changes results"),
        ("rounding", "rounding changes results"),
        ("needy", "before needy: not without relu"),
        ("lazy", "after lazy: not without relu"),
        ("raising", "out of ideas"),
    ],
)
def test_wrong_passes_are_caught(
    with_passes: None, tmp_path: Path, name: str, complaint: str
) -> None:
    (wrong,) = report_of(tmp_path, name).wrong
    assert complaint in wrong


@pytest.mark.parametrize(("name", "compared"), [("declared", 1), ("on-purpose", 0)])
def test_what_a_pass_declares_is_accepted(
    with_passes: None, tmp_path: Path, name: str, compared: int
) -> None:
    report = report_of(tmp_path, name)
    assert report.wrong == []
    assert report.compared == compared
    assert DeclaredPass.preserves != WrongPass.preserves == BITS


def test_an_unknown_excuse_is_wrong() -> None:
    report = validation.Report()
    report.skip("a program", validation.EXPECTS_ERROR)
    assert report.wrong == []
    report.skip("a program", "it was late")
    assert report.wrong == ["a program: cannot run: it was late"]


def test_run_lines_are_read() -> None:
    text = "// RUN: not glow-opt %s 2>&1 | filecheck %s\n// RUN: glow-opt --cse %s -o %t && cat %t"
    found = list(validation.commands(text))
    assert [words[:2] for words in found] == [
        ["not", "glow-opt"],
        ["glow-opt", "--cse"],
    ]
    assert [p.name for p in validation.passes_of(found[1])] == ["cse"]


def test_most_graph_tests_run() -> None:
    """The suites of the graph level have no program that cannot run."""
    files = sorted((TESTS / "graph").glob("*.mlir"))
    reports = [validation.validate_file(file) for file in files[:6]]
    assert sum(report.compared for report in reports) >= len(reports)
    assert not any(report.wrong for report in reports)
