"""Runs kernels on arrays that end where their memory ends, whole and in parts.

A read or write past the end of a buffer faults; results of a sliced run must equal those of a
whole run bit for bit. So must results with anything in the buffers on the stack, and nothing is
computed of what the kernel has not written there (`stack_poison.py`).
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
from support.kernels.stack_poison import POISONS, number, poisoned, reads_denormals
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from glow.backends.cpu.kernels.matmul.batch_matmul_spec import (
    BatchMatmulSpec,
    dense_strides,
)
from glow.backends.cpu.tiling.matrix_memory import Strides
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target, host_target
from glow.runtime.testing import compile_function

Array = np.ndarray
TARGET = host_target()
_PAGE = mmap.PAGESIZE
_NO_ACCESS = 0


def guarded(array: Array) -> Array:
    """A copy of the array with an unreadable page right behind its last element."""
    size = max(array.nbytes, 1)
    pages = -(-size // _PAGE) + 1
    memory = mmap.mmap(-1, pages * _PAGE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    guard = base + (pages - 1) * _PAGE
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(guard), _PAGE, _NO_ACCESS) == 0
    offset = (pages - 1) * _PAGE - array.nbytes
    copy = np.frombuffer(memory, array.dtype, array.size, offset).reshape(array.shape)
    copy[...] = array
    return copy


@lru_cache(2)
def compile_poisoned(
    function: FuncOp, target: Target
) -> tuple[Callable[..., None], list[Attribute]]:
    """A kernel's function with a number more for each element type on its stack.

    The last ones are kept, for tests that run a kernel on one array after another. What
    `poisoned` adds is left to LLVM's verifier: ours takes as long as the lowering.
    """
    function.verify()
    poisonable, elements = poisoned(function)
    return compile_function(poisonable, target=target), elements


def run_kernel(
    kernel: Kernel,
    outputs: Sequence[Array],
    inputs: Sequence[Array],
    target: Target | None = None,
) -> list[Array]:
    """The outputs after a whole run; checks that runs of some work items give the same bits.

    `outputs` are what the buffers hold before.
    """
    compiled, elements = compile_poisoned(kernel.function, target or TARGET)
    arguments = [guarded(array) for array in inputs]
    whole = [guarded(array) for array in outputs]

    numbers = {
        poison: [number(element, poison) for element in elements]
        for poison in (None, *POISONS)
    }

    def call(*values: Array | int, poison: str | None = None) -> None:
        compiled(*values, *numbers[poison])

    own = reads_denormals(lambda: call(*whole, *arguments, 0, kernel.work_items))
    for poison in POISONS if elements else ():
        again = [guarded(array) for array in outputs]
        found = reads_denormals(
            lambda p=poison, a=again: call(
                *a, *arguments, 0, kernel.work_items, poison=p
            )
        )
        assert own or not found, "computes with what nobody has written on the stack"
        for a, b in zip(whole, again, strict=True):
            assert a.tobytes() == b.tobytes(), f"depends on {poison} on the stack"
    for cuts in _cuts(kernel.work_items):
        sliced = [guarded(array) for array in outputs]
        for low, high in reversed(list(pairwise(cuts))):
            call(*sliced, *arguments, low, high)
        for a, b in zip(whole, sliced, strict=True):
            assert a.tobytes() == b.tobytes(), f"work items {cuts} give other results"
    for item in (0, kernel.work_items):
        check_idle(lambda *given, k=item: call(*given, k, k), outputs, inputs)
    return whole


def check_idle(
    call: Callable[..., None], outputs: Sequence[Array], inputs: Sequence[Array]
) -> None:
    """A call without work items writes nothing, and notes no error of indices.

    A thread that has no part of a small call does not wait for those that write its inputs.
    """
    unwritten = [
        np.full_like(array, np.iinfo(array.dtype).max)
        if array.dtype in (np.int32, np.int64)
        else array
        for array in inputs
    ]
    buffers = [guarded(array) for array in (*outputs, *unwritten)]
    call(*buffers)
    for before, after in zip((*outputs, *unwritten), buffers, strict=True):
        assert before.tobytes() == after.tobytes(), "writes without a work item"


def _cuts(work_items: int) -> list[list[int]]:
    single = (
        list(range(work_items + 1))
        if work_items <= 64
        else [0, 1, work_items - 1, work_items]
    )
    return [
        single,
        [0, work_items // 2, work_items],
        [0, 0, work_items // 3, work_items],
    ]


RANDOM = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def ulps(found: np.ndarray, exact: np.ndarray) -> float:
    """The largest error in units in the last place of the rounded exact values."""
    rounded = exact.astype(np.float32)
    spacing = np.spacing(np.maximum(np.abs(rounded), np.float32(2.0**-126)))
    return float(np.max(np.abs(found.astype(np.float64) - exact) / spacing))


def relative_error(found: np.ndarray, exact: np.ndarray) -> float:
    """The largest error, relative to the largest exact value."""
    scale = np.abs(exact).max() or 1.0
    return float(np.abs(found - exact).max() / scale)


def with_transposed_b(spec: BatchMatmulSpec) -> BatchMatmulSpec:
    """The product whose dense right operand is stored as [columns, depth]."""
    b = dense_strides(spec.batch, spec.batch, spec.columns, spec.depth)
    return replace(spec, b=Strides(b.batch, b.column, b.row))
