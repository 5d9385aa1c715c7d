"""Loads, stores and views of memrefs for the loops-level builder."""

from collections.abc import Mapping, Sequence

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import BoolAttr, IntegerAttr, MemRefType, i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from glow.dialects import arith
from glow.dialects.bounded_cache import bounded_cache
from glow.dialects.memref import PrefetchOp
from glow.dialects.vector import GatherOp
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.index_builder import Index
from glow.lowering.loop_builder.value_builder import ValueBuilder

_TEMPORAL = {"nontemporal": BoolAttr.from_bool(False)}
_STACK_ALIGNMENT = IntegerAttr(64, i64)


@bounded_cache
def _prefetch_properties(locality: int) -> Mapping[str, Attribute]:
    return {
        "isWrite": BoolAttr.from_bool(False),
        "localityHint": IntegerAttr(locality, i32),
        "isDataCache": BoolAttr.from_bool(True),
    }


class MemoryBuilder(ValueBuilder):
    """Everything that touches a memref."""

    def load(self, source: SSAValue, *indices: Index) -> SSAValue:
        """The element at those indices."""
        operands = (source, *map(self.index, indices))
        return self.value(memref.LoadOp, operands, types.element_of(source), _TEMPORAL)

    def number(self, source: SSAValue) -> SSAValue:
        """The element of a buffer of one, which a function reads once, when it is called.

        In a loop it would be read again behind each store, which may be to the same place for
        all that the code generator knows. What a function writes itself is not read so.
        """
        if source.owner is not self._function:
            return self.load(source, 0)
        if source not in self._numbers:
            inner, self._block = self._block, self._entry
            self._numbers[source] = self.load(source, 0)
            self._block = inner
        return self._numbers[source]

    def store(self, value: SSAValue, target: SSAValue, *indices: Index) -> None:
        """Stores one element."""
        operands = (value, target, *map(self.index, indices))
        self.create(memref.StoreOp, operands, (), _TEMPORAL)

    def prefetch(self, source: SSAValue, *indices: Index, locality: int) -> None:
        """Asks for the cache line of an element; harmless outside of the buffer."""
        operands = (source, *map(self.index, indices))
        self.create(PrefetchOp, operands, (), _prefetch_properties(locality))

    def vector_load(self, length: int, source: SSAValue, *indices: Index) -> SSAValue:
        """`length` contiguous elements along the last dimension."""
        result = types.vector_type((length,), types.element_of(source))
        operands = (source, *map(self.index, indices))
        return self.value(vector.LoadOp, operands, result, _TEMPORAL)

    def look_up(self, table: SSAValue, places: SSAValue) -> SSAValue:
        """The bytes of a table of 256 at places that are bytes, a 1-D vector."""
        (length,) = types.shape_of(places)
        wide = types.vector_type((length,), i32)
        result = types.vector_type((length,), types.element_of(table))
        mask = self.constant(1, types.vector_type((length,), i1))
        others = self.constant(0, result)
        operands = (
            table,
            self.index(0),
            self.value(arith.ExtUIOp, (places,), wide),
            mask,
            others,
        )
        return self.value(GatherOp, operands, result)

    def vector_store(self, value: SSAValue, target: SSAValue, *indices: Index) -> None:
        """Stores a 1-D vector along the last dimension."""
        operands = (value, target, *map(self.index, indices))
        self.create(vector.StoreOp, operands, (), _TEMPORAL)

    def transfer_read(
        self,
        source: SSAValue,
        indices: Sequence[Index],
        shape: tuple[int, ...],
        dimensions: tuple[int | None, ...],
    ) -> SSAValue:
        """The vector whose dimension k walks memref dimension `dimensions[k]` (None: repeats).

        A last dimension with stride one makes vector loads, None makes broadcast loads; two
        exchanged dimensions make a transposing read.
        """
        element = types.element_of(source)
        operands = (source, *map(self.index, indices), self.constant(0, element))
        properties = {
            "in_bounds": types.in_bounds(len(dimensions)),
            "permutation_map": types.permutation_map(len(indices), dimensions),
            "operandSegmentSizes": types.segments(1, len(indices), 1, 0),
        }
        result = types.vector_type(shape, element)
        return self.value(vector.TransferReadOp, operands, result, properties)

    def transfer_write(
        self,
        value: SSAValue,
        target: SSAValue,
        indices: Sequence[Index],
        dimensions: tuple[int, ...],
    ) -> None:
        """Stores a vector whose dimension k walks memref dimension `dimensions[k]`."""
        operands = (value, target, *map(self.index, indices))
        properties = {
            "in_bounds": types.in_bounds(len(dimensions)),
            "permutation_map": types.permutation_map(len(indices), dimensions),
            "operandSegmentSizes": types.segments(1, 1, len(indices), 0),
        }
        self.create(vector.TransferWriteOp, operands, (), properties)

    def subview(
        self,
        source: SSAValue,
        offsets: Sequence[Index],
        sizes: Sequence[int],
        strides: Sequence[int] | None = None,
        drop: Sequence[int] = (),
    ) -> SSAValue:
        """The part of a memref from `offsets` on, without the unit dimensions in `drop`."""
        strides = strides or [1] * len(sizes)
        keep = [axis for axis in range(len(sizes)) if axis not in drop]
        strided = any(stride != 1 for stride in strides)
        if drop and strided and any(sizes[axis] == 1 for axis in keep):
            # One view that strides and drops some of its unit dimensions crashes mlir-opt
            # 22, which looks for those dropped among the strides of the source.
            source = self.subview(source, offsets, sizes, strides)
            return self.subview(source, [0] * len(sizes), sizes, None, drop)
        steps, base = types.memref_layout(types.memref_of(source))
        result = types.memref_type(
            tuple(sizes[axis] for axis in keep),
            types.element_of(source),
            tuple(steps[axis] * strides[axis] for axis in keep),
            _view_offset(offsets, steps, base),
        )
        dynamic = [offset for offset in offsets if not isinstance(offset, int)]
        properties = {
            "static_offsets": types.static_or_dynamic(offsets),
            "static_sizes": types.int64_array(tuple(sizes)),
            "static_strides": types.int64_array(tuple(strides)),
            "operandSegmentSizes": types.segments(1, len(dynamic), 0, 0),
        }
        return self.value(memref.SubviewOp, (source, *dynamic), result, properties)

    def reinterpret(
        self,
        source: SSAValue,
        shape: tuple[int, ...],
        strides: tuple[int, ...] | None = None,
        offset: int = 0,
    ) -> SSAValue:
        """The memory of a dense memref under another shape, strides and element offset.

        Strides default to row-major ones. Nothing checks that the view stays inside.
        """
        strides = strides or types.row_major_strides(shape)
        dense = offset == 0 and strides == types.row_major_strides(shape)
        if dense and types.memref_of(source) == types.memref_type(
            shape, types.element_of(source)
        ):
            return source
        element = types.element_of(source)
        result = (
            types.memref_type(shape, element)
            if dense
            else types.memref_type(shape, element, strides, offset)
        )
        properties = {
            "static_offsets": types.int64_array((offset,)),
            "static_sizes": types.int64_array(shape),
            "static_strides": types.int64_array(strides),
            "operandSegmentSizes": types.segments(1, 0, 0, 0),
        }
        return self.value(memref.ReinterpretCastOp, (source,), result, properties)

    def view(self, source: SSAValue, byte_offset: Index, type_: MemRefType) -> SSAValue:
        """A typed view of a buffer of bytes."""
        return self.value(memref.ViewOp, (source, self.index(byte_offset)), type_)

    def alloca(self, type_: MemRefType) -> SSAValue:
        """A small buffer on the stack, 64-byte aligned, allocated once at function entry."""
        properties = {
            "alignment": _STACK_ALIGNMENT,
            "operandSegmentSizes": types.segments(0, 0),
        }
        return self.hoisted(memref.AllocaOp, type_, properties)


def _view_offset(
    offsets: Sequence[Index], strides: Sequence[int], base: int | None
) -> int | None:
    total = base
    for offset, stride in zip(offsets, strides, strict=True):
        if total is None or not isinstance(offset, int):
            return None
        total += offset * stride
    return total
