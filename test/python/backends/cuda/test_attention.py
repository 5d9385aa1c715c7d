"""Attention for many threads computes what the interpreter computes, in the simulator.

Mutants: a kernel without one of its barriers, waits or swizzles is found. PTX: the instructions
that it is made for, and no spills.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.gpu.assembler import assemble
from support.gpu.attention_cases import (
    FORMATS,
    AttentionCase,
    Sizes,
    fixed_attention,
    random_attention,
)
from support.gpu.mutants import removed, without
from support.programs.upstream import ABSENT, find_mlir_opt, mlir_opt_each
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from glow import GlowError
from glow.backends.cuda.attention_tiling import choose_tile, registers_of
from glow.backends.cuda.kernels.attention import build_attention
from glow.backends.cuda.ptx import gpu_kernels_ptx
from glow.dialects.arith import XOrIOp
from glow.dialects.gpu import gpu, nvgpu
from glow.interpreter.simt import run_kernel
from glow.lowering.target.gpu_machine import GPU_MACHINES
from glow.lowering.target.target import Target


def assert_near(case: AttentionCase, result: np.ndarray) -> None:
    """The interpreter's result, NaN where that is."""
    expected = case.expected().astype(np.float64)
    assert np.array_equal(np.isnan(result), np.isnan(expected))
    limit = case.tolerance * np.nanmax(np.abs(expected), initial=1e-3)
    assert np.nanmax(np.abs(result - expected), initial=0) < limit


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(30))
def test_a_random_attention_is_the_interpreters(number: int) -> None:
    case = random_attention(number)
    result, report = case.simulate()
    assert_near(case, result)
    assert report.bank_conflicts == 0


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(5))
def test_nothing_is_left_for_a_query(number: int) -> None:
    """NaN as the interpreter has it, or 0 where that is asked for."""
    case = fixed_attention(number, Sizes(1, 2, 9, 40, 16, 16), "bytes")
    result, _ = case.simulate()
    assert np.isnan(result[:, :, -1]).all()
    case.spec = replace(case.spec, zero_nans=True, epilogue=None)
    case.finish, case.operands = None, []
    zeros, _ = case.simulate()
    expected = np.nan_to_num(case.expected(), nan=0.0)
    assert not zeros[:, :, -1].any()
    np.testing.assert_allclose(zeros, expected, atol=3 * case.tolerance)


@pytest.mark.gpu
def test_nan_and_infinity_of_scores_stay_in_their_rows() -> None:
    case = fixed_attention(0, Sizes(1, 1, 6, 70, 8, 8), "none")
    for row, value in ((1, np.nan), (3, np.inf)):
        for array in (case.inputs[0], case.stored[0].swapaxes(1, 2)):
            array[0, 0, row, 0] = value
    result, _ = case.simulate()
    assert np.isnan(result[0, 0, [1, 3]]).all()
    assert np.isfinite(result[0, 0, [0, 2, 4, 5]]).all()


def deep(number: int) -> AttentionCase:
    """An attention of some blocks of keys."""
    return fixed_attention(number, Sizes(1, 1, 40, 100, 32, 32), "causal")


@pytest.mark.parametrize("kind", [gpu.BarrierOp, nvgpu.WaitOp])
@pytest.mark.parametrize("number", range(5))
def test_a_missing_barrier_or_wait_is_found(number: int, kind: type[Operation]) -> None:
    case = deep(number)
    mutants = list(removed(kind, case.kernel))
    threads = FORMATS[number][1:2] == ("exact",) and number == 0
    assert len(mutants) == 1 + (threads and kind is gpu.BarrierOp)
    for function in mutants:
        with pytest.raises(GlowError, match=r"race: |nobody waited"):
            run_kernel(function, case.buffers())


@pytest.mark.parametrize("number", [0, 1, 4])
def test_a_missing_swizzle_is_found(number: int) -> None:
    case = deep(number)
    whole, report = case.simulate()
    buffers = case.buffers()
    plain = run_kernel(without(case.kernel, XOrIOp), buffers)
    assert np.array_equal(case.results(buffers[0]), whole, equal_nan=True)
    assert plain.bank_conflicts > report.bank_conflicts == 0


LARGE = [
    (0, 64, "sm_80", 512),
    (0, 80, "sm_80", 512),
    (0, 128, "sm_90", 512),
    (1, 64, "sm_90", 512),
    (1, 64, "sm_90", 197),
    (1, 128, "sm_80", 512),
    (4, 64, "sm_80", 512),
    (4, 128, "sm_90", 512),
]
"""Numbers of formats, heads, GPUs, and how many queries and keys there are."""


REGISTERS_OFF = 64
"""What a count of a thread's registers may be off by."""


def large(
    number: int, head: int, mask: str, name: str = "sm_90", keys: int = 512
) -> AttentionCase:
    """An attention of as many queries as keys in the format of a number."""
    case = fixed_attention(number, Sizes(8, 12, keys, keys, head, head), mask)
    tile = choose_tile(case.spec, GPU_MACHINES[name])
    case.spec = replace(case.spec, tile=tile)
    return case


@pytest.mark.parametrize(("number", "head", "name", "keys"), LARGE)
def test_no_kernel_spills(
    number: int, head: int, name: str, keys: int, tmp_path: Path
) -> None:
    mask = "causal and added" if head == 80 else "causal" if keys == 512 else "none"
    case = large(number, head, mask, name, keys)
    kernel = case.kernel
    text = gpu_kernels_ptx([kernel], Target.from_string(name))
    assert ("glow_shared_memory" in text) == bool(kernel.dynamic_bytes)
    (assembled,) = assemble(text, name, tmp_path)
    assert assembled.spills == 0
    assert assembled.registers <= 255
    assert case.spec.shared_bytes == kernel.shared_bytes
    assert abs(assembled.registers - registers_of(case.spec)) <= REGISTERS_OFF
    declared = 0 if kernel.dynamic_bytes else kernel.shared_bytes
    assert assembled.shared_bytes == declared


def test_instructions_of_a_block_of_keys() -> None:
    """64 keys of 64 numbers: 32 products of fragments each, 32 exponentials and 2 decays."""
    text = gpu_kernels_ptx([large(4, 64, "none").kernel], Target.from_string("sm_90"))
    found = {
        word: len(re.findall(rf"^\s+{re.escape(word)}", text, re.MULTILINE))
        for word in (
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
            "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
            "ex2.approx",
            "cvt.rn.bf16x2.f32",
            "shfl.sync.bfly",
            "cp.async.wait_group",
            "bar.sync",
        )
    }
    assert list(found.values()) == [64, 16, 34, 16, 8, 1, 1]


@pytest.mark.skipif(find_mlir_opt() is None, reason=ABSENT)
def test_upstream_reads_kernels() -> None:
    kernels = [
        build_attention(deep(n).spec, Target.from_string("sm_80"), "f")
        for n in (0, 1, 4)
    ]
    texts = [str(ModuleOp([kernel.module.clone()])) + "\n" for kernel in kernels]
    for printed in mlir_opt_each(texts):
        assert "math.exp2" in printed
        assert "gpu.shuffle" in printed
