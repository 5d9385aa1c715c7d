"""The packed factors of the constant matrix of Strassen's product, written and read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.strassen.spec import StrassenSpec
from glow.backends.cpu.reference.strassen import Sum, right_sums, signed_sum
from glow.backends.cpu.tiling.matmul_tile import ColumnGroup
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.target.target import Target


def pack_strassen_weights(
    weights: np.ndarray,
    spec: StrassenSpec,
    target: Target,
    *,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """B [depth, columns] as the kernel reads it, flat: [panel][factor][leaf depth][columns].

    The factors are made in place, in `out` if that is given. Sums of two are rounded once, so
    single precision is as good as double.
    """
    return _pack(right_sums(weights, spec.levels), spec, target, out)


def pack_strassen_factors(
    factors: np.ndarray,
    spec: StrassenSpec,
    target: Target,
    *,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """The same for factors [products, leaf depth, leaf columns] that are given."""
    return _pack((([factor], ((0, 1),)) for factor in factors), spec, target, out)


def _pack(
    factors: Iterable[tuple[Sequence[np.ndarray], Sum]],
    spec: StrassenSpec,
    target: Target,
    out: np.ndarray | None,
) -> np.ndarray:
    split, depth = spec.leaf.split(target), spec.leaf.depth
    width = split.blocks * split.lanes
    whole = split.groups * width
    packed = np.empty(spec.packed_weights, np.float32) if out is None else out
    panels, rest = np.split(packed, [spec.products * depth * whole])
    panels = panels.reshape(split.groups, spec.products, depth, width)
    rest = rest.reshape(spec.products, depth, -1)
    for number, (parts, terms) in enumerate(factors):
        pieces = [part[:, :whole].reshape(depth, -1, width) for part in parts]
        signed_sum(pieces, terms, panels[:, number].transpose(1, 0, 2))
        signed_sum([part[:, whole:] for part in parts], terms, rest[number])
    return packed


class PackedFactors:
    """Reads the rows of the packed factors."""

    def __init__(
        self, builder: LoopBuilder, buffer: SSAValue, spec: StrassenSpec
    ) -> None:
        self.builder = builder
        self.split = split = spec.leaf.split(builder.target)
        self.depth = spec.leaf.depth
        self.products = products = spec.products
        panel = products * self.depth * split.blocks * split.lanes
        self.rest_start = split.groups * panel
        whole = (split.groups, products, self.depth, split.blocks, split.lanes)
        self.whole = builder.reinterpret(buffer, whole) if split.groups else buffer
        rest = split.rest
        if rest is not None:
            shape = (products, self.depth, rest.blocks, split.lanes)
            self.rest = builder.reinterpret(buffer, shape, offset=self.rest_start)

    def read(
        self, unit: Index, product: Index, group: ColumnGroup, k: Index
    ) -> SSAValue:
        """The row k of a factor's group of columns, [blocks, lanes]."""
        shape = (group.blocks, self.split.lanes)
        if group == self.split.rest:
            indices = (product, k, 0, 0)
            return self.builder.transfer_read(self.rest, indices, shape, (2, 3))
        indices = (unit, product, k, 0, 0)
        return self.builder.transfer_read(self.whole, indices, shape, (3, 4))

    def end(self, unit: Index, product: Index, group: ColumnGroup) -> Index:
        """Where a factor's group of columns ends in the buffer."""
        builder, panel = self.builder, self.depth * group.blocks * self.split.lanes
        count = builder.add(product, 1)
        if group == self.split.rest:
            return builder.add(builder.mul(count, panel), self.rest_start)
        first = builder.mul(unit, self.products)
        return builder.mul(builder.add(first, count), panel)
