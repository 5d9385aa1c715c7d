"""Builds what only Hopper's GPUs have: copies of tiles, barriers with phases, warpgroups.

Products of warpgroups are those of whole tiles that tensor maps bring (`nvgpu`), or instruction by
instruction those of tiles that threads copy (`nvvm`), where the builder has the fences, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    IntAttr,
    IntegerAttr,
    MemRefType,
    StridedLayoutAttr,
    StringAttr,
    UnrealizedConversionCastOp,
    bf16,
    f16,
    f32,
    i1,
    i8,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from glow.backends.cuda.kernels.gpu_builder import GpuBuilder, shared_type
from glow.dialects import arith
from glow.dialects.gpu import bulk_copies, nvvm, shared_memory, warpgroups, wgmma
from glow.dialects.gpu.matrix_descriptor import CHUNK_BYTES, FIELD, MatrixDescriptor
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.index_builder import Condition, Index

TICKS = 10_000_000
"""How long a thread may sleep before it looks at a barrier again; the hardware takes less."""


KINDS: Mapping[Attribute, str] = {f16: "f16", bf16: "bf16", f32: "tf32", i8: "s8"}
"""What products of such elements are of; of f32 19 bits are read."""


class ProductKind(NamedTuple):
    """A product of `nvvm`: the types of its factors, and its columns."""

    a: str
    b: str
    columns: int

    @property
    def sums(self) -> str:
        """The type of its sums."""
        return "s32" if self.a in wgmma.BYTES else "f32"

    @property
    def properties(self) -> dict[str, Attribute]:
        """As the operation has them: it adds to its sums."""
        k = warpgroups.STEP_BYTES // wgmma.SIZES[self.a]
        shape = (warpgroups.ROWS, self.columns, k)
        one = wgmma.ScaleInAttr(StringAttr("one"))
        return {
            "shape": wgmma.ShapeAttr(*map(IntAttr, shape)),
            "typeA": wgmma.TypeAttr(StringAttr(self.a)),
            "typeB": wgmma.TypeAttr(StringAttr(self.b)),
            "typeD": wgmma.TypeAttr(StringAttr(self.sums)),
            "scaleD": wgmma.ScaleOutAttr(StringAttr("one")),
            "scaleA": one,
            "scaleB": one,
            "layoutA": wgmma.LayoutAttr(StringAttr("row")),
            "layoutB": wgmma.LayoutAttr(StringAttr("col")),
        }


class WarpgroupBuilder(GpuBuilder):
    """Builds one kernel at a time."""

    # ---- barriers

    def barriers(self, count: int) -> SSAValue:
        """Barriers of the block, which one thread has to make ready."""
        type_ = bulk_copies.BarrierGroupType(shared_memory.SHARED, IntAttr(count))
        return self.value(bulk_copies.CreateOp, (), type_)

    def init_barrier(self, barriers: SSAValue, number: Index, arrivals: int) -> None:
        """Makes a barrier ready for phases in which so many threads arrive."""
        operands = (barriers, self.index(arrivals), self.index(number))
        self.create(bulk_copies.InitOp, operands)

    def fence_barriers(self) -> None:
        """Shows barriers that are ready to copies of tiles."""
        self.create(nvvm.FenceBarriersOp, ())

    def arrive(self, barriers: SSAValue, number: Index) -> None:
        """Arrives at a barrier."""
        operands = (barriers, self.index(number))
        self.value(bulk_copies.ArriveOp, operands, bulk_copies.BarrierTokenType())

    def expect(self, barriers: SSAValue, number: Index, bytes_: int) -> None:
        """Arrives at a barrier whose phase does not end before so many bytes are there."""
        operands = (barriers, self.index(bytes_), self.index(number))
        self.create(bulk_copies.ExpectOp, operands)

    def await_phase(self, barriers: SSAValue, number: Index, parity: Condition) -> None:
        """Waits until the phase of a parity has ended."""
        if isinstance(parity, bool):
            parity = self.constant(parity, i1)
        operands = (barriers, parity, self.index(TICKS), self.index(number))
        self.create(bulk_copies.TryWaitOp, operands)

    # ---- tiles

    def part(
        self, source: SSAValue, offsets: Sequence[Index], sizes: tuple[int, ...]
    ) -> SSAValue:
        """A part of shared memory."""
        shape = types.shape_of(source)
        layout = StridedLayoutAttr(types.row_major_strides(shape), None)
        element = types.element_of(source)
        type_ = MemRefType(element, sizes, layout, shared_memory.SHARED)
        places = [self.index(offset) for offset in offsets]
        properties = {
            "static_offsets": types.static_or_dynamic(places),
            "static_sizes": types.int64_array(sizes),
            "static_strides": types.int64_array((1,) * len(sizes)),
            "operandSegmentSizes": types.segments(1, len(places), 0, 0),
        }
        return self.value(memref.SubviewOp, (source, *places), type_, properties)

    def load_tile(
        self,
        map_: SSAValue,
        coordinates: Sequence[Index],
        arrival: tuple[SSAValue, Index],
        target: SSAValue,
    ) -> None:
        """Begins a copy of the tile at coordinates, those of the last axis first.

        `arrival` is the barrier that counts its bytes.
        """
        barriers, number = arrival
        places = [self.index(coordinate) for coordinate in coordinates]
        segments = types.segments(1, 1, 1, len(places), 1, 0, 0)
        operands = (target, barriers, map_, *places, self.index(number))
        properties = {"operandSegmentSizes": segments}
        self.create(bulk_copies.LoadOp, operands, (), properties)

    # ---- products

    def factor(
        self, tile: SSAValue, map_: SSAValue, shape: tuple[int, int]
    ) -> SSAValue:
        """A tile as tensor cores see it: [rows, depth], or [depth, columns]."""
        element = warpgroups.factor_element(types.element_of(tile))
        type_ = warpgroups.DescriptorType(shared_type(shape, element))
        return self.value(warpgroups.GenerateDescriptorOp, (tile, map_), type_)

    def zero_sums(self, columns: int, element: Attribute) -> SSAValue:
        """The sums of a warpgroup before the first product."""
        vector = types.vector_type((warpgroups.ROWS, columns), element)
        type_ = warpgroups.AccumulatorType(vector)
        return self.value(warpgroups.InitAccumulatorOp, (), type_)

    def multiply_tiles(
        self, a: SSAValue, b: SSAValue, sums: SSAValue, pending: int
    ) -> SSAValue:
        """a b + sums, of which so many products may not be done when it returns."""
        properties = {"waitGroup": IntegerAttr(pending, i64)}
        return self.value(warpgroups.MmaOp, (a, b, sums), sums.type, properties)

    def await_products(self, pending: int = 0) -> None:
        """Waits until at most so many groups of products of the warpgroup are not done."""
        self.create(nvvm.WaitGroupOp, (), (), {"group": IntegerAttr(pending, i64)})

    def fragment(self, sums: SSAValue) -> SSAValue:
        """What a thread has of sums: vector<eights of columns x 2 rows x 2 columns>."""
        type_ = warpgroups.sums_of(sums).fragment
        return self.value(UnrealizedConversionCastOp, (sums,), type_)

    # ---- products, an instruction at a time

    def descriptor(self, memory: SSAValue) -> SSAValue:
        """The descriptor of the factor that begins where shared memory does."""
        place = self.hoisted(
            memref.ExtractAlignedPointerAsIndexOp, types.INDEX, {}, (memory,)
        )
        bits = self.hoisted(arith.IndexCastOp, i64, {}, (place,))
        for operation, number in (
            (arith.ShRUIOp, CHUNK_BYTES.bit_length() - 1),
            (arith.AndIOp, FIELD),
            (arith.OrIOp, MatrixDescriptor(0).signed_bits),
        ):
            bits = self.hoisted(operation, i64, {}, (bits, self.constant(number, i64)))
        return bits

    def moved(self, descriptor: SSAValue, chunks: Index) -> SSAValue:
        """The descriptor of a factor so many times 16 bytes behind."""
        if isinstance(chunks, int):
            step = self.constant(chunks, i64)
        else:
            step = self.value(arith.IndexCastOp, (chunks,), i64)
        return self.value(arith.AddiOp, (descriptor, step), i64)

    def show_writes(self) -> None:
        """Shows to products, behind a barrier, what the thread has written."""
        properties = {
            "kind": wgmma.ProxyKindAttr(StringAttr("async.shared")),
            "space": wgmma.SharedSpaceAttr(StringAttr("cta")),
        }
        self.create(wgmma.FenceProxyOp, (), (), properties)

    def fence_products(self) -> None:
        """Orders what the threads did to sums before the products behind."""
        self.create(wgmma.FenceOp, ())

    def commit_products(self) -> None:
        """Makes a group of the products that were begun since the last one."""
        self.create(wgmma.CommitGroupOp, ())

    def begin_product(
        self, kind: ProductKind, a: SSAValue, b: SSAValue, sums: SSAValue
    ) -> SSAValue:
        """Begins a b + sums of two factors by their descriptors."""
        operands = (sums, a, b)
        return self.value(wgmma.MmaAsyncOp, operands, sums.type, kind.properties)

    def zero_struct(self, kind: ProductKind) -> SSAValue:
        """The sums of such products before the first one."""
        element = wgmma.SUMS[kind.sums]
        vector = types.vector_type((kind.columns // 8, 2, 2), element)
        type_ = wgmma.sums_type(kind.columns, element)
        return self.value(
            UnrealizedConversionCastOp, (self.constant(0, vector),), type_
        )

    def struct_fragment(self, sums: SSAValue) -> SSAValue:
        """What a thread has of sums: vector<eights of columns x 2 rows x 2 columns>."""
        elements = wgmma.struct_of(sums).types.data
        vector = types.vector_type((len(elements) // 4, 2, 2), elements[0])
        return self.value(UnrealizedConversionCastOp, (sums,), vector)
