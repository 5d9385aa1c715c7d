"""Products of four warps, an instruction at a time, in the simulator (`nvvm.wgmma`).

As for whole tiles (`warpgroups.py`), with what is left open here: memory that a thread wrote and
did not fence, or fenced without a barrier behind; sums that the threads wrote, and no fence orders
before the product; products that are in no group, for which nobody can wait.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import UnrealizedConversionCastOp
from xdsl.dialects.llvm import LLVMStructType
from xdsl.ir import Operation, SSAValue

from glow.dialects.gpu import wgmma
from glow.dialects.gpu.shared_memory import WARP
from glow.dialects.gpu.warpgroups import ROWS, STEP_BYTES
from glow.interpreter.arrays import Array
from glow.interpreter.gpu import warpgroups
from glow.interpreter.gpu.block import Rule, ThreadBlock
from glow.interpreter.gpu.memory import FENCED, NOBODY, Memory
from glow.interpreter.gpu.warpgroups import Factor, Product


def address(run: ThreadBlock, op: memref.ExtractAlignedPointerAsIndexOp) -> Array:
    """Where shared memory begins."""
    memory: Memory = run.values[op.source]
    return np.array([memory.base])


def show_writes(run: ThreadBlock, op: wgmma.FenceProxyOp) -> None:
    """What the active threads have written is there for products, behind a barrier."""
    fenced = np.append(run.active, False)  # The last one is for NOBODY.
    for memory in run.shared.values():
        memory.hidden[fenced[memory.hidden]] = FENCED


def fence(run: ThreadBlock, op: wgmma.FenceOp) -> None:
    for threads in warpgroups.groups_of(run):
        run.fenced.add(threads.start)


def commit(run: ThreadBlock, op: wgmma.CommitGroupOp) -> None:
    for threads in warpgroups.groups_of(run):
        begun = run.issued.pop(threads.start, [])
        run.products.setdefault(threads.start, []).append(begun)


def check_shown(run: ThreadBlock, factor: Factor) -> None:
    """Raise GlowError where products may not see what threads have written."""
    memory, places = factor
    if memory.pending[places].any():
        raise run.fail("reads what is copied, and nobody waited for the copy")
    if (memory.hidden[places] >= 0).any():
        raise run.fail("race: reads what a thread wrote, without a fence between")
    if (memory.hidden[places] == FENCED).any():
        raise run.fail("race: reads what a thread wrote, without a barrier")
    if (memory.copy_of[places] != NOBODY).any():
        raise run.fail("reads a tile that a tensor map brought, which is not simulated")


def numbers_of(factor: Factor, type_: str) -> Array:
    """A factor as tensor cores read it, exact in what it is multiplied in."""
    if type_ not in wgmma.BYTES:
        return warpgroups.numbers_of(factor)
    data = factor.memory.data[factor.places]
    return data.view(np.uint8 if type_ == "u8" else np.int8).astype(np.int32)


def read(run: ThreadBlock, value: SSAValue, rows: int, threads: range) -> Factor:
    """What a warpgroup's product reads of a factor by its descriptor."""
    bits = warpgroups.descriptor_of(run, value, threads)
    factor = warpgroups.factor_of(run, bits, rows, STEP_BYTES)
    check_shown(run, factor)
    return factor


def multiply(run: ThreadBlock, op: wgmma.MmaAsyncOp) -> Array:
    given: Array = run.values[op.sums]
    result = np.zeros((run.threads, *given.shape[1:]), given.dtype)
    for threads in warpgroups.groups_of(run):
        if threads.start not in run.fenced:
            raise run.fail("takes sums that no fence has ordered before it")
        factors = [
            read(run, value, rows, threads)
            for value, rows in ((op.a, ROWS), (op.b, op.columns))
        ]
        kinds = (op.type_a.data, op.type_b.data)
        a, b = (numbers_of(*pair) for pair in zip(factors, kinds, strict=True))
        before = np.broadcast_to(given, result.shape)[threads]
        total = warpgroups.matrix_of(before) + a @ b.T
        result[threads] = warpgroups.fragments_of(total).reshape(before.shape)
        warps = range(threads.start // WARP, threads.stop // WARP)
        product = Product(warps, factors)
        run.issued.setdefault(threads.start, []).append(product)
        warpgroups.note(product)
    return result


def cast(run: ThreadBlock, op: UnrealizedConversionCastOp) -> Array:
    """Sums of what threads have, which a fence has to order, or what threads have of sums."""
    (result,) = op.results
    if not isinstance(result.type, LLVMStructType):
        return warpgroups.fragment(run, op)
    for threads in warpgroups.groups_of(run):
        run.fenced.discard(threads.start)
    return run.values[op.operands[0]]


RULES: dict[type[Operation], Rule] = {
    memref.ExtractAlignedPointerAsIndexOp: address,
    wgmma.FenceProxyOp: show_writes,
    wgmma.FenceOp: fence,
    wgmma.CommitGroupOp: commit,
    wgmma.MmaAsyncOp: multiply,
    UnrealizedConversionCastOp: cast,
}
