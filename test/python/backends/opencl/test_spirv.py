"""Kernels as SPIR-V; where `spirv-val` is installed (Debian's spirv-tools), it checks them."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np
import pytest
from places import ROOT
from support.kernels.device_code import KERNEL, run_here, validate
from xdsl.dialects.builtin import ModuleOp

from glow import GlowError
from glow.backends.opencl.spirv import kernels_text, module_spirv, without_single_lanes
from glow.compiler import load, lower
from glow.frontends.mlir import parse_text
from glow.lowering.target.target import Target
from glow.options import CompileOptions
from glow.universe import new_context

MLP = ROOT / "examples" / "digits" / "mlp.onnx"
AVX2 = Target.from_string("avx2")


def kernel(operation: str) -> ModuleOp:
    return parse_text(new_context(), KERNEL.format(operation=operation), "kernel.mlir")


def test_buffers_are_global_and_the_stack_is_private(tmp_path: Path) -> None:
    """Rows of three elements are vectors of two and of one, which SPIR-V has not."""
    (function,) = kernel("math.sqrt").ops
    text = kernels_text([function], AVX2)
    assert "<1 x " not in text
    assert "store <2 x float> %" in text
    assert "ptr addrspace(1) %v" in text
    assert "define spir_kernel void @f_entry(ptr addrspace(1) %b0, i64 %o0" in text
    code = module_spirv(kernel("math.sqrt"), AVX2)
    magic, version = struct.unpack("<II", code[:8])
    assert (magic, version) == (0x07230203, 0x00010200)
    assert b"f_entry\0" in code
    validate(code, tmp_path)


LANES = """
%a = insertelement <1 x float> poison, float %x, i64 0
%b = shufflevector <4 x float> %v, <4 x float> %w, <1 x i32> <i32 6>
%c = shufflevector <1 x float> %a, <1 x float> %b, <1 x i32> <i32 1>
%d = call <1 x float> @llvm.fma.v1f32(<1 x float> %a, <1 x float> splat (float 0x3), <1 x float> %c)
%e = extractelement <1 x float> %d, i64 0
%f = fadd <4 x float> %v, splat (float 0x3FF)
%g = call <16 x float> @llvm.fma.v16f32(<16 x float> %x, <16 x float> splat (float 0x3), ...)
"""
ELEMENTS = """
%a = bitcast float %x to float
%b = extractelement <4 x float> %w, i64 2
%c = bitcast float %b to float
%d = call float @llvm.fma.f32(float %a, float 0x3, float %c)
%e = bitcast float %d to float
%f = fadd <4 x float> %v, splat (float 0x3FF)
%g = call <16 x float> @llvm.fma.v16f32(<16 x float> %x, <16 x float> splat (float 0x3), ...)"""


def test_vectors_of_one_lane_are_elements() -> None:
    assert without_single_lanes(LANES) == ELEMENTS


@pytest.mark.parametrize("operation", ["math.exp", "math.tanh", "math.floor"])
def test_functions_of_odd_rows(operation: str, tmp_path: Path) -> None:
    validate(module_spirv(kernel(operation), AVX2), tmp_path)


def test_the_kernels_of_a_network_are_one_module(tmp_path: Path) -> None:
    code = lower(load(MLP), "spirv", CompileOptions("opencl", "avx2"))
    assert isinstance(code, bytes)
    assert code.count(b"_entry\0") >= 3
    validate(code, tmp_path)


def test_a_kernel_without_spirv_is_one_line() -> None:
    """LLVM ends its process at an instruction of another machine; ours goes on."""
    clock = '%t = llvm.call_intrinsic "llvm.x86.rdtsc"() : () -> i64'
    text = KERNEL.format(operation="math.sqrt").replace("%2 =", f"{clock}\n    %2 =")
    module = parse_text(new_context(), text, "kernel.mlir")
    with pytest.raises(GlowError, match="LLVM has no SPIR-V for kernels 'f'"):
        module_spirv(module, AVX2)


def test_one_condition_picks_whole_vectors(tmp_path: Path) -> None:
    """SPIR-V has that from version 1.4 on."""
    text = KERNEL.format(operation="math.sqrt").replace(
        "vector.store %1, %stack",
        "%first = arith.cmpi eq, %i, %c0 : index\n"
        "    %3 = arith.select %first, %0, %1 : vector<3xf32>\n"
        "    vector.store %3, %stack",
    )
    module = parse_text(new_context(), text, "kernel.mlir")
    (function,) = module.ops
    assert "select <2 x i1>" in kernels_text([function], AVX2)
    validate(module_spirv(module, AVX2), tmp_path)


SUMS = """
func.func @f(%a: memref<4x4xi8>, %b: memref<8x4xi8>, %y: memref<4x8xi32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %no = arith.constant 0 : i8
  %zero = arith.constant dense<0> : vector<8xi32>
  %sign = arith.constant dense<-128> : vector<8x4xi8>
  scf.for %i = %lo to %hi step %c1 {
    %0 = vector.transfer_read %a[%i, %c0], %no {in_bounds = [true]} : memref<4x4xi8>, vector<4xi8>
    %1 = arith.extui %0 : vector<4xi8> to vector<4xi32>
    %2 = vector.transfer_read %b[%c0, %c0], %no {in_bounds = [true, true]} : memref<8x4xi8>, vector<8x4xi8>
    %3 = arith.xori %2, %sign : vector<8x4xi8>
    %4 = arith.extsi %3 : vector<8x4xi8> to vector<8x4xi32>
    %5 = vector.contract {indexing_maps = [affine_map<(l, k) -> (k)>, affine_map<(l, k) -> (l, k)>, affine_map<(l, k) -> (l)>], iterator_types = ["parallel", "reduction"], kind = #vector.kind<add>} %1, %4, %zero : vector<4xi32>, vector<8x4xi32> into vector<8xi32>
    vector.store %5, %y[%i, %c0] : memref<4x8xi32>, vector<8xi32>
  }
  func.return
}
"""  # noqa: E501


def test_sums_of_bytes_in_short_vectors(tmp_path: Path) -> None:
    """Rows of 32 bytes, for 8 lanes of sums, are read in two parts of 16."""
    module = parse_text(new_context(), SUMS, "kernel.mlir")
    (function,) = module.ops
    text = kernels_text([function], Target.from_string("avx512"))
    assert {int(lanes) for lanes in re.findall(r"<(\d+) x i", text)} == {4, 8, 16}
    random = np.random.default_rng(1)
    a = random.integers(0, 256, (4, 4), np.uint8)
    b = random.integers(0, 256, (8, 4), np.uint8)
    y = np.empty((4, 8), np.int32)
    run_here(text, a, b, y)
    np.testing.assert_array_equal(y, a.astype(int) @ (b.astype(int) - 128).T)
    validate(module_spirv(module, AVX2), tmp_path)
