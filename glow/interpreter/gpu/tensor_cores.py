"""`nvgpu` in the simulator: copies that land when they are waited for, and tensor cores."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from glow.dialects.gpu import nvgpu
from glow.dialects.gpu.shared_memory import WARP
from glow.dialects.tensor_types import shape_of
from glow.interpreter.arrays import Array, garbage
from glow.interpreter.gpu.block import Rule, ThreadBlock
from glow.interpreter.gpu.memory import WIDEST
from glow.interpreter.scalar_functions import element_dtype

TF32 = np.int32(-(1 << 13))
"""The bits of a number that tensor cores read as TF32."""


def begin_copy(run: ThreadBlock, op: nvgpu.AsyncCopyOp) -> None:
    source, target = run.values[op.src], run.values[op.dst]
    width, count = op.dst_elements.value.data, np.array([op.dst_elements.value.data])
    if op.src_elements is not None:
        count = run.values[op.src_elements]
    count = np.broadcast_to(count, run.threads)
    check_addresses(run, op, run.active & (count <= 0))
    data = np.zeros((run.threads, width), source.data.dtype)
    for copied in map(int, np.unique(count[run.active & (count > 0)])):
        chosen = run.active & (count == copied)
        access = run.touch(run.row(source, op.src_indices, copied, chosen))
        data[access.threads, :copied] = source.data[access.places]
    access = run.row(target, op.dst_indices, width, run.active)
    run.touch(access, is_write=True)
    spoil_at = garbage((1,), target.data.dtype)
    target.data[access.places], target.pending[access.places] = spoil_at, True
    run.begun.append((access, data[access.threads]))


def check_addresses(run: ThreadBlock, op: nvgpu.AsyncCopyOp, skipped: Array) -> None:
    """Raise GlowError where copies of no elements have addresses before their buffer.

    They read nothing, but the address is looked at: that of the memory of threads is refused,
    which may lie before the first buffer.
    """
    source = run.values[op.src]
    first = np.zeros(run.threads, np.int64)
    for index, stride in zip(op.src_indices, source.strides, strict=True):
        first += np.broadcast_to(run.values[index], run.threads) * np.int64(stride)
    before = skipped & (first < 0)
    if before.any():
        raise run.fail(
            f"the address of a copy of nothing is {-first[before][0]} elements before its buffer "
            f"(thread {np.flatnonzero(before)[0]} of block {run.number})"
        )


def create_group(run: ThreadBlock, op: Operation) -> None:
    run.together(run.threads)
    run.groups.append(run.begun)
    run.begun = []


def wait(run: ThreadBlock, op: nvgpu.WaitOp) -> None:
    run.together(run.threads)
    left = 0 if op.num_groups is None else op.num_groups.value.data
    while len(run.groups) > left:
        for access, data in run.groups.pop(0):
            access.memory.data[access.places] = data
            access.memory.pending[access.places] = False
            owners = np.broadcast_to(access.owners, access.places.shape)
            access.memory.writer[access.places] = owners
            access.memory.hidden[access.places] = owners


def load_matrix(run: ThreadBlock, op: nvgpu.LdMatrixOp) -> Array:
    run.together(WARP)
    memory, tiles = run.values[op.src], op.num_tiles.value.data
    width = WIDEST // memory.element_bytes
    gives = run.active & (np.arange(run.threads) % WARP < 8 * tiles)
    access = run.touch(run.row(memory, op.indices, width, gives))
    rows = memory.data[access.places].reshape(-1, tiles, 8, width)
    if op.transpose.value.data:
        rows = rows.swapaxes(2, 3)
    lanes = rows.reshape(-1, tiles, WARP, width // 4).swapaxes(1, 2)
    dtype = element_dtype(op.res.type)  # Of bytes it says whether they have signs.
    result = np.zeros((run.threads, tiles, width // 4), dtype)
    result.view(memory.data.dtype)[run.active] = lanes.reshape(-1, tiles, width // 4)
    return result


def multiply_matrices(run: ThreadBlock, op: nvgpu.MmaSyncOp) -> Array:
    """Tensor cores sum in the type of `c`, and read 19 bits of a TF32."""
    run.together(WARP)
    a, b, c = (
        np.broadcast_to(run.values[v], (run.threads, *shape_of(v.type)))
        for v in op.operands
    )
    if op.tf32 is not None:
        a, b = ((x.copy().view(np.int32) & TF32).view(np.float32) for x in (a, b))
    warps, e, out = run.threads // WARP, a.shape[-1], c.dtype
    sums = np.float32 if out.kind == "f" else out
    left = a.reshape(warps, 8, 4, 2, 2, e).transpose(0, 4, 1, 3, 2, 5)
    right = b.reshape(warps, 8, 4, 2, e).transpose(0, 3, 2, 4, 1)
    added = c.reshape(warps, 8, 4, 2, 2).transpose(0, 3, 1, 2, 4)
    products = left.reshape(warps, 16, 8 * e).astype(sums) @ right.reshape(
        warps, 8 * e, 8
    ).astype(sums)
    total = added + products.reshape(warps, 2, 8, 4, 2)
    return total.astype(out).transpose(0, 2, 3, 1, 4).reshape(run.threads, 2, 2)


RULES: dict[type[Operation], Rule] = {
    nvgpu.AsyncCopyOp: begin_copy,
    nvgpu.CreateGroupOp: create_group,
    nvgpu.WaitOp: wait,
    nvgpu.LdMatrixOp: load_matrix,
    nvgpu.MmaSyncOp: multiply_matrices,
}
