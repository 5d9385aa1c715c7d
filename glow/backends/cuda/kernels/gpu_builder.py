"""Builds kernels for many threads: loops, and upstream's `gpu` and `nvgpu`.

What the threads of a block share stands beside the kernel in its `gpu.module`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    BoolAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i1,
    i32,
    i64,
)
from xdsl.dialects.gpu import DimensionAttr, DimensionEnum
from xdsl.ir import Attribute, Block, Region, SSAValue

from glow.dialects import arith
from glow.dialects.gpu import bulk_copies, gpu, nvgpu, shared_memory
from glow.dialects.vector import FromElementsOp, ToElementsOp
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import CarryBody, LoopBuilder
from glow.lowering.loop_builder.index_builder import Index

WARP = shared_memory.WARP
TILE_BYTES = 16
"""The bytes of a row of a matrix that `ldmatrix` loads, and of the widest access."""

ThreadBody = Callable[[Sequence[SSAValue]], None]
"""A kernel's body: takes the buffers."""

UNROLLED = 4
"""The steps of the depth of a product that are written out."""

SHARED_ALIGNMENT = 128
BARRIER_BYTES = 8
STATIC_SHARED = 48 * 1024
"""The bytes of shared memory that a kernel may declare; more is given to it at its launch (CUDA C++
Programming Guide, "Compute Capabilities")."""

MOST_BLOCKS = 65_535
"""Those of a grid along its second and its third axis (the same table)."""

AXES = {axis: DimensionAttr(axis) for axis in DimensionEnum}


class SharedBuffer(NamedTuple):
    """Memory that the threads of a block share, by its symbol."""

    name: str
    size: int
    """Bytes, to where the next one may begin."""
    alignment: int


@dataclass(frozen=True)
class GpuKernel:
    """A kernel with the shared memory that it uses; the function says block and grid."""

    module: gpu.ModuleOp
    function: gpu.FuncOp
    shared_bytes: int

    @staticmethod
    def of(module: gpu.ModuleOp) -> GpuKernel:
        """The kernel of a module that holds one."""
        (function,) = (op for op in module.body.block.ops if isinstance(op, gpu.FuncOp))
        size = sum(buffer.size for buffer in shared_buffers(module))
        return GpuKernel(module, function, size)

    @property
    def grid(self) -> tuple[int, int, int]:
        """The blocks along each axis."""
        return _sizes(self.function.known_grid_size)

    @property
    def block(self) -> tuple[int, int, int]:
        """The threads of a block along each axis."""
        return _sizes(self.function.known_block_size)

    @property
    def shared(self) -> list[SharedBuffer]:
        """What the threads of a block share."""
        return shared_buffers(self.module)

    @property
    def dynamic_bytes(self) -> int:
        """The shared memory that a launch has to give, all of it or none."""
        return self.shared_bytes if self.shared_bytes > STATIC_SHARED else 0


class GpuBuilder(LoopBuilder):
    """Builds one kernel at a time."""

    def kernel(
        self,
        name: str,
        buffers: Sequence[Attribute],
        threads: int,
        grid: Sequence[int],
        body: ThreadBody,
    ) -> GpuKernel:
        """A kernel of such buffers for blocks of so many threads."""
        self._entry, self._constants, self.name = Block(), {}, name
        self.globals: list[memref.GlobalOp] = []
        self._block = block = Block(arg_types=buffers)
        body(block.args)
        self.create(gpu.ReturnOp, ())
        first = block.first_op
        assert first is not None
        for operation in list(self._entry.ops):
            operation.detach()
            block.insert_op_before(operation, first)
        function = gpu.FuncOp(name, Region(block), (threads, 1, 1), grid)
        return GpuKernel.of(gpu.ModuleOp(f"{name}_module", [*self.globals, function]))

    def thread(self) -> SSAValue:
        """The number of the thread in its block."""
        return self._place(gpu.ThreadIdOp, DimensionEnum.X)

    def block(self, axis: DimensionEnum) -> SSAValue:
        """The number of the block along an axis of the grid."""
        return self._place(gpu.BlockIdOp, axis)

    def _place(self, operation: type[gpu.PlaceOp], axis: DimensionEnum) -> SSAValue:
        return self.value(operation, (), types.INDEX, {"dimension": AXES[axis]})

    def barrier(self) -> None:
        """Waits for all threads of the block."""
        self.create(gpu.BarrierOp, ())

    def exchange(self, value: SSAValue, offset: int) -> SSAValue:
        """The value of the lane whose number differs from one's own in the bits of `offset`."""
        numbers = [self.constant(number, i32) for number in (offset, WARP)]
        properties = {"mode": gpu.ShuffleModeAttr(gpu.ShuffleMode.Xor)}
        results = (value.type, i1)
        return self.create(
            gpu.ShuffleOp, (value, *numbers), results, properties
        ).results[0]

    def xor(self, a: Index, b: Index) -> Index:
        """The exclusive or of two positions."""
        if isinstance(a, int) and isinstance(b, int):
            return a ^ b
        if b == 0:
            return a
        return self.value(arith.XOrIOp, (self.index(a), self.index(b)), types.INDEX)

    def elements(self, a: SSAValue) -> Sequence[SSAValue]:
        """The elements of a vector, row by row."""
        count = prod(types.shape_of(a))
        return self.create(ToElementsOp, (a,), [types.element_of(a)] * count).results

    def vector_of(self, a: Sequence[SSAValue], shape: tuple[int, ...]) -> SSAValue:
        """The vector of such elements, row by row."""
        return self.value(FromElementsOp, a, types.vector_type(shape, a[0].type))

    def steps(
        self, positions: range, carried: Sequence[SSAValue], body: CarryBody
    ) -> Sequence[SSAValue]:
        """The carried values after a body at each position from 0 on, some of them a trip.

        What is written out at once is loaded at once, into registers.
        """
        count = len(positions)
        some_steps = (n for n in range(UNROLLED, 0, -1) if count % n == 0)
        trip = next(some_steps, 1) * positions.step

        def some(first: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            for step in range(0, trip, positions.step):
                values = body(self.add(first, step), values)
            return values

        return self.carry(0, positions.stop, trip, carried, some)

    # ---- shared memory

    def shared(
        self,
        name: str,
        shape: tuple[int, ...],
        element: Attribute,
        alignment: int = SHARED_ALIGNMENT,
    ) -> SSAValue:
        """Memory that the threads of a block share."""
        symbol, type_ = f"{self.name}_{name}", shared_type(shape, element)
        place = IntegerAttr(alignment, i64)
        self.globals.append(
            memref.GlobalOp.get(StringAttr(symbol), type_, UnitAttr(), alignment=place)
        )
        properties = {"name": SymbolRefAttr(symbol)}
        return self.hoisted(memref.GetGlobalOp, type_, properties)

    def shared_view(self, source: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        """Shared memory under another shape."""
        properties = {
            "static_offsets": types.int64_array((0,)),
            "static_sizes": types.int64_array(shape),
            "static_strides": types.int64_array(types.row_major_strides(shape)),
            "operandSegmentSizes": types.segments(1, 0, 0, 0),
        }
        type_ = shared_type(shape, types.element_of(source))
        return self.hoisted(memref.ReinterpretCastOp, type_, properties, (source,))

    def copy_async(
        self,
        source: SSAValue,
        indices: Sequence[Index],
        target: SSAValue,
        place: Sequence[Index],
        width: int,
        count: Index | None = None,
    ) -> None:
        """Begins a copy of `width` elements to shared memory; of `count` and zeros behind."""
        if count == 0:
            raise ValueError("a copy of nothing")
        counts = [] if count is None else [self.index(count)]
        operands = [target, *map(self.index, place), source, *map(self.index, indices)]
        properties: dict[str, Attribute] = {
            "dstElements": IntegerAttr(width, IndexType()),
            "operandSegmentSizes": types.segments(
                1, len(place), 1, len(indices), len(counts)
            ),
        }
        if width * types.byte_width(types.element_of(source)) == TILE_BYTES:
            properties["bypassL1"] = UnitAttr()
        token = (nvgpu.TokenType(),)
        self.create(nvgpu.AsyncCopyOp, (*operands, *counts), token, properties)

    def copy_group(self) -> SSAValue:
        """The copies that were begun since the last group."""
        return self.value(nvgpu.CreateGroupOp, (), nvgpu.TokenType())

    def wait(self, group: SSAValue, pending: int) -> None:
        """Waits until at most so many groups have not arrived."""
        properties = {"numGroups": IntegerAttr(pending, i32)}
        self.create(nvgpu.WaitOp, (group,), (), properties)

    # ---- tensor cores

    def load_matrices(
        self,
        source: SSAValue,
        place: Sequence[Index],
        count: int,
        transpose: bool,
        read: Attribute | None = None,
    ) -> SSAValue:
        """`count` matrices of 8 rows of 16 bytes: vector<count x elements of 4 bytes>.

        `read`: what the elements are, where memory does not say whether they have signs.
        """
        element = read or types.element_of(source)
        properties = {
            "transpose": BoolAttr.from_bool(transpose),
            "numTiles": IntegerAttr(count, i32),
        }
        type_ = types.vector_type((count, 4 // types.byte_width(element)), element)
        operands = (source, *map(self.index, place))
        return self.value(nvgpu.LdMatrixOp, operands, type_, properties)

    def multiply_matrices(self, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
        """A b + c of fragments, on tensor cores."""
        properties: dict[str, Attribute] = {
            "mmaShape": types.integers((16, 8, 8 * types.shape_of(a)[1]))
        }
        if types.byte_width(types.element_of(a)) == 4:
            properties["tf32Enabled"] = UnitAttr()
        return self.value(nvgpu.MmaSyncOp, (a, b, c), c.type, properties)


def tile_row_elements(element: Attribute) -> int:
    """The elements of 16 bytes."""
    return TILE_BYTES // types.byte_width(element)


def copied_elements(extent: int, element: Attribute) -> int:
    """The elements that a copy takes of rows of that extent, so that all are aligned."""
    size = types.byte_width(element)
    widths = [bytes_ // size for bytes_ in (16, 8, 4) if bytes_ >= size]
    return next((width for width in widths if extent % width == 0), 1)


def shared_type(shape: tuple[int, ...], element: Attribute) -> MemRefType[Attribute]:
    """The type of memory that the threads of a block share."""
    return MemRefType(element, shape, memory_space=shared_memory.SHARED)


def shared_buffers(module: gpu.ModuleOp) -> list[SharedBuffer]:
    """The shared memory of a kernel: its buffers, and behind them the barriers."""
    found: list[SharedBuffer] = []
    for op in module.body.block.ops:
        if isinstance(op, memref.GlobalOp):
            assert types.is_memref(op.type)
            assert op.alignment is not None
            size = op.type.element_count() * types.byte_width(op.type.element_type)
            alignment = op.alignment.value.data
            found.append(SharedBuffer(op.sym_name.data, aligned(size), alignment))
        elif isinstance(op, gpu.FuncOp):
            for made, name in barrier_names(op).items():
                size = BARRIER_BYTES * bulk_copies.group_of(made.barriers).count.data
                found.append(SharedBuffer(name, aligned(size), SHARED_ALIGNMENT))
    return found


def barrier_names(function: gpu.FuncOp) -> dict[bulk_copies.CreateOp, str]:
    """The symbols of a kernel's barriers."""
    ops = [op for op in function.body.block.ops if isinstance(op, bulk_copies.CreateOp)]
    name = function.sym_name.data
    return {op: f"{name}_barriers{number}" for number, op in enumerate(ops)}


def aligned(size: int) -> int:
    """The bytes to where the next shared buffer may begin."""
    return -(-size // SHARED_ALIGNMENT) * SHARED_ALIGNMENT


def _sizes(attribute: DenseArrayBase[IntegerType] | None) -> tuple[int, int, int]:
    assert attribute is not None
    x, y, z = attribute.iter_values()
    return x, y, z
