"""Runs kernels of `gpu` and `nvgpu` a block at a time, as arrays over its threads.

Every value is an array whose first axis is the threads (of extent 1 where all have the same).
Threads go in step; what hardware leaves open is an error of one line that names kernel and
operation: shared memory that two threads touch without a barrier between, one of them writing; a
barrier that some threads do not reach; memory whose copy nobody waited for, NaN until then; an
index outside of its buffer; a vector that is not aligned. Turns that shared memory takes beyond the
first, and sectors of global memory beyond those that the bytes fill, are counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects import memref, scf, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    MemRefType,
    ModuleOp,
    VectorType,
)
from xdsl.ir import Attribute, Operation
from xdsl.ir.affine import AffineDimExpr

from glow.dialects.bounded_cache import bounded_cache
from glow.dialects.gpu import gpu
from glow.dialects.gpu.bulk_copies import TensorMapType
from glow.dialects.gpu.matrix_descriptor import PIECE_BYTES
from glow.dialects.gpu.shared_memory import WARP
from glow.dialects.tensor_types import shape_of
from glow.dialects.vector import FromElementsOp, ToElementsOp
from glow.interpreter.arrays import Array, garbage
from glow.interpreter.gpu import phases, tensor_cores, tiles, warpgroups, wgmma
from glow.interpreter.gpu.block import Rule, Steps, ThreadBlock, sizes_of
from glow.interpreter.gpu.memory import Access, Memory, Report
from glow.interpreter.scalar_functions import SCALARS, Function, element_dtype

# Values -----------------------------------------------------------------------------------


dtype_of_type = bounded_cache(element_dtype)


def padded(array: Array, rank: int) -> Array:
    """The array with axes of extent 1 behind that of the threads."""
    if array.ndim == rank:
        return array
    ones = (1,) * (rank - array.ndim)
    return array.reshape(*array.shape[:1], *ones, *array.shape[1:])


def compute(run: ThreadBlock, op: Operation, function: Function) -> Array:
    """Arithmetic, element by element."""
    operands: list[Array] = [run.values[value] for value in op.operands]
    rank = max((operand.ndim for operand in operands), default=0)
    result = function(op, *(padded(operand, rank) for operand in operands))
    result = np.asarray(result).astype(dtype_of_type(op.results[0].type), copy=False)
    return result if operands else result.reshape(1, *vector_shape(op.results[0].type))


def thread_id(run: ThreadBlock, op: gpu.ThreadIdOp) -> Array:
    axis = "xyz".index(str(op.dimension.data))
    return np.arange(run.threads) // prod(run.size[:axis]) % run.size[axis]


def block_id(run: ThreadBlock, op: gpu.BlockIdOp) -> Array:
    return np.array([run.number["xyz".index(str(op.dimension.data))]])


def broadcast(run: ThreadBlock, op: vector.BroadcastOp) -> Array:
    source: Array = run.values[op.operands[0]]
    shape = shape_of(op.vector.type)
    return np.broadcast_to(padded(source, len(shape) + 1), (len(source), *shape))


def static_place(op: vector.ExtractOp | vector.InsertOp) -> tuple[Any, ...]:
    place = op.static_position.get_values()
    assert DYNAMIC_INDEX not in place
    return (slice(None), *place)


def extract(run: ThreadBlock, op: vector.ExtractOp) -> Array:
    return run.values[op.operands[0]][static_place(op)]


def insert(run: ThreadBlock, op: vector.InsertOp) -> Array:
    source, target = run.values[op.operands[0]], run.values[op.operands[1]]
    result = np.broadcast_to(target, (run.threads, *target.shape[1:])).copy()
    result[static_place(op)] = source
    return result


def fused_multiply_add(run: ThreadBlock, op: vector.FMAOp) -> Array:
    a, b, c = (run.values[value].astype(np.float64) for value in op.operands)
    return (a * b + c).astype(element_dtype(op.results[0].type))


def shuffle_rows(run: ThreadBlock, op: vector.ShuffleOp) -> Array:
    both = np.concatenate([run.values[value] for value in op.operands], axis=1)
    return both[:, list(op.mask.iter_values())]


def to_elements(run: ThreadBlock, op: ToElementsOp) -> list[Array]:
    source: Array = run.values[op.source]
    return list(source.reshape(len(source), -1).T)


def from_elements(run: ThreadBlock, op: FromElementsOp) -> Array:
    elements = np.broadcast_arrays(*(run.values[value] for value in op.elements))
    return np.stack(elements, axis=1).reshape(-1, *vector_shape(op.dest.type))


def bitcast(run: ThreadBlock, op: vector.BitcastOp) -> Array:
    source: Array = run.values[op.operands[0]]
    return np.ascontiguousarray(source).view(element_dtype(op.results[0].type))


def shuffle(run: ThreadBlock, op: gpu.ShuffleOp) -> list[Array]:
    run.together(WARP)
    value, offset = run.values[op.value], run.values[op.offset]
    lanes = np.arange(run.threads)
    source = lanes ^ offset if op.mode.data is gpu.ShuffleMode.Xor else lanes + offset
    source = np.where(source // WARP == lanes // WARP, source, lanes)
    return [np.broadcast_to(value, run.threads)[source], source != lanes]


# Regions ----------------------------------------------------------------------------------


def merged(
    chosen: Array, values: Sequence[Array], others: Sequence[Array]
) -> list[Any]:
    """The first values in the chosen threads, else the others."""
    pairs = zip(values, others, strict=True)
    return [np.where(chosen.reshape(-1, *(1,) * (a.ndim - 1)), a, b) for a, b in pairs]


def for_loop(run: ThreadBlock, op: scf.ForOp) -> Steps:
    position, upper, step = (run.values[bound] for bound in (op.lb, op.ub, op.step))
    carried = [run.values[value] for value in op.iter_args]
    while (going := run.active & (position < upper)).any():
        arguments = [position, *carried]
        run.values.update(zip(op.body.block.args, arguments, strict=True))
        results = yield from run.region(op.body, going)
        all_go = np.array_equal(going, run.active)
        carried = results if all_go else merged(going, results, carried)
        position = position + step
    return carried


def condition(run: ThreadBlock, op: scf.IfOp) -> Steps:
    holds, outer = np.broadcast_to(run.values[op.cond], run.threads), run.active
    sides = [
        run.region(region, active)
        for region, active in (
            (op.true_region, run.active & holds),
            (op.false_region, run.active & ~holds),
        )
        if region.blocks and (active.any() or op.results)
    ]
    taken = yield from run.by_turns(sides)
    run.active = outer
    return merged(holds, *taken) if op.results else []


# Memory -----------------------------------------------------------------------------------


def get_global(run: ThreadBlock, op: memref.GetGlobalOp) -> Memory:
    """Shared memory of the block: NaN before it is written."""
    name, type_ = op.name_.string_value(), op.memref.type
    if name not in run.shared:
        data = garbage((prod(shape_of(type_)),), element_dtype(type_))
        taken = max((memory.end for memory in run.shared.values()), default=0)
        base = -(-taken // PIECE_BYTES) * PIECE_BYTES
        run.shared[name] = Memory(type_, data, is_shared=True, base=base)
    return run.shared[name]


def reinterpret(run: ThreadBlock, op: memref.ReinterpretCastOp) -> Memory:
    """A dense buffer under another shape."""
    return run.values[op.source].reshaped(op.result.type)


def vector_shape(type_: Attribute) -> tuple[int, ...]:
    return shape_of(cast("Attribute", type_)) if isinstance(type_, VectorType) else ()


def rows_of(
    run: ThreadBlock, op: Operation, memory: Memory, type_: Attribute
) -> Access:
    """The elements [threads, *shape of a vector] that a load or store touches."""
    shape, rank = vector_shape(type_), len(memory.shape)
    axes: Sequence[int | None] = range(rank - len(shape), rank)
    if isinstance(op, vector.TransferReadOp | vector.TransferWriteOp):
        results = op.permutation_map.data.results
        axes = [e.position if isinstance(e, AffineDimExpr) else None for e in results]
    spans, steps = [1] * rank, np.zeros(1, np.int64)
    for axis, extent in zip(axes, shape, strict=True):
        count, stride = (1, 0) if axis is None else (extent, memory.strides[axis])
        spans = [
            max(span, count) if k == axis else span for k, span in enumerate(spans)
        ]
        steps = steps[..., None] + np.arange(count) * stride
    indices = [value for value in op.operands if isinstance(value.type, IndexType)]
    threads, first = run.places(memory, indices, spans, run.active)
    places = first.reshape(-1, *(1,) * len(shape)) + steps
    width = shape[-1] if shape and axes[-1] == rank - 1 else 1
    return Access(memory, threads, places, width)


def load(run: ThreadBlock, op: Operation) -> Array:
    memory, type_ = run.values[op.operands[0]], op.results[0].type
    access = run.touch(rows_of(run, op, memory, type_))
    result = np.zeros((run.threads, *vector_shape(type_)), memory.data.dtype)
    result[access.threads] = memory.data[access.places]
    return result


def store(run: ThreadBlock, op: Operation) -> None:
    value, memory = run.values[op.operands[0]], run.values[op.operands[1]]
    access = run.touch(rows_of(run, op, memory, op.operands[0].type), is_write=True)
    whole = np.broadcast_to(value, (run.threads, *value.shape[1:]))
    memory.data[access.places] = whole[access.threads].reshape(access.places.shape)


def barrier(run: ThreadBlock, op: Operation) -> None:
    run.together(run.threads)
    run.order.meet()
    for memory in run.shared.values():
        memory.forget()


def nothing(run: ThreadBlock, op: Operation) -> None:
    """An end of a block, whose operands the owner reads."""


RULES: dict[type[Operation], Rule] = {
    **{op: partial(compute, function=function) for op, function in SCALARS.items()},
    **tensor_cores.RULES, **phases.RULES, **tiles.RULES, **warpgroups.RULES,
    **wgmma.RULES,
    gpu.ThreadIdOp: thread_id, gpu.BlockIdOp: block_id, gpu.BarrierOp: barrier,
    gpu.ShuffleOp: shuffle, gpu.ReturnOp: nothing, scf.YieldOp: nothing,
    scf.ForOp: for_loop, scf.IfOp: condition,
    vector.BroadcastOp: broadcast, vector.ExtractOp: extract, vector.InsertOp: insert,
    vector.FMAOp: fused_multiply_add, vector.ShuffleOp: shuffle_rows,
    ToElementsOp: to_elements, FromElementsOp: from_elements, vector.BitcastOp: bitcast,
     memref.ReinterpretCastOp: reinterpret,
    memref.GetGlobalOp: get_global,
    memref.LoadOp: load, vector.LoadOp: load, vector.TransferReadOp: load,
    memref.StoreOp: store, vector.StoreOp: store, vector.TransferWriteOp: store,
}  # fmt: skip


def kernels_of(module: ModuleOp) -> Iterator[gpu.FuncOp]:
    """The kernels of a program."""
    return (op for op in module.walk() if isinstance(op, gpu.FuncOp))


def arguments_of(
    kernel: gpu.FuncOp, buffers: Sequence[Array]
) -> list[Memory | tiles.TensorMap]:
    """The arguments of a kernel: buffers, and tensor maps of the buffers before them."""
    found: list[Memory | tiles.TensorMap] = []
    left = iter(buffers)
    for argument in kernel.body.block.args:
        if isinstance(argument.type, TensorMapType):
            memory = found[-1]
            assert isinstance(memory, Memory)
            found.append(tiles.TensorMap(memory, argument.type))
        else:
            type_ = cast("MemRefType[Attribute]", argument.type)
            found.append(Memory(type_, next(left).reshape(-1), is_shared=False))
    if len(list(left)):
        raise ValueError(f"@{kernel.sym_name.data} has fewer buffers")
    return found


def run_kernel(kernel: gpu.FuncOp, buffers: Sequence[Array]) -> Report:
    """Run all blocks of a kernel on buffers of its arguments' shapes, which it changes.

    Raises GlowError with kernel and operation for what the module's head lists.
    """
    report = Report()
    grid = sizes_of(kernel.known_grid_size)
    memories = arguments_of(kernel, buffers)
    for z, y, x in product(*(range(extent) for extent in reversed(grid))):
        run = ThreadBlock(kernel, (x, y, z), RULES, report)
        run.values.update(zip(kernel.body.block.args, memories, strict=True))
        with np.errstate(all="ignore"):
            for _ in run.run(kernel.body.block):
                raise run.fail("waits for a phase that does not end")
        if any(memory.pending.any() for memory in run.shared.values()):
            raise run.fail("ends, and nobody waited for a copy")
        if any(run.products.values()) or any(run.issued.values()):
            raise run.fail("ends, and nobody waited for a product")
    return report
