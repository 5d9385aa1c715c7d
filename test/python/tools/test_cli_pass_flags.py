"""The fold of pass flags into one pipeline."""

import pytest

from glow.dialects.errors import GlowError, UsageError
from glow.passes.graph.partition.assign_backends import AssignBackendsPass
from glow.tools.opt.pass_flags import (
    fold_pipeline,
    normalize_options,
    parse_passes,
    unwrap_pipeline,
)
from glow.universe import get_glow_passes

PASSES = {"cse", "dce", "lower", "plan-memory"}


@pytest.mark.parametrize(
    ("arguments", "folded"),
    [
        ([], []),
        (["in.mlir"], ["in.mlir"]),
        (["--cse", "in.mlir", "--dce"], ["--passes=cse,dce", "in.mlir"]),
        (["-p", "dce,cse", "--lower"], ["--passes=dce,cse,lower"]),
        (["--passes=dce", "-cse"], ["--passes=dce,cse"]),
        (["--lower=a=1 b=x.y"], ['--passes=lower{a=1 b="x.y"}']),
        (["--pass-pipeline=builtin.module(cse)", "--dce"], ["--passes=cse,dce"]),
        (["--unknown", "--cse"], ["--passes=cse", "--unknown"]),
        (["--cse", "--", "--dce"], ["--passes=cse", "--", "--dce"]),
        (["-o", "out", "-t", "llvm"], ["-o", "out", "-t", "llvm"]),
    ],
)
def test_fold(arguments: list[str], folded: list[str]) -> None:
    assert fold_pipeline(arguments, PASSES) == folded


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("builtin.module(a,b{x=1})", "a,b{x=1}"),
        ("builtin.module(a,func.func(b,c{x=1 y=2}),d)", "a,b,c{x=1 y=2},d"),
        ("builtin.module(func.func(a),func.func(b))", "a,b"),
        ("any(a)", "a"),
        ("a,b", "a,b"),
        ('a{x="(" y=")"}', 'a{x="(" y=")"}'),
        ("a{file=dir/p.yaml}", 'a{file="dir/p.yaml"}'),
        ("builtin.module()", ""),
        ("", ""),
    ],
)
def test_unwrap(text: str, passes: str) -> None:
    assert unwrap_pipeline(text) == passes


@pytest.mark.parametrize("text", ["module(a)", "builtin.module(a", "a)", "scf.for(a)"])
def test_unwrap_refuses(text: str) -> None:
    with pytest.raises(GlowError):
        unwrap_pipeline(text)


@pytest.mark.parametrize(
    ("options", "normalized"),
    [
        ("a=1  b=2", "a=1 b=2"),
        ("a", "a"),
        ("a,b c=1", "a b c=1"),
        ("a=1,2,x.y", 'a=1,2,"x.y"'),
        ("a='x y'", 'a="x y"'),
        ('a="x y" b', 'a="x y" b'),
        ("a=-1.5e3", "a=-1.5e3"),
        ("a=true", "a=true"),
    ],
)
def test_normalize_options(options: str, normalized: str) -> None:
    assert normalize_options(options) == normalized


def test_words_without_a_name_are_values_of_the_positional_option() -> None:
    known = get_glow_passes()
    for text in (
        "assign-backends{npu cpu}",
        "assign-backends{backends=npu,cpu}",
        "assign-backends{npu cpu unsupported=x}",
    ):
        (one,) = parse_passes(text, known, {})
        assert isinstance(one, AssignBackendsPass)
        assert one.backends == ("npu", "cpu")
    with pytest.raises(UsageError, match="unknown option 'npu' of pass 'partition'"):
        parse_passes("partition{npu}", known, {})
