"""The plain way: a loop nest from a definition, for every operator without its own kernel.

A definition names the extents of the parallel and the reduced dimensions, where each operand's
element for given coordinates lies, and what to do with the elements: a scalar region. Vectors
lie along the innermost parallel dimension if every operand is contiguous or constant there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Protocol

from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.elementwise.kernel import loaded, stored
from glow.backends.cpu.kernels.reduction.reduce import nest, visit_segments
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Condition, Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.scalar_region import ScalarRegion
from glow.lowering.loop_builder.vector_row import segments
from glow.lowering.target.target import Target


class Access(Protocol):
    """Where an operand's element lies; hashable, since it is part of a spec."""

    def position(
        self, builder: LoopBuilder, coordinates: Sequence[Index]
    ) -> tuple[Index, Condition]:
        """The element's offset in the flat buffer, and whether there is one at all.

        The offset must lie inside the buffer even where there is none.
        """
        ...

    def step(self, axis: int) -> int | None:
        """How far the offset moves along an axis; None if that varies."""
        ...


@dataclass(frozen=True)
class Affine:
    """offset + coordinates . strides, always inside the buffer."""

    strides: tuple[int, ...]
    offset: int = 0

    def position(
        self, builder: LoopBuilder, coordinates: Sequence[Index]
    ) -> tuple[Index, Condition]:
        """See `Access`."""
        total: Index = self.offset
        for coordinate, stride in zip(coordinates, self.strides, strict=True):
            total = builder.add(total, builder.mul(coordinate, stride))
        return total, True

    def step(self, axis: int) -> int | None:
        """See `Access`."""
        return self.strides[axis]


@dataclass(frozen=True)
class Dimension:
    """One dimension of a buffer: (coordinates . factors + offset) // divisor.

    Outside [0, extent) there is no element, or the nearest one if `clamped`. With `exact`, there
    is one only where the division leaves no remainder (transposed convolution). `inside`
    promises that positions never leave the buffer.
    """

    extent: int
    stride: int
    factors: tuple[int, ...]
    offset: int = 0
    divisor: int = 1
    clamped: bool = False
    exact: bool = False
    inside: bool = False


@dataclass(frozen=True)
class Window:
    """A position that is the sum of those in several dimensions, with borders."""

    dimensions: tuple[Dimension, ...]

    def position(
        self, builder: LoopBuilder, coordinates: Sequence[Index]
    ) -> tuple[Index, Condition]:
        """See `Access`."""
        total: Index = 0
        exists: Condition = True
        for dimension in self.dimensions:
            place, inside = _locate(builder, dimension, coordinates)
            total = builder.add(total, builder.mul(place, dimension.stride))
            exists = builder.both(exists, inside)
        return total, exists

    def step(self, axis: int) -> int | None:
        """See `Access`."""
        moved = [d for d in self.dimensions if d.factors[axis]]
        if any(d.divisor > 1 or not d.inside for d in moved):
            return None
        return sum(d.factors[axis] * d.stride for d in moved)


def _locate(
    builder: LoopBuilder, dimension: Dimension, coordinates: Sequence[Index]
) -> tuple[Index, Condition]:
    place: Index = dimension.offset
    for coordinate, factor in zip(coordinates, dimension.factors, strict=True):
        place = builder.add(place, builder.mul(coordinate, factor))
    inside: Condition = True
    if dimension.inside:
        return builder.floordiv(place, dimension.divisor), inside
    if dimension.divisor > 1:
        # Division is unsigned: below zero the quotient is huge, hence outside.
        quotient = builder.floordiv(place, dimension.divisor)
        if dimension.exact:
            back = builder.mul(quotient, dimension.divisor)
            inside = builder.compare("eq", back, place)
        if dimension.clamped:
            quotient = builder.floordiv(builder.maximum(place, 0), dimension.divisor)
        place = quotient
    if not dimension.clamped:
        within = builder.compare("ult", place, dimension.extent)
        inside = builder.both(inside, within)
    return builder.clamp(place, 0, dimension.extent - 1), inside


@dataclass(frozen=True)
class Operand:
    """An input: its buffer's elements, where they lie, and what stands for missing ones."""

    size: int
    access: Access
    missing: float = 0.0


@dataclass(frozen=True)
class StructuredSpec:
    """out[p] = finish(fold over r of step(accumulator, in0[p, r], in1[p, r], ...)).

    `parallel` and `reduced` are the extents of p and r; accesses take p then r. Without a
    reduction (`reduced` empty) `step` takes the inputs alone. `finish` maps the accumulator to
    the result. Outputs are dense over p. Arguments of the kernel: out, ins...
    """

    parallel: tuple[int, ...]
    reduced: tuple[int, ...]
    operands: tuple[Operand, ...]
    step: ScalarRegion
    initial: float = 0.0
    finish: ScalarRegion | None = field(default=None)

    @property
    def is_fold(self) -> bool:
        """Whether the step takes an accumulator."""
        return len(self.step.input_types) > len(self.operands)


class _Nest:
    def __init__(
        self, builder: LoopBuilder, spec: StructuredSpec, buffers: Sequence[SSAValue]
    ) -> None:
        self.builder = builder
        self.spec = spec
        self.out, *self.inputs = buffers
        self.out_access = Affine(types.row_major_strides(spec.parallel))
        folded = 1 if spec.is_fold else 0
        self.elements = spec.step.input_types[folded:]

    def compute(self, parallel: Sequence[Index], length: int) -> None:
        """Computes and stores the vector (length 0: the element) from `parallel` on."""
        builder, spec = self.builder, self.spec
        shape = (length,) if length else ()
        if spec.is_fold:
            scalar = spec.step.input_types[0]
            kind = types.vector_type(shape, scalar) if shape else scalar
            start = builder.constant(spec.initial, kind)

            def fold(
                reduced: list[Index], carried: Sequence[SSAValue]
            ) -> Sequence[SSAValue]:
                values = [*carried, *self._read([*parallel, *reduced], length)]
                return spec.step.instantiate_at(builder, values, shape)

            results = nest(builder, spec.reduced, [start], fold)
        else:
            values = self._read(list(parallel), length)
            results = spec.step.instantiate_at(builder, values, shape)
        if spec.finish is not None:
            results = spec.finish.instantiate_at(builder, results, shape)
        place, _ = self.out_access.position(builder, parallel)
        value = stored(builder, results[0])
        if length:
            builder.vector_store(value, self.out, place)
        else:
            builder.store(value, self.out, place)

    def _read(self, coordinates: list[Index], length: int) -> list[SSAValue]:
        inputs = zip(self.inputs, self.spec.operands, self.elements, strict=True)
        return [
            loaded(
                self.builder, self._value(buffer, operand, coordinates, length), element
            )
            for buffer, operand, element in inputs
        ]

    def _value(
        self, buffer: SSAValue, operand: Operand, coordinates: list[Index], length: int
    ) -> SSAValue:
        builder = self.builder
        innermost = len(self.spec.parallel) - 1
        place, exists = operand.access.position(builder, coordinates)
        if length and operand.access.step(innermost) == 1:
            value = builder.vector_load(length, buffer, place)
        else:
            value = builder.load(buffer, place)
            value = builder.broadcast(value, (length,)) if length else value
        if exists is True:
            return value
        absent = builder.like(operand.missing, value)
        return absent if exists is False else builder.select(exists, value, absent)


def build_structured(
    spec: StructuredSpec, target: Target, name: str = "structured"
) -> Kernel:
    """The kernel f(out, ins..., lo, hi)."""
    builder = LoopBuilder(target)
    results = (spec.finish or spec.step).result_types
    elements = spec.step.input_types[1 if spec.is_fold else 0 :]
    buffers = [
        types.memref_type((prod(spec.parallel),), types.storage_type(results[0])),
        *(
            types.memref_type((operand.size,), types.storage_type(element))
            for operand, element in zip(spec.operands, elements, strict=True)
        ),
    ]
    *outer, innermost = spec.parallel or (1,)
    parts = segments(innermost, target.lanes(32)) if _is_vector(spec) else []
    units = sum((part.stop - part.start) // part.length for part in parts)
    space = [*outer, units if parts else innermost]

    def body(memrefs: Sequence[SSAValue], low: Index, high: Index) -> None:
        loops = _Nest(builder, spec, memrefs)

        def unit(coordinates: list[Index]) -> None:
            if not parts:
                loops.compute(coordinates[: len(spec.parallel)], 0)
                return
            *where, number = coordinates
            visit_segments(
                builder,
                parts,
                number,
                lambda position, length: loops.compute([*where, position], length),
            )

        builder.space(low, high, space, unit)

    return Kernel(builder.function(name, buffers, body), prod(space))


def _is_vector(spec: StructuredSpec) -> bool:
    if not spec.parallel or 0 in spec.parallel:
        return False
    axis = len(spec.parallel) - 1
    return all(operand.access.step(axis) in (0, 1) for operand in spec.operands)
