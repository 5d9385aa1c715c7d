"""Element-wise work, broadcasts, slices and views for many threads.

Thread i has results 4 i to 4 i + 3 where these lie in a row of every operand, or where all are
bytes, which are read one by one, and else result i: neighbours read what lies side by side. Axes
that all operands go through alike are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.gpu import DimensionEnum
from xdsl.ir import Attribute, SSAValue

from glow.backends.cuda.kernels.gpu_builder import GpuBuilder, GpuKernel
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.index_builder import Condition, Index
from glow.lowering.loop_builder.scalar_region import ScalarRegion
from glow.lowering.target.target import Target

THREADS, VECTOR = 128, 4


@dataclass(frozen=True)
class Bound:
    """Elements are there whose positions along the axes, times `strides`, are below `extent`."""

    strides: tuple[int, ...]
    extent: int


@dataclass(frozen=True)
class StridedOperand:
    """A buffer of `size` elements, and the steps in it along each axis of the result.

    0 repeats an element; a transposed operand has the steps of its axes in another order. `offset`:
    where the first element is. Behind a `bound` there are zeros, of a result nothing.
    """

    size: int
    strides: tuple[int, ...]
    offset: int = 0
    bound: Bound | None = None


@dataclass(frozen=True)
class ElementwiseSpec:
    """A region on operands. Arguments: results, operands, all flat.

    `result`: where results go, if these are not all that there is in their buffer. `is_aligned`:
    whether the buffers begin at multiples of 16 bytes.
    """

    shape: tuple[int, ...]
    region: ScalarRegion
    operands: tuple[StridedOperand, ...]
    result: StridedOperand | None = None
    is_aligned: bool = True

    @property
    def moved(self) -> list[StridedOperand]:
        """The operands, and the result where that is not dense."""
        return [*self.operands, *([] if self.result is None else [self.result])]

    @property
    def buffers(self) -> list[MemRefType[Attribute]]:
        """The types of the arguments."""
        stored = self.region.result_types
        total = prod(self.shape) if self.result is None else self.result.size
        sizes = [total] * len(stored) + [operand.size for operand in self.operands]
        pairs = zip(sizes, [*stored, *self.region.input_types], strict=True)
        return [types.memref_type((size,), element) for size, element in pairs]

    @property
    def has_bytes(self) -> bool:
        """Whether all elements are bytes."""
        return all(types.byte_width(each.element_type) == 1 for each in self.buffers)


def merge_axes(
    shape: Sequence[int], strides: Sequence[Sequence[int]]
) -> tuple[list[int], list[list[int]]]:
    """Shape and strides of the fewest axes that go through the same places."""
    extents: list[int] = []
    steps: list[list[int]] = []
    for axis, extent in enumerate(shape):
        here = [stride[axis] for stride in strides]
        if extent == 1:
            continue
        if extents and steps[-1] == [extent * step for step in here]:
            extents[-1], steps[-1] = extents[-1] * extent, here
        else:
            extents.append(extent)
            steps.append(here)
    if not extents:
        return [1], [[0] for _ in strides]
    return extents, [list(each) for each in zip(*steps, strict=True)] or [[]]


@dataclass(frozen=True)
class Walk:
    """How threads go through the places of a kernel: `width` of them each along the last axis.

    `strides` and `bounds` are of `ElementwiseSpec.moved`.
    """

    extents: Sequence[int]
    strides: Sequence[Sequence[int]]
    bounds: Sequence[Bound | None]
    width: int


def lies_in_vectors(steps: Sequence[int]) -> bool:
    """Whether four places from a multiple of four on are four aligned elements."""
    return steps[-1] == 1 and all(step % VECTOR == 0 for step in steps[:-1])


def walk_of(spec: ElementwiseSpec) -> Walk:
    """Four places a thread where these are vectors or repeat, or bytes, which lie anywhere."""
    moved, count = spec.moved, len(spec.moved)
    given = [each.bound for each in moved if each.bound is not None]
    extents, steps = merge_axes(spec.shape, [each.strides for each in (*moved, *given)])
    ends = iter(steps[count:])
    bounds = [
        None if each.bound is None else Bound(tuple(next(ends)), each.bound.extent)
        for each in moved
    ]
    walk = Walk(extents, steps[:count], bounds, VECTOR)
    fits = spec.is_aligned and extents[-1] % VECTOR == 0
    fits = fits and all(each.offset % VECTOR == 0 for each in moved)
    return walk if fits and has_vectors(spec, walk) else replace(walk, width=1)


def has_vectors(spec: ElementwiseSpec, walk: Walk) -> bool:
    """Whether threads may take four places at once."""
    for number, steps in enumerate(walk.strides):
        is_vector = lies_in_vectors(steps)
        bound = walk.bounds[number]
        if number < len(spec.operands):
            is_read = bound is None and (is_vector or steps[-1] == 0)
            if not is_read and not spec.has_bytes:
                return False
            continue
        # All of a vector is stored, or nothing.
        ends = bound is None or bound.strides[-1] == 0
        if bound is not None and lies_in_vectors(bound.strides):
            ends = bound.extent % VECTOR == 0
        if not (is_vector and ends):
            return False
    return True


class Elements:
    """The body of the kernel."""

    def __init__(
        self, b: GpuBuilder, spec: ElementwiseSpec, walk: Walk, place: Sequence[Index]
    ) -> None:
        self.b, self.spec, self.walk, self.place = b, spec, walk, place
        self.shape = (walk.width,)

    def locate(self, number: int) -> Index:
        """Where the first element of a buffer is."""
        return self.moved(self.spec.moved[number].offset, self.walk.strides[number])

    def moved(self, at: Index, strides: Sequence[int]) -> Index:
        """The position that many steps on."""
        for step, position in zip(strides, self.place, strict=True):
            at = self.b.add(at, self.b.mul(position, step))
        return at

    def is_there(self, number: int, element: int = 0) -> Condition:
        """Whether an element is below the bound of its buffer."""
        bound = self.walk.bounds[number]
        if bound is None:
            return True
        at = self.b.add(self.moved(0, bound.strides), element * bound.strides[-1])
        return self.b.compare("slt", at, bound.extent)

    def read(self, number: int, buffer: SSAValue) -> SSAValue:
        """The elements of an operand."""
        b, steps, (width,) = self.b, self.walk.strides[number], self.shape
        at, bound = self.locate(number), self.walk.bounds[number]
        if bound is None and width > 1 and steps[-1] == 0:
            return b.broadcast(b.load(buffer, at), self.shape)
        if bound is None and (width == 1 or lies_in_vectors(steps)):
            return b.vector_load(width, buffer, at)
        found = [
            self.read_one(buffer, b.add(at, k * steps[-1]), self.is_there(number, k))
            for k in range(width)
        ]
        return b.vector_of(found, self.shape)

    def read_one(self, buffer: SSAValue, at: Index, valid: Condition) -> SSAValue:
        """An element, or 0 where there is none."""
        b = self.b
        if isinstance(valid, bool):
            element = types.element_of(buffer)
            return b.load(buffer, at) if valid else b.constant(0, element)
        value = b.load(buffer, b.select_index(valid, at, 0))
        return b.select(valid, value, b.like(0, value))

    def store(
        self, values: Sequence[SSAValue], buffers: Sequence[SSAValue], first: Index
    ) -> None:
        """Stores results."""
        b, result = self.b, len(self.spec.operands)
        if self.spec.result is None:
            for value, buffer in zip(values, buffers, strict=True):
                b.vector_store(value, buffer, first)
            return
        (value,), (buffer,) = values, buffers
        at = self.locate(result)
        b.if_(self.is_there(result), lambda: b.vector_store(value, buffer, at))


def build_elementwise(spec: ElementwiseSpec, target: Target, name: str) -> GpuKernel:
    """The kernel of element-wise work."""
    b, walk, count = GpuBuilder(target), walk_of(spec), len(spec.region.results)
    *outer, last = walk.extents
    pieces = [*outer, last // walk.width]

    def body(buffers: Sequence[SSAValue]) -> None:
        number = b.add(b.mul(b.block(DimensionEnum.X), THREADS), b.thread())
        *place, piece = b.unflatten(number, pieces)
        elements = Elements(b, spec, walk, [*place, b.mul(piece, walk.width)])

        def results() -> None:
            values = [elements.read(k, each) for k, each in enumerate(buffers[count:])]
            found = spec.region.instantiate_at(b, values, elements.shape)
            elements.store(found, buffers[:count], b.mul(number, walk.width))

        whole = prod(pieces) % THREADS == 0
        b.if_(whole or b.compare("slt", number, prod(pieces)), results)

    grid = (-(-prod(pieces) // THREADS), 1, 1)
    return b.kernel(name, spec.buffers, THREADS, grid, body)
