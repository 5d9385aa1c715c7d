"""Functions in memory say what the llvm dialect says, and go when they are let go."""

from __future__ import annotations

from weakref import ref

import pytest
from support.programs.loops_testing import parse_loops
from xdsl.dialects.builtin import UnitAttr
from xdsl.utils.exceptions import DiagnosticException

from glow.garbage_collection import collection_paused
from glow.lowering.llvm_ir.dialect import function_of, function_op
from glow.lowering.llvm_ir.function import Function
from glow.lowering.llvm_text.emit import emit_functions, emit_module
from glow.lowering.loops_to_llvm.convert_loops_to_llvm import (
    lower_functions,
    lower_module,
)
from glow.lowering.target.target import Target
from glow.runtime.testing import functions_of

TARGET = Target.from_string("avx512")

PROGRAM = """
func.func private @outside(index) -> index
func.func @f(%y: memref<4x16xf32> {llvm.noalias}, %x: memref<4x16xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %rows = func.call @outside(%n) : (index) -> index
  %sum = scf.for %i = %c0 to %rows step %c1 iter_args(%a = %zero) -> (vector<16xf32>) {
    %v = vector.transfer_read %x[%i, %c0], %z {in_bounds = [true]}
      : memref<4x16xf32>, vector<16xf32>
    %b = arith.addf %a, %v fastmath<reassoc> : vector<16xf32>
    scf.yield %b : vector<16xf32>
  }
  %some = arith.cmpi sgt, %rows, %c0 : index
  scf.if %some {
    vector.transfer_write %sum, %y[%c0, %c0] {in_bounds = [true]}
      : vector<16xf32>, memref<4x16xf32>
  }
  func.return
}
"""


def lowered() -> list[Function]:
    """The program's functions in memory."""
    return lower_functions(functions_of(parse_loops(PROGRAM)), TARGET)


def test_the_dialect_says_the_same() -> None:
    module = lower_module(parse_loops(PROGRAM), TARGET)
    module.verify()
    expected = emit_functions(lowered(), TARGET)
    assert "declare i64 @outside(i64)" in expected
    assert "ptr noalias %" in expected
    assert "phi <16 x float>" in expected
    assert emit_module(module.ops, TARGET) == expected


def test_a_function_is_printed_again_as_before() -> None:
    functions = lowered()
    first = emit_functions(functions, TARGET)
    assert emit_functions(functions, TARGET) == first


def test_attributes_without_text_are_refused() -> None:
    _, function = map(function_op, lowered())
    last = function.body.blocks[-1].last_op
    assert last is not None
    last.attributes["odd"] = UnitAttr()
    with pytest.raises(DiagnosticException, match=r"attribute odd on llvm\.return"):
        function_of(function)


def test_instructions_are_freed_without_a_collection() -> None:
    with collection_paused():
        functions = lowered()
        emit_functions(functions, TARGET)
        blocks = [block for function in functions for block in function.blocks]
        known = [ref(each) for block in blocks for each in block.instructions]
        while functions:
            functions.pop().clear()
        del blocks
        assert known
        assert not [one for each in known if (one := each()) is not None]
