"""Products of warpgroups in the simulator (`nvgpu.warpgroup`).

Factors are read by their descriptors, as the hardware does. A product may go on until its warps
have waited for it: until then its sums must not be read, nor its tiles written. Tiles have to be
there for each warp that multiplies, which it knows by waiting for their barrier.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from xdsl.dialects.builtin import UnrealizedConversionCastOp
from xdsl.ir import Operation, SSAValue

from glow.dialects.gpu import nvvm, warpgroups
from glow.dialects.gpu.matrix_descriptor import PIECE_BYTES, ROW_BYTES, MatrixDescriptor
from glow.dialects.gpu.shared_memory import WARP
from glow.dialects.gpu.warpgroups import STEP_BYTES, WARPGROUP
from glow.dialects.tensor_types import shape_of
from glow.interpreter.arrays import Array
from glow.interpreter.gpu.block import Rule, ThreadBlock
from glow.interpreter.gpu.memory import Memory
from glow.interpreter.gpu.order import Order, Stamp
from glow.interpreter.gpu.tensor_cores import TF32
from glow.interpreter.gpu.tiles import Part, swizzled
from glow.interpreter.scalar_functions import element_dtype


class Factor(NamedTuple):
    """What a product reads."""

    memory: Memory
    places: Array
    """[rows, elements of the depth]."""


class Product:
    """A product that may not be done."""

    def __init__(self, warps: range, factors: list[Factor]) -> None:
        self.warps, self.factors = warps, factors
        self.done: list[Stamp] = []

    def reads(self, memory: Memory) -> Array:
        """Whether it reads each element of a memory."""
        found = np.zeros(memory.data.size, np.bool_)
        for factor in self.factors:
            if factor.memory is memory:
                found[factor.places] = True
        return found

    def is_known(self, order: Order, warp: int) -> bool:
        """Whether a warp knows that it is done."""
        return bool(self.done) and all(order.knows(warp, stamp) for stamp in self.done)


def groups_of(run: ThreadBlock) -> Iterator[range]:
    """The threads of each warpgroup that runs this; raises GlowError for a part of one."""
    for group in np.unique(np.flatnonzero(run.active) // WARPGROUP):
        threads = range(group * WARPGROUP, (group + 1) * WARPGROUP)
        if threads.stop > run.threads or not run.active[threads].all():
            raise run.fail("is in divergent code, where not all of a warpgroup run it")
        yield threads


def generate_descriptor(run: ThreadBlock, op: warpgroups.GenerateDescriptorOp) -> Array:
    part: Part = run.values[op.tensor]
    addresses = part.addresses
    if (addresses % PIECE_BYTES).any():
        raise run.fail(f"a factor is misaligned, at byte {addresses[0]}")
    return np.array([MatrixDescriptor(int(address)).bits for address in addresses])


def zero_sums(run: ThreadBlock, op: warpgroups.InitAccumulatorOp) -> Array:
    fragment = warpgroups.sums_of(op.sums).fragment
    return np.zeros((1, *fragment.get_shape()), element_dtype(fragment))


def descriptor_of(run: ThreadBlock, value: SSAValue, threads: range) -> int:
    """The descriptor that the threads of a warpgroup have; GlowError if they have several."""
    bits = np.broadcast_to(run.values[value], run.threads)[threads]
    if (bits != bits[0]).any():
        raise run.fail("the threads of a warpgroup have different descriptors")
    return int(bits[0])


def factor_of(run: ThreadBlock, bits: int, rows: int, depth_bytes: int) -> Factor:
    """What a product reads of a factor [rows, depth], by its descriptor."""
    row = np.arange(rows)[:, None]
    addresses: list[Array] = []
    for step in range(0, depth_bytes, STEP_BYTES):
        read = MatrixDescriptor.of(bits + (step >> 4))
        if read.swizzle != ROW_BYTES or read.base_offset or read.start // ROW_BYTES % 8:
            raise run.fail(f"reads {read}, which is not simulated")
        lines = read.start + row // 8 * read.stride + row % 8 * ROW_BYTES
        addresses.append(lines + np.arange(STEP_BYTES))
    found = swizzled(np.concatenate(addresses, axis=1), ROW_BYTES)
    for memory in run.shared.values():
        if memory.base <= found.min() and found.max() < memory.end:
            size = memory.element_bytes
            return Factor(memory, (found[:, ::size] - memory.base) // size)
    raise run.fail(f"reads outside of shared memory, at byte {found.max()}")


def check_landed(run: ThreadBlock, factor: Factor, warps: range) -> None:
    """Raise GlowError where a warp does not know that what it reads is there."""
    memory, places = factor
    if memory.pending[places].any():
        raise run.fail("reads what is copied, and nobody waited for the copy")
    for number in np.unique(memory.copy_of[places]):
        if number < 0:
            raise run.fail("reads what no tile was copied to")
        copy = memory.copies[number]
        if copy.swizzle != ROW_BYTES:
            raise run.fail(f"reads a tile that is swizzled by {copy.swizzle} bytes")
        landed = copy.landed
        if landed is None or not all(run.order.knows(warp, landed) for warp in warps):
            raise run.fail("race: reads a copy that a warp has not waited for")


def numbers_of(factor: Factor) -> Array:
    """A factor as tensor cores read it."""
    data = factor.memory.data[factor.places]
    if data.dtype == np.float32:
        data = (data.view(np.int32) & TF32).view(np.float32)
    return data.astype(np.float32)


def matrix_of(fragments: Array) -> Array:
    """The sums [64, columns] of what the threads of a warpgroup have."""
    parts = fragments.reshape(4, 8, 4, -1, 2, 2).transpose(0, 4, 1, 3, 2, 5)
    return parts.reshape(warpgroups.ROWS, -1)


def fragments_of(sums: Array) -> Array:
    """What the threads of a warpgroup have of the sums."""
    parts = sums.reshape(4, 2, 8, -1, 4, 2).transpose(0, 2, 4, 3, 1, 5)
    return parts.reshape(WARPGROUP, -1, 2, 2)


def multiply(run: ThreadBlock, op: warpgroups.MmaOp) -> Array:
    tiles = [warpgroups.tensor_of(value) for value in (op.a, op.b)]
    (rows, depth), (_, columns) = map(shape_of, tiles)
    depth_bytes = depth * warpgroups.factor_bytes(tiles[0].element_type)
    given: Array = run.values[op.c]
    result = np.zeros((run.threads, *given.shape[1:]), given.dtype)
    for threads in groups_of(run):
        warps = range(threads.start // WARP, threads.stop // WARP)
        factors: list[Factor] = []
        for value, extent in ((op.a, rows), (op.b, columns)):
            bits = descriptor_of(run, value, threads)
            factors.append(factor_of(run, bits, extent, depth_bytes))
            check_landed(run, factors[-1], warps)
        a, b = map(numbers_of, factors)
        before = np.broadcast_to(given, result.shape)[threads]
        result[threads] = fragments_of(matrix_of(before) + a @ b.T)
        product = Product(warps, factors)
        run.products.setdefault(threads.start, []).append([product])
        note(product)
        retire(run, threads, op.pending)
    return result


def note(product: Product) -> None:
    """Notes in the memories that it reads that a product has begun."""
    for memory in {id(f.memory): f.memory for f in product.factors}.values():
        memory.products.append((product, product.reads(memory)))


def retire(run: ThreadBlock, threads: range, pending: int) -> None:
    """The groups of products of a warpgroup are done but for the last few."""
    begun = run.products.get(threads.start, [])
    while len(begun) > pending:
        for product in begun.pop(0):
            product.done = [run.order.now(warp) for warp in product.warps]


def wait_group(run: ThreadBlock, op: nvvm.WaitGroupOp) -> None:
    for threads in groups_of(run):
        retire(run, threads, op.group.value.data)


def fragment(run: ThreadBlock, op: UnrealizedConversionCastOp) -> Array:
    """What each thread has of sums, of which no product may be on its way."""
    for threads in groups_of(run):
        if run.products.get(threads.start) or run.issued.get(threads.start):
            raise run.fail("reads sums of a product that nobody waited for")
    return run.values[op.operands[0]]


RULES: dict[type[Operation], Rule] = {
    warpgroups.GenerateDescriptorOp: generate_descriptor,
    warpgroups.InitAccumulatorOp: zero_sums,
    warpgroups.MmaOp: multiply,
    nvvm.WaitGroupOp: wait_group,
}
