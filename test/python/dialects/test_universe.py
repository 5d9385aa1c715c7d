"""What is registered with xDSL: every entry loads, and its name is its own."""

import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache

import pytest
from places import TESTS
from xdsl.universe import Universe

from glow.backends.backend import Backend, PassFactory, loaded_backends
from glow.tools.opt.listings import summary
from glow.universe import (
    FOREIGN_DIALECTS,
    FRONTEND_PASSES,
    GLOW_DIALECTS,
    GRAPH_PASSES,
    INSTR_PASSES,
    LLVM_PASSES,
    LOWERING_PASSES,
    PADDING_PASSES,
    PARTITION_PASSES,
    PASS_GROUPS,
    QUANTIZATION_PASSES,
    REPLACED_DIALECTS,
    get_glow_passes,
    new_context,
)

PASSES = get_glow_passes()


@pytest.mark.parametrize("name", sorted(PASSES))
def test_pass_has_its_name_and_a_summary(name: str) -> None:
    assert PASSES[name]().name == name
    assert summary(PASSES[name])


@cache
def run_lines() -> str:
    """The commands of all lit tests."""
    files = TESTS.rglob("*.mlir")
    lines = (line for file in files for line in file.read_text().splitlines())
    return "\n".join(line for line in lines if line.startswith("// RUN:"))


@pytest.mark.parametrize("name", sorted(PASSES))
def test_pass_has_a_lit_test(name: str) -> None:
    """As a flag of its own or in a pipeline, not as a part of another name."""
    found = re.search(rf"(?<![\w/-])(--)?{name}(?![\w.-])", run_lines())
    assert found, f"no RUN line under test/ names {name}"


@pytest.mark.parametrize(
    "name", sorted(GLOW_DIALECTS | REPLACED_DIALECTS | FOREIGN_DIALECTS)
)
def test_dialect_has_its_name(name: str) -> None:
    assert (GLOW_DIALECTS | REPLACED_DIALECTS | FOREIGN_DIALECTS)[name]().name == name


def test_xdsl_knows_everything() -> None:
    multiverse = Universe.get_multiverse()
    assert multiverse.all_passes.keys() >= PASSES.keys()
    assert multiverse.all_dialects.keys() >= GLOW_DIALECTS.keys()


def own_passes(backend: Backend) -> Mapping[str, PassFactory]:
    """The passes that a backend adds to those of its base class."""
    base = type(backend).__base__
    assert base is not None
    assert issubclass(base, Backend)
    inherited = base.passes(backend)
    return {k: each for k, each in backend.passes().items() if k not in inherited}


def test_no_pass_is_registered_twice() -> None:
    tables = (
        FRONTEND_PASSES,
        GRAPH_PASSES,
        INSTR_PASSES,
        LLVM_PASSES,
        LOWERING_PASSES,
        PADDING_PASSES,
        PARTITION_PASSES,
        QUANTIZATION_PASSES,
        *map(own_passes, loaded_backends()),
    )
    assert sum(map(len, tables)) == len(PASSES)


def test_groups_are_made_of_passes() -> None:
    passes = Universe.get_multiverse().all_passes
    for name, members in PASS_GROUPS.items():
        assert name not in passes
        assert {one.name for one in members()} <= passes.keys()


def test_context_has_our_arith() -> None:
    context = new_context()
    context.load_registered_dialect("arith")
    (arith,) = (d for d in context.loaded_dialects if d.name == "arith")
    assert arith is REPLACED_DIALECTS["arith"]()


def test_help_imports_nothing_heavy() -> None:
    program = """if True:
        import sys
        from glow.tools.glow_opt import run_glow_opt
        try:
            run_glow_opt(["--help"])
        except SystemExit:
            heavy = {"numpy", "onnx", "llvmlite", "glow.dialects.glow"}
            sys.exit(" ".join(heavy & sys.modules.keys()) or 0)
    """
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    assert result.stderr == ""
    assert result.returncode == 0
    assert "usage: glow-opt" in result.stdout
