"""Gathers and scatters of runs of elements at positions of several coordinates.

A scatter copies the data and applies the updates to it. Threads share the data, not the
updates: each goes over all indices and applies what falls into its slice, in order. So the
result does not depend on their number, and no two write one element. Where the first axis of
the data is the first that is walked, as in ONNX ScatterElements along another axis, a thread
walks the part only that its slice lies in. Data that nobody reads later is updated in place.

Indices are made safe, and noted where they are outside, as those of a gather are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from glow.backends.cpu.kernels.elementwise.kernel import loaded, stored
from glow.backends.cpu.kernels.movement.gather import error_types, safe_index
from glow.backends.cpu.kernels.reduction.reduce import nest
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.scalar_region import ScalarRegion
from glow.lowering.loop_builder.vector_row import for_each_vector
from glow.lowering.target.target import Target


@dataclass(frozen=True)
class Positions:
    """Where the runs of a tensor lie that indices [walked..., count] name.

    `coordinates` says for each axis of the tensor, as long as axes are not part of the runs,
    which of the walked axes its coordinate is, or with -1 - j which of the `count` indices.
    """

    shape: tuple[int, ...]
    """The sizes of the axes before the runs."""
    inner: int
    """The elements of a run."""
    coordinates: tuple[int, ...]
    walked: tuple[int, ...]
    """The sizes of the axes that are walked, those of the indices first."""
    index_rank: int
    """How many of the walked axes the indices have."""
    count: int
    index: Attribute = i64
    unsigned: bool = False

    @property
    def index_size(self) -> int:
        """The number of indices."""
        return prod(self.walked[: self.index_rank]) * self.count

    @property
    def rows(self) -> int:
        """The number of runs."""
        return prod(self.shape)

    def row(
        self,
        builder: LoopBuilder,
        where: Sequence[Index],
        indices: SSAValue,
        errors: Sequence[SSAValue],
    ) -> Index:
        """The number of the run at walked coordinates."""
        first: Index = 0
        for place, size in zip(where[: self.index_rank], self.walked, strict=False):
            first = builder.add(builder.mul(first, size), place)
        first = builder.mul(first, self.count)
        row: Index = 0
        for extent, source in zip(self.shape, self.coordinates, strict=True):
            if source < 0:
                index = builder.load(indices, builder.add(first, -1 - source))
                place = safe_index(
                    builder, index, extent, errors, unsigned=self.unsigned
                )
            else:
                place = where[source]
            row = builder.add(builder.mul(row, extent), place)
        return row


@dataclass(frozen=True)
class GatherNDSpec:
    """out [walked..., inner] = runs of data at positions.

    Arguments of the kernel: out, data, indices, the byte of errors.
    """

    positions: Positions
    element: Attribute


@dataclass(frozen=True)
class ScatterSpec:
    """out = data, its runs at positions combined with updates [walked..., inner].

    Arguments of the kernel: out, data, indices, updates, the byte of errors.
    """

    positions: Positions
    element: Attribute
    """As memory holds it."""
    combine: ScalarRegion | None = None
    """The new element from the one that is there and the update; None: the update."""
    in_place: bool = False
    """Whether out and data are one buffer."""


def build_gather_nd(
    spec: GatherNDSpec, target: Target, name: str = "gather_nd"
) -> Kernel:
    """The kernel f(out, data, indices, errors, lo, hi)."""
    builder, positions = LoopBuilder(target), spec.positions
    count, inner = prod(positions.walked), positions.inner
    buffers = [
        types.memref_type((count, inner), spec.element),
        types.memref_type((positions.rows, inner), spec.element),
        types.memref_type((positions.index_size,), positions.index),
        *error_types(True),
    ]
    lanes = target.lanes(types.bit_width(spec.element))

    def body(memrefs: Sequence[SSAValue], low: Index, high: Index) -> None:
        out, data, indices, *errors = memrefs

        def run(k: Index) -> None:
            where = builder.unflatten(k, positions.walked)
            row = positions.row(builder, where, indices, errors)

            def move(position: Index, length: int) -> None:
                value = builder.vector_load(length, data, row, position)
                builder.vector_store(value, out, k, position)

            for_each_vector(builder, inner, lanes, move)

        builder.loop(low, high, 1, run)

    return Kernel(builder.function(name, buffers, body), count)


def build_scatter(spec: ScatterSpec, target: Target, name: str = "scatter") -> Kernel:
    """The kernel f(out, data, indices, updates, errors, lo, hi)."""
    builder, positions = LoopBuilder(target), spec.positions
    inner, rows = positions.inner, positions.rows
    buffers = [
        types.memref_type((rows * inner,), spec.element),
        types.memref_type((rows * inner,), spec.element),
        types.memref_type((positions.index_size,), positions.index),
        types.memref_type((prod(positions.walked) * inner,), spec.element),
        *error_types(True),
    ]
    lanes = target.lanes(types.bit_width(spec.element))

    def body(memrefs: Sequence[SSAValue], low: Index, high: Index) -> None:
        out, data, indices, updates, *errors = memrefs
        if not spec.in_place:
            first, end = (builder.mul(row, inner) for row in (low, high))
            _copy(builder, data, out, first, end)

        def update(where: list[Index]) -> None:
            row = positions.row(builder, where, indices, errors)
            source: Index = 0
            for place, size in zip(where, positions.walked, strict=True):
                source = builder.add(builder.mul(source, size), place)

            def apply(position: Index, length: int) -> None:
                place = builder.add(builder.mul(row, inner), position)
                given = builder.add(builder.mul(source, inner), position)
                value = builder.vector_load(length, updates, given)
                if spec.combine is not None:
                    old = builder.vector_load(length, out, place)
                    kinds = spec.combine.input_types
                    pair = [
                        loaded(builder, each, kind)
                        for each, kind in zip((old, value), kinds, strict=True)
                    ]
                    (result,) = spec.combine.instantiate(builder, pair)
                    value = stored(builder, result)
                builder.vector_store(value, out, place)

            own = builder.both(
                builder.compare("sle", low, row), builder.compare("slt", row, high)
            )
            builder.if_(own, lambda: for_each_vector(builder, inner, lanes, apply))

        # Who has no rows may be here before the indices are, and would note what is there.
        builder.if_(
            builder.compare("slt", low, high),
            lambda: _walk(builder, positions, (low, high), update),
        )

    return Kernel(builder.function(name, buffers, body), rows)


def _walk(
    builder: LoopBuilder,
    positions: Positions,
    rows: tuple[Index, Index],
    update: Callable[[list[Index]], None],
) -> None:
    """Visits all updates that may change one of the rows."""

    def visit(where: list[Index], _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        update(where)
        return ()

    if positions.coordinates[:1] != (0,):
        nest(builder, positions.walked, (), visit)
        return
    first, *others = positions.walked
    low, high = rows
    below = max(prod(positions.shape[1:]), 1)
    end = builder.floordiv(builder.add(high, below - 1), below)

    def part(k: Index) -> None:
        nest(builder, others, (), lambda rest, _: visit([k, *rest], ()))

    builder.loop(builder.floordiv(low, below), builder.minimum(end, first), 1, part)


def _copy(
    builder: LoopBuilder, source: SSAValue, target: SSAValue, low: Index, high: Index
) -> None:
    """Copies the elements [low, high): in vectors, then one by one."""
    lanes = builder.target.lanes(types.bit_width(types.element_of(source)))
    whole = builder.mul(builder.floordiv(builder.sub(high, low), lanes), lanes)
    middle = builder.add(low, whole)

    def vector(position: Index) -> None:
        value = builder.vector_load(lanes, source, position)
        builder.vector_store(value, target, position)

    builder.loop(low, middle, lanes, vector)
    builder.loop(
        middle,
        high,
        1,
        lambda position: builder.store(
            builder.load(source, position), target, position
        ),
    )
