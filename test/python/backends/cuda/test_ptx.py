"""Kernels as PTX: an entry each, in which LLVM has put the kernel; errors of one line.

Where `ptxas` is installed (`pip install nvidia-cuda-nvcc`), it assembles them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from places import ROOT
from support.gpu.assembler import assemble
from xdsl.dialects.builtin import ModuleOp

from glow import GlowError
from glow.backends.cuda.ptx import module_ptx
from glow.compiler import load, lower
from glow.frontends.mlir import parse_text
from glow.lowering.target.target import Target
from glow.options import CompileOptions
from glow.universe import new_context

MLP = ROOT / "examples" / "digits" / "mlp.onnx"

KERNEL = """
func.func @f(%x: memref<64xf32>, %y: memref<64xf32>, %lo: index, %hi: index) {{
  %c1 = arith.constant 1 : index
  scf.for %i = %lo to %hi step %c1 {{
    memref.prefetch %x[%i], read, locality<3>, data : memref<64xf32>
    %0 = memref.load %x[%i] : memref<64xf32>
    %1 = {operation} %0 : f32
    memref.store %1, %y[%i] : memref<64xf32>
  }}
  func.return
}}
"""


def kernel(operation: str) -> ModuleOp:
    return parse_text(new_context(), KERNEL.format(operation=operation), "kernel.mlir")


def network(target: str) -> str:
    text = lower(load(MLP), "ptx", CompileOptions("cuda", target))
    assert isinstance(text, str)
    return text


def test_a_thread_runs_a_work_item() -> None:
    text = module_ptx(kernel("math.sqrt"), Target.from_string("sm_90"))
    assert ".target sm_90" in text
    assert re.findall(r"\.visible \.entry (\w+)", text) == ["f_entry"]
    assert ".func" not in text
    for instruction in ("%ctaid.x", "ld.global", "sqrt.rn.f32", "st.global"):
        assert instruction in text


def test_a_function_that_ptx_has_not_is_one_line() -> None:
    with pytest.raises(GlowError, match=r"no function 'llvm.tan.f32', which a kernel"):
        module_ptx(kernel("math.tan"), Target.from_string("sm_90"))


@pytest.mark.parametrize("gpu", ["sm_75", "sm_80"])
def test_the_kernels_of_a_network_assemble(gpu: str, tmp_path: Path) -> None:
    """Those for GPUs with asynchronous copies have blocks of threads, others have items."""
    text = network(gpu)
    entries = text.count(".visible .entry ")
    assert entries > 1
    assert text.count("_entry(") == (entries if gpu == "sm_75" else 0)
    kernels = assemble(text, gpu, tmp_path)
    assert [kernel.spills for kernel in kernels] == [0] * entries


@pytest.mark.parametrize("phase", ["lowered", "loops", "asm"])
def test_a_gpu_is_no_target_of_the_cpu(phase: str) -> None:
    """At no level: weights lie in another order than its kernels read."""
    with pytest.raises(GlowError, match="sm_90 is a GPU"):
        lower(load(MLP), phase, CompileOptions("cpu", "sm_90"))


def test_a_target_that_is_no_gpu_is_one_line() -> None:
    with pytest.raises(GlowError) as caught:
        network("avx2")
    line = "'avx2' is no target of backend 'cuda'; --target is one of sm_75, sm_80"
    assert caught.value.one_line().startswith(line)
