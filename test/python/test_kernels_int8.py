"""Integer kernels against NumPy, bit for bit, with and without dot-product instructions."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from xdsl.dialects.builtin import i8, i32
from xdsl.ir import SSAValue

from glow.lowering.instr_to_loops import ir_types as types
from glow.lowering.instr_to_loops.builder import Index, LoopBuilder
from glow.lowering.instr_to_loops.int8_tile import WORD, dot
from glow.lowering.target import PRESETS, host_target
from glow.runtime.testing import compile_function

HOST = host_target()
TARGETS = {
    "host": HOST,
    "host without dot products": replace(HOST, has_vnni=False),
    **{
        name: replace(PRESETS[name], triple=HOST.triple)
        for name in ("avx2", "scalar")
        if PRESETS[name].vector_bytes <= HOST.vector_bytes
    },
    "no x86": replace(PRESETS["scalar"], triple=HOST.triple.replace("x86_64", "amd64")),
}
"""Machines that the host can play; the last one takes no instruction of x86."""


@pytest.mark.parametrize("name", sorted(TARGETS))
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_dot_is_exact(name: str, lanes: int) -> None:
    """Products of the largest bytes do not saturate, and sums wrap."""
    target, rows, blocks = TARGETS[name], 3, 2
    b = LoopBuilder(target)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        sums, bytes_, weights = buffers
        shape = (rows, blocks, lanes)
        total = dot(
            b,
            b.transfer_read(bytes_, (0, 0), (rows, WORD), (0, 1)),
            b.transfer_read(weights, (0, 0, 0), (*shape[1:], WORD), (0, 1, 2)),
            b.transfer_read(sums, (0, 0, 0), shape, (0, 1, 2)),
        )
        b.transfer_write(total, sums, (0, 0, 0), (0, 1, 2))

    shapes = ((rows, blocks, lanes), (rows, WORD), (blocks, lanes, WORD))
    elements = (i32, i8, i8)
    buffers = [types.memref_type(*pair) for pair in zip(shapes, elements, strict=True)]
    function = b.function("dot", buffers, body)
    random = np.random.default_rng(0)
    x = random.integers(0, 256, shapes[1]).astype(np.uint8)
    w = random.integers(-128, 128, shapes[2]).astype(np.int8)
    x[0], w[0, :2] = 255, [[-128] * WORD, [127] * WORD]
    sums = random.integers(-(2**31), 2**31, shapes[0]).astype(np.int32)
    exact = np.einsum("mk,nlk->mnl", x.astype(np.int64), w.astype(np.int64))
    expected = (sums + exact).astype(np.int32)
    compile_function(function, target=target)(sums, x, w, 0, 1)
    np.testing.assert_array_equal(sums, expected)
