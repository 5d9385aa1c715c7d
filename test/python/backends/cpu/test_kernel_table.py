"""Kernels come from the table of the backend that a program is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from support.programs.pipelines import run_text
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.utils.test_value import create_ssa_value

from glow.backends.cpu import CpuBackend
from glow.backends.cpu.native_code import object_keys
from glow.backends.cpu.passes.instr_to_loops import build_program
from glow.backends.cpu.program.kernel_table import KernelTable, Selectors, kernel_table
from glow.backends.cpu.program.program import Invocation, Program
from glow.backends.cpu.selection import SELECTORS
from glow.dialects import glow, instr
from glow.dialects.errors import GlowError
from glow.dialects.node import tensor_type
from glow.frontends.mlir import parse_text
from glow.lowering.target.target import Target
from glow.signature import main_function
from glow.universe import new_context

TARGET = Target.from_string("avx512")
CPU = kernel_table("cpu")
TANH = instr.instruction_of(glow.TanhOp)

TEXT = """
func.func @main(%x: memref<4x16xf32>, %y: memref<4x16xf32>)
    attributes {glow.input_count = 1 : i64} {
  %a = instr.alloc offset 0 : memref<4x16xf32>
  instr.tanh @out %a, @in %x
  instr.softmax @out %y, @in %a axis 1
  instr.dealloc %a
  func.return
}
"""


def program_of(table: KernelTable) -> Program:
    """The program of the text with the kernels of a table."""
    module = parse_text(new_context(), TEXT, "text")
    assert isinstance(module, ModuleOp)
    return build_program(main_function(module), TARGET, table)


def reporting_tanh(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    """The kernel of tanh, called twice under another label, as if it noted errors."""
    (found,) = SELECTORS[type(op)](op, target)
    assert isinstance(found, Invocation)
    kernel = replace(found.kernel, label="mine")
    return 2 * [replace(found, kernel=kernel, report="too large")]


def test_row_of_a_backend_replaces_ours() -> None:
    table = KernelTable("mine", {**SELECTORS, TANH: reporting_tanh})
    labels = [call.kernel.label for call in program_of(table).calls()]
    assert labels == ["mine", "mine", "softmax"]


def test_every_report_has_its_byte() -> None:
    """Whoever asks for it: the bytes lie before the first argument."""
    program = program_of(KernelTable("mine", {**SELECTORS, TANH: reporting_tanh}))
    bytes_ = [call.bindings[-1] for call in program.calls()][:2]
    assert [binding.offset - program.reports_offset for binding in bytes_] == [0, 1]
    assert all(binding.offset < program.arguments[0].offset for binding in bytes_)
    room = program_of(CPU).arguments[0].offset
    assert room >= program_of(CPU).reports_offset


def test_table_without_a_row_is_named() -> None:
    table = KernelTable("mine", {k: v for k, v in SELECTORS.items() if k is not TANH})
    with pytest.raises(
        GlowError, match=r"the mine backend has no kernel for instr\.tanh"
    ):
        program_of(table)


def test_versions_do_not_share_objects() -> None:
    """Kernels are named by their specification: other code may have the same."""
    keys = [
        object_keys(program_of(replace(CPU, version=version)), TARGET)
        for version in ("", "1", "2")
    ]
    kernels = keys[0].keys() - {"main"}
    assert all(len({key[name] for key in keys}) == 3 for name in kernels)


def test_nodes_with_a_row_are_kept() -> None:
    """A backend that adds a row need not say it again."""

    class WithTile(CpuBackend):
        def selectors(self) -> Selectors:
            tile = instr.instruction_of(glow.TileOp)
            return {**super().selectors(), tile: reporting_tanh}

    x = create_ssa_value(tensor_type((4,), f32))
    node = glow.TileOp.build_node([x], [tensor_type((8,), f32)], repeats=[2])
    assert WithTile().is_legal(node)
    assert not CpuBackend().is_legal(node)


@pytest.mark.parametrize("compiler_pass", ["instr-to-loops", "record-kernels"])
def test_backend_without_kernels(compiler_pass: str) -> None:
    module = parse_text(new_context(), TEXT, "text")
    with pytest.raises(GlowError, match="'interpreter' has no kernels"):
        run_text(module, f"{compiler_pass}{{backend=interpreter}}")
