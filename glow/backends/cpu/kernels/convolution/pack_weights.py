"""Weights of convolutions, packed at run time for the kernels that read them, and back.

A work item is one output block and one input block of a group. A vector holds the weights of
the block's output channels for one input channel and one tap, which lie apart in plain weights
and side by side in packed ones; blocks without all channels are completed with zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import SSAValue

from glow.backends.cpu.dialect.weights import TurnedTaps
from glow.backends.cpu.tiling.tiles import ChannelPart, channel_parts
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Condition, Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target

BlockBody: TypeAlias = Callable[
    [SSAValue, tuple[Index, ...], tuple[Index, Index, Index], int], None
]
"""Takes a view of packed weights, the place in it, the numbers of group, output block and
input block, and the output channels that there are."""


LaneBody: TypeAlias = Callable[[Index, list[Index]], None]
"""Takes an input lane and a tap."""


@dataclass(frozen=True)
class PackWeightsSpec:
    """Weights of `outputs` x `inputs` channels in each group, and how they are packed.

    `turned`: plain weights are [group * inputs, outputs, kernel], and packed ones have the
    outputs of all phases, as `cpu.pack_weights` says.
    """

    groups: int
    outputs: int
    inputs: int
    kernel: tuple[int, int]
    blocks: int
    """The output blocks of a tile."""
    lanes: int
    input_lanes: int
    turned: tuple[TurnedTaps, TurnedTaps] | None = None

    @property
    def phases(self) -> tuple[int, int]:
        """How often the outputs come, along rows and columns."""
        if self.turned is None:
            return 1, 1
        rows, columns = self.turned
        return rows.phases, columns.phases

    @property
    def taps(self) -> tuple[int, int]:
        """The taps of packed weights."""
        if self.turned is None:
            return self.kernel
        rows, columns = self.turned
        return rows.count, columns.count

    @property
    def phase_blocks(self) -> int:
        """The output blocks of a group in one phase."""
        return -(-self.outputs // self.lanes)

    @property
    def output_blocks(self) -> int:
        """The output blocks of a group."""
        return prod(self.phases) * self.phase_blocks

    def supported(self) -> bool:
        """Whether each phase begins a block."""
        return prod(self.phases) == 1 or self.outputs % self.lanes == 0

    @property
    def input_blocks(self) -> int:
        """The input blocks of a group."""
        return -(-self.inputs // self.input_lanes)

    @property
    def parts(self) -> tuple[ChannelPart, ...]:
        """The tiles of output blocks."""
        return channel_parts(self.output_blocks, self.blocks)

    @property
    def plain_size(self) -> int:
        """The elements of plain weights."""
        return self.groups * self.outputs * self.inputs * prod(self.kernel)

    @property
    def block_size(self) -> int:
        """The packed elements of an output block."""
        return self.input_blocks * self.input_lanes * prod(self.taps) * self.lanes

    @property
    def packed_size(self) -> int:
        """The elements of packed weights."""
        return self.groups * self.output_blocks * self.block_size

    @property
    def work_items(self) -> int:
        """The pairs of blocks."""
        return self.groups * self.output_blocks * self.input_blocks


def build_pack_weights(name: str, spec: PackWeightsSpec, target: Target) -> Kernel:
    """The kernel (packed, plain)."""
    return _Packing(spec, target).kernel(name, packs=True)


def build_unpack_weights(name: str, spec: PackWeightsSpec, target: Target) -> Kernel:
    """The kernel (plain, packed)."""
    return _Packing(spec, target).kernel(name, packs=False)


class _Packing:
    """Builds one kernel."""

    def __init__(self, spec: PackWeightsSpec, target: Target) -> None:
        self.spec = spec
        self.builder = LoopBuilder(target)

    def kernel(self, name: str, *, packs: bool) -> Kernel:
        b, spec = self.builder, self.spec
        sizes = (spec.packed_size, spec.plain_size)
        arguments: list[MemRefType] = [types.memref_type((n,), f32) for n in sizes]
        if not packs:
            arguments.reverse()
        move = self._pack if packs else self._unpack

        def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
            packed, plain = buffers if packs else reversed(buffers)
            plain = self._plain(plain)
            views = [self._packed(packed, part) for part in spec.parts]

            def pair(at: Sequence[Index]) -> None:
                self._in_part(at, views, partial(move, plain))

            self._each_pair(low, high, pair)

        function = b.function(name, arguments, body)
        return Kernel(function, spec.work_items)

    def _each_pair(
        self, low: Index, high: Index, body: Callable[[Sequence[Index]], None]
    ) -> None:
        """Runs the body on (group, output block, input block) of work items.

        Neighbours in plain weights follow each other: memory is read row by row.
        """
        b, spec = self.builder, self.spec
        if spec.turned is None:
            space = (spec.groups, spec.output_blocks, spec.input_blocks)
            b.space(low, high, space, body)
            return
        space = (spec.groups, spec.input_blocks, spec.output_blocks)
        b.space(low, high, space, lambda at: body((at[0], at[2], at[1])))

    def _plain(self, buffer: SSAValue) -> SSAValue:
        """The plain weights as [groups, outputs, inputs, kernel]."""
        spec = self.spec
        shape = (spec.groups, spec.outputs, spec.inputs, *spec.kernel)
        if spec.turned is None:
            return self.builder.reinterpret(buffer, shape)
        taps = prod(spec.kernel)
        row = spec.outputs * taps
        strides = (row * spec.inputs, taps, row, spec.kernel[1], 1)
        return self.builder.reinterpret(buffer, shape, strides)

    def _packed(self, buffer: SSAValue, part: ChannelPart) -> SSAValue:
        """A part of the packed weights by group, tile, input channel, tap, block and lane."""
        spec = self.spec
        inside = (spec.input_blocks, *spec.taps, spec.input_lanes)
        shape = (spec.groups, part.tiles, *inside, part.blocks, spec.lanes)
        offset = spec.groups * part.first * spec.block_size
        return self.builder.reinterpret(buffer, shape, offset=offset)

    def _in_part(
        self, at: Sequence[Index], views: Sequence[SSAValue], body: BlockBody
    ) -> None:
        """Runs the body on a pair of blocks, in the part where its output block lies.

        The last block may hold fewer channels, and stands in the last part.
        """
        b, spec = self.builder, self.spec
        group, block, inputs = at
        full, rest = divmod(spec.outputs, spec.lanes)

        def count(number: int) -> None:
            part, view = spec.parts[number], views[number]
            number_inside = b.sub(block, part.first)
            tile = b.floordiv(number_inside, part.blocks)
            inside = b.sub(number_inside, b.mul(tile, part.blocks))
            place = (group, tile, inputs, inside)

            def channels(present: int) -> None:
                body(view, place, (group, block, inputs), present)

            if rest and part.first + part.tiles * part.blocks > full:
                is_full = b.compare("slt", block, full)
                b.if_(is_full, lambda: channels(spec.lanes), lambda: channels(rest))
            else:
                channels(spec.lanes)

        if len(views) == 1:
            count(0)
        else:
            is_first = b.compare("slt", block, spec.parts[1].first)
            b.if_(is_first, lambda: count(0), lambda: count(1))

    def _each_weight(
        self,
        where: tuple[Index, Index, Index],
        body: Callable[[tuple[Index, ...], tuple[Index, ...]], None],
        zeros: Callable[[tuple[Index, ...]], None],
    ) -> None:
        """Runs the body on (place of its first plain weight, its taps and lane) of each input
        of a block; the other one on taps and lane where there is no channel or tap.
        """
        b, spec = self.builder, self.spec
        group, block, input_block = where
        first = b.mul(input_block, spec.input_lanes)
        phase = b.floordiv(block, spec.phase_blocks) if prod(spec.phases) > 1 else 0
        output = b.mul(b.sub(block, b.mul(phase, spec.phase_blocks)), spec.lanes)
        phases = b.unflatten(phase, spec.phases)
        present: Index = spec.input_lanes
        if spec.inputs % spec.input_lanes:
            present = b.minimum(present, b.sub(spec.inputs, first))

        def each(lane: Index, taps: list[Index]) -> None:
            source = [self._tap(axis, taps[axis], phases[axis]) for axis in (0, 1)]
            there = b.both(source[0][1], source[1][1])
            place = (group, output, b.add(first, lane), source[0][0], source[1][0])
            at = (*taps, lane)
            b.if_(there, lambda: body(place, at), lambda: zeros(at))

        def channels(low: Index, high: Index, lane_body: LaneBody) -> None:
            space = (prod(spec.taps), spec.taps)
            b.loop(
                low,
                high,
                1,
                lambda lane: b.space(0, *space, lambda taps: lane_body(lane, taps)),
            )

        channels(0, present, each)
        if spec.inputs % spec.input_lanes:
            rest = spec.input_lanes
            channels(present, rest, lambda lane, taps: zeros((*taps, lane)))

    def _tap(self, axis: int, tap: Index, phase: Index) -> tuple[Index, Condition]:
        """The tap of plain weights at a packed one, and whether there is one."""
        b, turned, size = self.builder, self.spec.turned, self.spec.kernel[axis]
        if turned is None:
            return tap, True
        taps = turned[axis]
        number = b.sub(b.add(phase, taps.first), b.mul(tap, taps.stride))
        whole = taps.stride == 1 and taps.count == size
        return number, True if whole else b.compare("ult", number, size)

    def _pack(
        self,
        plain: SSAValue,
        packed: SSAValue,
        place: tuple[Index, ...],
        where: tuple[Index, Index, Index],
        present: int,
    ) -> None:
        b, lanes = self.builder, self.spec.lanes
        *outer, block = place

        def fill(at: tuple[Index, ...], first: int) -> None:
            vector = types.vector_type((lanes - first,), f32)
            b.vector_store(b.constant(0.0, vector), packed, *outer, *at, block, first)

        def move(source: tuple[Index, ...], at: tuple[Index, ...]) -> None:
            value = b.transfer_read(plain, source, (present,), (1,))
            b.vector_store(value, packed, *outer, *at, block, 0)
            if present < lanes:
                fill(at, present)

        self._each_weight(where, move, lambda at: fill(at, 0))

    def _unpack(
        self,
        plain: SSAValue,
        packed: SSAValue,
        place: tuple[Index, ...],
        where: tuple[Index, Index, Index],
        present: int,
    ) -> None:
        b = self.builder
        *outer, block = place

        def move(target: tuple[Index, ...], at: tuple[Index, ...]) -> None:
            value = b.vector_load(present, packed, *outer, *at, block, 0)
            b.transfer_write(value, plain, target, (1,))

        self._each_weight(where, move, lambda at: None)
