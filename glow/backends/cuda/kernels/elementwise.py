"""Element-wise work, broadcasts, slices and views for many threads.

Thread i has results 4 i to 4 i + 3 where these lie in a row of every operand, and else result i:
neighbours read what lies side by side. Axes that all operands go through alike are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.gpu import DimensionEnum
from xdsl.ir import Attribute, SSAValue

from glow.backends.cuda.kernels.gpu_builder import GpuBuilder, GpuKernel
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.index_builder import Index
from glow.lowering.loop_builder.scalar_region import ScalarRegion
from glow.lowering.target.target import Target

THREADS, VECTOR = 128, 4


@dataclass(frozen=True)
class StridedOperand:
    """A buffer of `size` elements, and the steps in it along each axis of the result.

    0 repeats an element; a transposed operand has the steps of its axes in another order. `offset`:
    where the first element is.
    """

    size: int
    strides: tuple[int, ...]
    offset: int = 0


@dataclass(frozen=True)
class ElementwiseSpec:
    """A region on operands. Arguments: result, operands, all flat.

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
        (stored,) = self.region.result_types
        total = prod(self.shape) if self.result is None else self.result.size
        sizes = [(total,), *((operand.size,) for operand in self.operands)]
        elements = [stored, *self.region.input_types]
        pairs = zip(sizes, elements, strict=True)
        return [types.memref_type(size, element) for size, element in pairs]


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


def vector_width(extents: Sequence[int], strides: Sequence[Sequence[int]]) -> int:
    """The results of a thread: four where operands are aligned vectors, or repeat."""
    aligned = all(
        each[-1] == 0 or (each[-1] == 1 and all(s % VECTOR == 0 for s in each[:-1]))
        for each in strides
        if each
    )
    return VECTOR if aligned and extents[-1] % VECTOR == 0 else 1


def build_elementwise(spec: ElementwiseSpec, target: Target, name: str) -> GpuKernel:
    """The kernel of element-wise work."""
    b = GpuBuilder(target)
    extents, strides = merge_axes(spec.shape, [each.strides for each in spec.moved])
    offsets = [each.offset for each in spec.moved]
    aligned = spec.is_aligned and all(offset % VECTOR == 0 for offset in offsets)
    width, total = vector_width(extents, strides) if aligned else 1, prod(extents)

    def place_of(number: int, place: Sequence[Index]) -> Index:
        at: Index = offsets[number]
        for step, position in zip(strides[number], place, strict=True):
            at = b.add(at, b.mul(position, step))
        return at

    def read(number: int, buffer: SSAValue, place: Sequence[Index]) -> SSAValue:
        steps, at = strides[number], place_of(number, place)
        if width > 1 and steps[-1] == 0:
            return b.broadcast(b.load(buffer, at), (width,))
        return b.vector_load(width, buffer, at)

    def body(buffers: Sequence[SSAValue]) -> None:
        number = b.add(b.mul(b.block(DimensionEnum.X), THREADS), b.thread())
        first = b.mul(number, width)
        place = b.unflatten(first, extents)

        def results() -> None:
            values = [read(k, each, place) for k, each in enumerate(buffers[1:])]
            (result,) = spec.region.instantiate_at(b, values, (width,))
            at = first if spec.result is None else place_of(len(values), place)
            b.vector_store(result, buffers[0], at)

        whole = total % (THREADS * width) == 0
        b.if_(whole or b.compare("slt", first, total), results)

    grid = (-(-total // (THREADS * width)), 1, 1)
    return b.kernel(name, spec.buffers, THREADS, grid, body)
