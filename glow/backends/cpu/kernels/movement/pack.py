"""Layout changes: plain [N, C, H, W] to channel blocks and back.

Blocks are [N, C / lanes, H, W, lanes]. A square of `lanes` pixels by `lanes` channels is turned
in registers by one transposing read; the last pixels are a square that overlaps, and zeros complete
the last channels. Elements of planes smaller than a square move one by one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import Attribute, SSAValue

from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.work_items import WorkItems
from glow.lowering.target.target import Target


@dataclass(frozen=True)
class PackSpec:
    """A tensor [N, C, H, W] and the number of channels per block."""

    batch: int
    channels: int
    plane: tuple[int, int]
    lanes: int = 16
    element: Attribute = f32

    @property
    def blocks(self) -> int:
        """The number of channel blocks."""
        return -(-self.channels // self.lanes)

    @property
    def plain_type(self) -> MemRefType:
        """The memref type of the plain tensor."""
        return types.memref_type((self.batch, self.channels, *self.plane), self.element)

    @property
    def blocked_type(self) -> MemRefType:
        """The memref type of the blocked tensor."""
        shape = (self.batch, self.blocks, *self.plane, self.lanes)
        return types.memref_type(shape, self.element)

    @property
    def pixels(self) -> int:
        """The pixels of a plane."""
        return prod(self.plane)

    @property
    def tile(self) -> int:
        """The pixels turned at once."""
        return min(self.lanes, self.pixels)

    @property
    def work_items(self) -> WorkItems:
        """The parallel space: (image, channel block) and the tiles of a plane."""
        tiles = -(-self.pixels // self.tile)
        return WorkItems((self.batch, self.blocks), tiles, 2)


def build_pack(name: str, spec: PackSpec, target: Target) -> Kernel:
    """The kernel (blocked, plain); lanes past the last channel may stay as they were."""
    return _build(name, spec, target, packs=True)


def build_unpack(name: str, spec: PackSpec, target: Target) -> Kernel:
    """The kernel (plain, blocked)."""
    return _build(name, spec, target, packs=False)


def _build(name: str, spec: PackSpec, target: Target, *, packs: bool) -> Kernel:
    b, work_items = LoopBuilder(target), spec.work_items
    arguments = [spec.plain_type, spec.blocked_type]
    if packs:
        arguments.reverse()
    turn = _pack_tile if packs else _unpack_tile
    if spec.pixels < spec.lanes:
        turn = _pack_elements if packs else _unpack_elements
    full, rest = divmod(spec.channels, spec.lanes)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        blocked, plain = buffers if packs else reversed(buffers)
        plain = b.reinterpret(plain, (spec.batch, spec.channels, spec.pixels))
        blocked_shape = (spec.batch, spec.blocks, spec.pixels, spec.lanes)
        blocked = b.reinterpret(blocked, blocked_shape)

        def tile(outer: Sequence[Index], number: Index) -> None:
            image, block = outer
            pixel = b.mul(number, spec.tile)
            if spec.pixels % spec.tile:
                pixel = b.minimum(pixel, spec.pixels - spec.tile)

            def channels(count: int) -> None:
                turn(b, spec, plain, blocked, (image, block, pixel), count)

            _full_or_rest(b, block, full, rest, spec.lanes, channels)

        work_items.visit(b, low, high, tile)

    return Kernel(b.function(name, arguments, body), work_items.size)


def _full_or_rest(
    b: LoopBuilder,
    block: Index,
    full: int,
    rest: int,
    lanes: int,
    body: Callable[[int], None],
) -> None:
    """Runs the body with the number of channels that a block holds."""
    if not rest or not full:
        body(rest or lanes)
        return
    is_full = b.compare("slt", block, full)
    b.if_(is_full, lambda: body(lanes), lambda: body(rest))


Position = tuple[Index, Index, Index]
"""(image, channel block, first pixel)."""


def _pack_tile(
    b: LoopBuilder,
    spec: PackSpec,
    plain: SSAValue,
    blocked: SSAValue,
    position: Position,
    channels: int,
) -> None:
    image, block, pixel = position
    first = b.mul(block, spec.lanes)
    if channels == spec.lanes:
        square = b.transfer_read(
            plain, (image, first, pixel), (spec.tile, channels), (2, 1)
        )
        b.transfer_write(square, blocked, (image, block, pixel, 0), (2, 3))
        return
    # Zeros complete the square, so that it turns in registers like any other.
    shape = (spec.lanes, spec.tile)
    square = b.constant(0.0, types.vector_type(shape, spec.element))
    for channel in range(channels):
        row = b.vector_load(spec.tile, plain, image, b.add(first, channel), pixel)
        square = b.insert(row, square, channel)
    b.transfer_write(square, blocked, (image, block, pixel, 0), (3, 2))


def _unpack_tile(
    b: LoopBuilder,
    spec: PackSpec,
    plain: SSAValue,
    blocked: SSAValue,
    position: Position,
    channels: int,
) -> None:
    image, block, pixel = position
    # The whole block is read even where only some channels are stored: that keeps it square.
    shape = (spec.lanes, spec.tile)
    tile = b.transfer_read(blocked, (image, block, pixel, 0), shape, (3, 2))
    first = b.mul(block, spec.lanes)
    if channels == spec.lanes:
        b.transfer_write(tile, plain, (image, first, pixel), (1, 2))
        return
    for channel in range(channels):
        row = b.extract(tile, channel)
        b.vector_store(row, plain, image, b.add(first, channel), pixel)


def _pack_elements(
    b: LoopBuilder,
    spec: PackSpec,
    plain: SSAValue,
    blocked: SSAValue,
    position: Position,
    channels: int,
) -> None:
    def move(channel: Index, lane: Index, pixel: Index) -> None:
        image, block, _ = position
        value = b.load(plain, image, channel, pixel)
        b.store(value, blocked, image, block, pixel, lane)

    _each_element(b, spec, position[1], channels, move)


def _unpack_elements(
    b: LoopBuilder,
    spec: PackSpec,
    plain: SSAValue,
    blocked: SSAValue,
    position: Position,
    channels: int,
) -> None:
    def move(channel: Index, lane: Index, pixel: Index) -> None:
        image, block, _ = position
        value = b.load(blocked, image, block, pixel, lane)
        b.store(value, plain, image, channel, pixel)

    _each_element(b, spec, position[1], channels, move)


def _each_element(
    b: LoopBuilder,
    spec: PackSpec,
    block: Index,
    channels: int,
    move: Callable[[Index, Index, Index], None],
) -> None:
    """Runs the body on the (channel, lane, pixel) of one channel block."""
    first = b.mul(block, spec.lanes)
    b.loop(
        0,
        channels,
        1,
        lambda lane: b.loop(
            0, spec.pixels, 1, lambda pixel: move(b.add(first, lane), lane, pixel)
        ),
    )
