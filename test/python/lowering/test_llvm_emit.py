"""The printer of LLVM text refuses what it does not know; a real kernel comes out well."""

from __future__ import annotations

import re

import numpy as np
import pytest
from support.programs.loops_testing import parse_loops, sample
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException

from glow.lowering.llvm_text.emit import emit_module
from glow.lowering.target.target import Target
from glow.runtime.native_code import assembly, compile_object
from glow.runtime.testing import compile_function
from glow.universe import new_context

AVX512 = Target.from_string("avx512")


def parse_llvm(body: str, arguments: str = "") -> ModuleOp:
    """Returns a module with one llvm function."""
    text = f"llvm.func @f({arguments}) {{\n{body}\nllvm.return\n}}"
    return Parser(new_context(), text).parse_module()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('"llvm.inline_asm"() {asm_string = "", constraints = ""} : () -> ()', "inline_asm"),
        ("%v = llvm.add %x, %x {odd} : i64", "unknown attribute odd on llvm.add"),
        ("%c = llvm.mlir.constant(0 : i128) : i128", None),
        ("%u = llvm.mlir.undef : !llvm.struct<(i64)>\n"
         "%v = llvm.insertvalue %x, %u[0] : !llvm.struct<(i64)>", "insertvalue"),
    ],
)  # fmt: skip
def test_unknown(body: str, message: str | None) -> None:
    module = parse_llvm(body, "%x: i64")
    if message is None:
        emit_module(module.ops, AVX512)
        return
    with pytest.raises(DiagnosticException, match=message):
        emit_module(module.ops, AVX512)


def test_unknown_function_attribute() -> None:
    module = parse_llvm("")
    function = module.body.block.first_op
    assert isinstance(function, llvm.FuncOp)
    function.properties["target_cpu"] = StringAttr("z80")
    with pytest.raises(DiagnosticException, match="target_cpu on @f"):
        emit_module(module.ops, AVX512)


def test_global_is_refused() -> None:
    text = 'llvm.mlir.global internal constant @g("x") : !llvm.array<1 x i8>'
    module = Parser(new_context(), text).parse_module()
    with pytest.raises(DiagnosticException, match=r"unknown op llvm\.mlir\.global"):
        emit_module(module.ops, AVX512)


def test_flags_and_attributes_are_kept() -> None:
    module = parse_llvm(
        """%a = llvm.fadd %x, %x {fastmathFlags = #llvm.fastmath<nnan,contract>} : f32
        %b = llvm.call_intrinsic "llvm.exp.f32"(%a) : (f32) -> f32
        %c = llvm.call_intrinsic "llvm.exp.f32"(%b) : (f32) -> f32
        %n = llvm.add %i, %i overflow<nsw> : i64""",
        "%x: f32, %i: i64, %p: !llvm.ptr {llvm.noalias}",
    )
    text = emit_module(module.ops, AVX512)
    assert "fadd contract nnan float" in text
    assert "add nsw i64" in text
    assert "ptr noalias %" in text
    assert 'nounwind "prefer-vector-width"="512"' in text
    assert text.count("declare float @llvm.exp.f32(float)") == 1
    compile_object(text, AVX512)


PIXELS, BLOCKS, LANES = 14, 2, 16


def convolution(depth: int, height: int, width: int) -> str:
    """Returns a blocked 3x3 convolution: [depth][H][W][16] to 32 channels, ReLU."""
    x = f"memref<{depth}x{height + 2}x{width + 2}x16xf32>"
    w = f"memref<{depth}x3x3x16x2x16xf32>"
    y = f"memref<2x{height}x{width}x16xf32>"
    acc = "vector<14x2x16xf32>"
    carried = f"-> ({acc})"
    view = "memref<14x16xf32, strided<[16, 1], offset: ?>>"
    return f"""
    func.func @conv(%y: {y}, %x: {x}, %w: {w}) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %c14 = arith.constant 14 : index
      %c16 = arith.constant 16 : index
      %depth = arith.constant {depth} : index
      %height = arith.constant {height} : index
      %width = arith.constant {width} : index
      %z = arith.constant 0.0 : f32
      %zero = arith.constant dense<0.0> : {acc}
      scf.for %oh = %c0 to %height step %c1 {{
        scf.for %ow = %c0 to %width step %c14 {{
          %sum = scf.for %cb = %c0 to %depth step %c1 iter_args(%a0 = %zero) {carried} {{
            %s0 = scf.for %kh = %c0 to %c3 step %c1 iter_args(%a1 = %a0) {carried} {{
              %s1 = scf.for %kw = %c0 to %c3 step %c1 iter_args(%a2 = %a1) {carried} {{
                %row = arith.addi %oh, %kh : index
                %column = arith.addi %ow, %kw : index
                %xs = memref.subview %x[%cb, %row, %column, 0] [1, 1, 14, 16] [1, 1, 1, 1]
                  : {x} to {view}
                %s2 = scf.for %i = %c0 to %c16 step %c1 iter_args(%a3 = %a2) {carried} {{
                  %wv = vector.transfer_read %w[%cb, %kh, %kw, %i, %c0, %c0], %z
                    {{in_bounds = [true, true]}} : {w}, vector<2x16xf32>
                  %wb = vector.broadcast %wv : vector<2x16xf32> to {acc}
                  %xv = vector.transfer_read %xs[%c0, %i], %z
                    {{permutation_map = affine_map<(d0, d1) -> (d0, 0, 0)>,
                      in_bounds = [true, true, true]}} : {view}, {acc}
                  %n = vector.fma %xv, %wb, %a3 : {acc}
                  scf.yield %n : {acc}
                }}
                scf.yield %s2 : {acc}
              }}
              scf.yield %s1 : {acc}
            }}
            scf.yield %s0 : {acc}
          }}
          %relu = arith.maximumf %sum, %zero : {acc}
          vector.transfer_write %relu, %y[%c0, %oh, %ow, %c0]
            {{permutation_map = affine_map<(d0, d1, d2, d3) -> (d2, d0, d3)>,
              in_bounds = [true, true, true]}} : {acc}, {y}
        }}
      }}
      func.return
    }}"""


def test_convolution() -> None:
    depth, height, width = 2, 3, 28
    x = sample("f32", depth * (height + 2) * (width + 2) * 16)
    x = x.reshape(depth, height + 2, width + 2, 16)
    w = sample("f32", depth * 9 * 16 * 32, 1).reshape(depth, 3, 3, 16, 2, 16)
    y = np.zeros((2, height, width, 16), np.float32)
    compile_function(parse_loops(convolution(depth, height, width)))(y, x, w)
    expected = np.zeros(y.shape)
    for kh in range(3):
        for kw in range(3):
            patch = x[:, kh : kh + height, kw : kw + width].astype(np.float64)
            expected += np.einsum("chwi,cibo->bhwo", patch, w[:, kh, kw])
    expected = np.maximum(expected, 0)
    np.testing.assert_allclose(y, expected, atol=1e-5 * np.abs(expected).max())


def test_convolution_does_not_spill() -> None:
    """28 accumulators, an FMA and half a broadcast for each, no register on the stack."""
    kernel = compile_function(parse_loops(convolution(2, 3, 28)), target=AVX512)
    text = assembly(kernel.text, AVX512)
    assert len(re.findall(r"vfmadd\d+ps", text)) == PIXELS * BLOCKS
    assert text.count("vbroadcastss") == PIXELS
    assert not re.search(r"zmm\d+, -?\d*\(%rsp\)|\(%rsp\), %zmm", text)
