"""Every pass keeps what programs with branches and loops compute, and their text."""

from __future__ import annotations

import numpy as np
import pytest
from support.nodes.differential import Array, assert_all_close, random_array
from support.programs.control_flow_programs import programs
from xdsl.dialects.builtin import ModuleOp
from xdsl.transforms.canonicalize import CanonicalizePass

import glow
from glow.backends.backend import get_backend
from glow.compiler import lower_to
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.lowering.glow_to_instr import GlowToInstrPass
from glow.lowering.lower_nodes.lower_nodes import LowerNodesPass
from glow.options import CompileOptions
from glow.passes.graph import PASSES as GRAPH_PASSES
from glow.passes.instr import PASSES as INSTR_PASSES
from glow.passes.rewriting.contract import MEANING
from glow.universe import new_context

PROGRAMS = programs()
NAMES = pytest.mark.parametrize("name", PROGRAMS)


def read(name: str) -> ModuleOp:
    return parse_text(new_context(), PROGRAMS[name][0], name)


def results(module: ModuleOp, name: str) -> list[list[Array]]:
    return [run(module, inputs) for inputs in PROGRAMS[name][1]]


def check(module: ModuleOp, name: str, expected: list[list[Array]], when: str) -> None:
    module.verify()
    for found, wanted in zip(results(module, name), expected, strict=True):
        try:
            assert_all_close(found, wanted, 1e-5)
        except AssertionError as error:
            raise AssertionError(f"after {when}: {error}") from error


@NAMES
def test_graph_passes(name: str) -> None:
    """One after another, each on the program as it is written."""
    module, context = read(name), new_context()
    expected = results(module, name)
    for pass_name, load in GRAPH_PASSES.items():
        if load().preserves == MEANING:  # it adds results, or changes what is meant
            continue
        changed = module.clone()
        load()().apply(context, changed)
        check(changed, name, expected, pass_name)


@NAMES
def test_instruction_passes(name: str) -> None:
    """Each alone behind bufferization, where it can stand there."""
    module, context = read(name), new_context()
    expected = results(module, name)
    CanonicalizePass().apply(context, module)
    LowerNodesPass("none").apply(context, module)
    GlowToInstrPass().apply(context, module)
    check(module, name, expected, "glow-to-instr")
    for pass_name, load in INSTR_PASSES.items():
        changed = module.clone()
        limit = (1 << 20,) if pass_name == "fit-memory" else ()
        load()(*limit).apply(context, changed)
        check(changed, name, expected, pass_name)


@NAMES
def test_pipeline(name: str) -> None:
    """Each pass of the CPU's pipeline, up to planned memory."""
    module, context = read(name), new_context()
    expected = results(module, name)
    options = CompileOptions(threads=2)
    for phase in get_backend("cpu").pipeline(options):
        if phase.name in ("graph", "lowered", "instr"):
            for one in phase.passes:
                one.apply(context, module)
                check(module, name, expected, f"{phase.name}: {one.name}")


@NAMES
def test_native_code(name: str) -> None:
    """Results do not depend on the number of threads, nor on a way through text."""
    module = read(name)
    expected = results(module, name)
    levels = [module, *(lower_to(module.clone(), each) for each in ("graph", "instr"))]
    first: list[list[Array]] | None = None
    for level, threads in zip(levels, (1, 2, 3), strict=True):
        again = (
            parse_text(new_context(), str(level), name) if level is module else level
        )
        model = glow.compile(again, threads=threads)
        found = [list(model(*i)) for i in PROGRAMS[name][1]]
        for one, wanted in zip(found, expected, strict=True):
            assert_all_close(one, wanted, 1e-5)
        first = first or found
        for one, other in zip(first, found, strict=True):
            for a, b in zip(one, other, strict=True):
                np.testing.assert_array_equal(a, b)


def test_data_beyond_a_buffer() -> None:
    """More iterations than a buffer has elements end with the last one."""
    rows, _ = PROGRAMS["counted"][1][-1]
    model = glow.compile(read("counted"))
    for number, same in ((1 << 40, 5), (-(1 << 40), 0)):
        for a, b in zip(
            model(rows, np.array(number)), model(rows, np.array(same)), strict=True
        ):
            np.testing.assert_array_equal(a, b)


EARLY = """
func.func @main(%c: memref<1xi1>, %x: memref<6xf32>, %y: memref<6xf32>)
    attributes {glow.input_count = 2 : i64, glow.arena_bytes = 64 : i64} {
  %a = instr.alloc offset 0 : memref<1xi1>
  instr.not @out %a, @in %c
  %flag = instr.tensorview %a : memref<i1>
  %0 = memref.load %flag[] : memref<i1>
  instr.dealloc %a
  %b = instr.alloc offset 0 : memref<6xf32>
  instr.exp @out %b, @in %x
  scf.if %0 {
    instr.neg @out %y, @in %b
  } else {
    instr.copy @out %y, @in %b
  }
  instr.dealloc %b
  func.return
}
"""
"""The condition's memory is that of another buffer where the branch begins."""


@pytest.mark.parametrize("flag", [True, False])
def test_condition_is_read_where_it_is_loaded(flag: bool) -> None:
    x, condition = random_array((6,)), np.array([flag])
    expected = np.exp(x) if flag else -np.exp(x)
    module = parse_text(new_context(), EARLY, "early")
    (found,) = run(module, [condition, x])
    np.testing.assert_allclose(found, expected, 1e-6)
    native = glow.compile(module, threads=2)(condition, x)
    np.testing.assert_allclose(native, expected, 1e-6)


ONE_READER = """
func.func @main(%c: memref<i1>, %x: memref<4xf32>, %y: memref<4xf32>)
    attributes {glow.input_count = 2 : i64} {
  %a = instr.alloc : memref<4xf32>
  %b = instr.alloc : memref<4xf32>
  %0 = memref.load %c[] : memref<i1>
  scf.if %0 {
    instr.exp @out %a, @in %x
    instr.neg @out %y, @in %a
  } else {
    instr.abs @out %b, @in %x
    instr.copy @out %a, @in %b
    instr.copy @out %y, @in %x
  }
  instr.dealloc %a
  instr.dealloc %b
  func.return
}
"""
"""What one branch writes looks alive for the other's reader."""


def test_dead_stores_of_branches() -> None:
    """What is kept has all that it reads."""
    module = parse_text(new_context(), ONE_READER, "reader")
    for name in ("eliminate-dead-stores", "verify-instr"):
        INSTR_PASSES[name]()().apply(new_context(), module)
    x = random_array((4,))
    for flag in (True, False):
        (found,) = run(module, [np.array(flag), x])
        np.testing.assert_allclose(found, -np.exp(x) if flag else x, 1e-6)
