"""Pools, depthwise convolutions and those of small groups for many threads.

A thread has some channels of a block, 4 to 16 bytes, at some pixels of a row of the result;
neighbours have what lies behind, so that what they read lies side by side. Taps around the image
are skipped; those of bytes are `padding`:

    result[pixel] = finish(step(value, image[pixel + tap], weights[tap]) over the taps inside)

A row of the window is read once for all pixels of a thread. Where results are few, as means of
planes are, the lanes of a warp have every 32nd tap, and exchange what they made of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from xdsl.dialects.builtin import f32, i32
from xdsl.dialects.gpu import DimensionEnum
from xdsl.ir import Attribute, Operation, SSAValue

from glow.backends.cuda.kernels.gpu_builder import GpuBuilder, GpuKernel
from glow.backends.cuda.kernels.window_spec import (
    THREADS,
    WRITTEN_COLUMNS,
    WRITTEN_TAPS,
    WindowsSpec,
)
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.epilogue import apply_epilogue
from glow.lowering.loop_builder.index_builder import Condition, Index
from glow.lowering.target.target import Target

LARGER: dict[Attribute, type[Operation]] = {f32: arith.MaximumfOp, i32: arith.MaxSIOp}


class Read(NamedTuple):
    """Channels of a pixel, and whether they are in the image."""

    value: SSAValue
    valid: Condition


class Windows:
    """The body of the kernel."""

    def __init__(
        self, b: GpuBuilder, spec: WindowsSpec, buffers: Sequence[SSAValue]
    ) -> None:
        self.b, self.spec, self.window = b, spec, spec.window
        self.result, self.image, *operands = buffers
        self.weights = operands.pop(0) if spec.kind == "multiply" else None
        self.operands = operands
        self.number = b.add(b.mul(b.block(DimensionEnum.X), THREADS), b.thread())
        self.plane, self.row, run, part, self.member = b.unflatten(
            self.number, spec.extents
        )
        self.column = b.mul(run, spec.tile.pixels)
        self.first_lane = b.mul(part, spec.width)
        self.block = b.remainder(self.plane, spec.blocks)
        self.origin = [
            self.window.origin(b, axis, at)
            for axis, at in enumerate((self.row, self.column))
        ]

    def build(self) -> None:
        """Writes the kernel."""
        total = prod(self.spec.extents)
        valid = total % THREADS == 0 or self.b.compare("slt", self.number, total)
        self.b.if_(valid, self.results)

    def results(self) -> None:
        """All of a thread."""
        b, spec = self.b, self.spec
        if spec.tile.lanes > 1:
            total = self.exchanged(self.shared_taps())
            is_first = b.compare("eq", self.member, 0)
            b.if_(is_first, lambda: self.store(total, 0))
            return
        columns = self.window.output[1]
        for pixel, total in enumerate(self.all_taps()):
            column = b.add(self.column, pixel)
            inside = columns % spec.tile.pixels == 0 or b.compare(
                "slt", column, columns
            )
            b.if_(inside, lambda total=total, pixel=pixel: self.store(total, pixel))

    # ---- taps

    @property
    def start(self) -> SSAValue:
        """A value before the first tap."""
        type_ = types.vector_type((self.spec.width,), self.spec.sum_element)
        return self.b.constant(
            self.spec.lowest if self.spec.kind == "max" else 0.0, type_
        )

    def all_taps(self) -> Sequence[SSAValue]:
        """The values of the pixels of a thread, row by row of the window."""
        rows, columns = self.window.kernel
        values = [self.start] * self.spec.tile.pixels
        if self.spec.taps * self.spec.tile.pixels <= WRITTEN_TAPS:
            for row in range(rows):
                values = self.row_taps(row, values)
            return values
        if columns <= WRITTEN_COLUMNS:
            return self.b.carry(0, rows, 1, values, self.row_taps)

        def one_tap(tap: Index, before: Sequence[SSAValue]) -> Sequence[SSAValue]:
            row, column = self.b.unflatten(tap, (rows, columns))
            return [self.tap(row, column, before[0])]

        return self.b.carry(0, self.spec.taps, 1, values, one_tap)

    def row_taps(self, row: Index, values: Sequence[SSAValue]) -> list[SSAValue]:
        """The values after a row of the window; what several pixels have is read once."""
        after, step = list(values), self.window.dilations[1]
        read: dict[int, Read | None] = {}
        for column in range(self.window.kernel[1]):
            weights = self.tap_weights(row, column)
            for pixel, value in enumerate(after):
                offset = pixel * self.window.strides[1] + column * step
                if offset not in read:
                    read[offset] = self.read(row, offset)
                after[pixel] = self.stepped(value, read[offset], weights)
        return after

    def shared_taps(self) -> SSAValue:
        """The value of every 32nd tap."""

        def one_tap(tap: Index, before: Sequence[SSAValue]) -> Sequence[SSAValue]:
            row, column = self.b.unflatten(tap, self.window.kernel)
            return [self.tap(row, column, before[0])]

        taps, lanes = self.spec.taps, self.spec.tile.lanes
        (value,) = self.b.carry(self.member, taps, lanes, [self.start], one_tap)
        return value

    def tap(self, row: Index, column: Index, value: SSAValue) -> SSAValue:
        """The value of the first pixel after one tap."""
        offset = self.b.mul(column, self.window.dilations[1])
        found = self.read(row, offset)
        return self.stepped(value, found, self.tap_weights(row, column))

    def read(self, row: Index, offset: Index) -> Read | None:
        """The channels at a row of the window; None where no image is."""
        b, valid = self.b, True
        is_cut = self.window.output[1] % self.spec.tile.pixels != 0
        moved = b.mul(row, self.window.dilations[0]), offset
        place: list[Index] = []
        for axis in range(2):
            at = b.add(self.origin[axis], moved[axis])
            interior = self.window.interior(axis)
            if interior != (0, self.window.output[axis]) or (axis == 1 and is_cut):
                inside = b.compare("ult", at, self.window.input[axis])
                valid = b.both(valid, inside)
            place.append(at)
        if valid is False:
            return self.around() if self.spec.has_bytes else None
        safe = [b.select_index(valid, at, 0) for at in place]
        indices = (self.plane, *safe, self.first_lane)
        value = b.vector_load(self.spec.width, self.image, *indices)
        if not self.spec.has_bytes:
            return Read(value, valid)
        if not isinstance(valid, bool):
            value = b.select(valid, value, b.like(self.spec.padding, value))
        return Read(self.widened(value, self.spec.signed), True)

    def around(self) -> Read:
        """The bytes around the image."""
        type_ = types.vector_type((self.spec.width,), self.spec.element)
        padding = self.b.constant(self.spec.padding, type_)
        return Read(self.widened(padding, self.spec.signed), True)

    def widened(self, value: SSAValue, signed: bool) -> SSAValue:
        """Bytes as i32."""
        return self.b.cast(arith.ExtSIOp if signed else arith.ExtUIOp, value, i32)

    def tap_weights(self, row: Index, column: Index) -> list[SSAValue]:
        """The weights of a tap, those of each channel of a group."""
        if self.weights is None:
            return []
        tap = (self.block, row, column)
        places: list[Sequence[Index]] = [(*tap, self.first_lane)]
        if self.spec.group > 1:
            places = [(*tap, k, self.first_lane) for k in range(self.spec.group)]
        width = self.spec.width
        found = [self.b.vector_load(width, self.weights, *place) for place in places]
        if self.spec.has_bytes:
            return [self.widened(weights, signed=True) for weights in found]
        return found

    def stepped(
        self, value: SSAValue, read: Read | None, weights: Sequence[SSAValue]
    ) -> SSAValue:
        """A value after a tap; as before where that is around the image."""
        b, after = self.b, value
        if read is None:
            return value
        if weights:
            for channel, weight in enumerate(weights):
                factor = self.of_group(read.value, channel)
                after = self.multiply_add(factor, weight, after)
        else:
            after = self.combined(value, read.value)
        if isinstance(read.valid, bool):
            return after
        return b.select(read.valid, after, value)

    def multiply_add(self, x: SSAValue, weight: SSAValue, total: SSAValue) -> SSAValue:
        """A total and a product."""
        if not self.spec.has_bytes:
            return self.b.fma(x, weight, total)
        product = self.b.binary_integer(arith.MuliOp, x, weight)
        return self.b.add_values(total, product)

    def combined(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The larger of two values, or their sum."""
        if self.spec.kind != "max":
            return self.b.add_values(a, b)
        larger = LARGER[self.spec.sum_element]
        if self.spec.has_bytes:
            return self.b.binary_integer(larger, a, b)
        return self.b.binary(larger, a, b)

    def of_group(self, read: SSAValue, channel: int) -> SSAValue:
        """A channel of each group, in the lanes of its group."""
        group, width = self.spec.group, self.spec.width
        if group == 1:
            return read
        elements = self.b.elements(read)
        lanes = [elements[k // group * group + channel] for k in range(width)]
        return self.b.vector_of(lanes, (width,))

    def exchanged(self, value: SSAValue) -> SSAValue:
        """What all lanes of a warp have together."""
        b, elements = self.b, list(self.b.elements(value))
        for offset in (16, 8, 4, 2, 1):
            elements = [self.combined(x, b.exchange(x, offset)) for x in elements]
        return b.vector_of(elements, (self.spec.width,))

    # ---- results

    def store(self, value: SSAValue, pixel: int) -> None:
        """Stores the channels of a pixel."""
        b, spec = self.b, self.spec
        column = b.add(self.column, pixel)
        if spec.kind == "average":
            value = self.mean(value, column)
        if spec.kind == "sum":
            less = (
                spec.taps * spec.zero_point
            )  # Those around the image are zero points.
            value = b.add_values(value, b.like(-less, value))
        elif spec.kind == "max" and spec.has_bytes:
            value = b.cast(arith.TruncIOp, value, spec.element)
        at = (self.plane, self.row, column, self.first_lane)
        channels = (self.block, self.first_lane)
        value = apply_epilogue(
            b,
            spec.epilogue,
            value,
            self.operands,
            full=lambda buffer: b.vector_load(spec.width, buffer, *at),
            channel=lambda buffer: b.vector_load(spec.width, buffer, *channels),
        )
        b.vector_store(value, self.result, *at)

    def mean(self, total: SSAValue, column: Index) -> SSAValue:
        """A sum over the number of taps that count."""
        b, window = self.b, self.window
        if self.spec.is_inside:
            return b.mulf(total, b.like(1 / self.spec.taps, total))
        counted = window.padded_taps if self.spec.count_include_pad else window.taps
        count: Index = 1
        for axis, at in enumerate((self.row, column)):
            low, high = counted(b, axis, at)
            count = b.mul(count, b.sub(high, low))
        integer = b.value(arith.IndexCastOp, (b.index(b.maximum(count, 1)),), i32)
        divisor = b.cast(arith.SIToFPOp, integer, f32)
        return b.divf(total, b.broadcast(divisor, types.shape_of(total)))


def build_windows(spec: WindowsSpec, target: Target, name: str) -> GpuKernel:
    """The kernel of a window."""
    b = GpuBuilder(target)
    return b.kernel(
        name,
        spec.buffers,
        THREADS,
        spec.grid,
        lambda buffers: Windows(b, spec, buffers).build(),
    )
