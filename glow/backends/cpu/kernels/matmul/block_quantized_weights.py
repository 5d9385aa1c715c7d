"""Block-quantized weights in the order in which the kernel reads them.

Groups of columns as wide as the register tile follow each other, and in a group the blocks along
the depth, each with its scales, its zero points if it has some, and its words of codes:
`[groups][K / size][1 or 2 + words][blocks][lanes]`; for rows of bytes the words come first. So all
of B is one linear stream. For rows of floats, zero points are in units of the kernel's floats
(`BlockFormat.unit`), and scales in the inverse ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import numpy.typing as npt

from glow.backends.cpu.kernels.matmul.block_quantized_spec import (
    MOST_WEIGHTS,
    BlockFormat,
    BlockQuantizedSpec,
)
from glow.dialects.weight_table import Array, DeferredArray
from glow.lowering.target.target import Target

Codes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]
Words = npt.NDArray[np.int32]

BYTES = 4
"""Of a word."""


@dataclass(frozen=True)
class BlockWeights:
    """Codes [K, N], scales [K / size, N], and maybe zero points, from 0 on.

    Codes are as the graph stores them, with or without a sign: packing turns them, a group of
    columns at a time.
    """

    format: BlockFormat
    codes: Array
    scales: Floats
    points: Codes | None = None

    @staticmethod
    def of(
        codes: Array, scales: Array, points: Array | None, size: int
    ) -> BlockWeights:
        """Those of integers with or without a sign, the zero points of which are 0 if not given.

        Zero points that are all in the middle of the codes need not be stored. Blocks that are too
        large are several with the same numbers.
        """
        form, factors = BlockFormat(_bits(codes), size, True), cast("Floats", scales)
        zero = np.full(scales.shape, _lift(codes), np.uint8)
        raised = zero if points is None else _from_zero(points)
        if size > MOST_WEIGHTS and (size % MOST_WEIGHTS == 0 or size >= len(codes)):
            form = replace(form, size=MOST_WEIGHTS)
            count, each = -(-len(codes) // MOST_WEIGHTS), -(-size // MOST_WEIGHTS)
            factors = np.repeat(factors, each, 0)[:count]
            raised = np.repeat(raised, each, 0)[:count]
        if (raised == form.middle).all():
            return BlockWeights(replace(form, has_points=False), codes, factors)
        return BlockWeights(form, codes, factors, raised)


def _bits(codes: Array) -> int:
    """The bits of an element: those of storage types have a byte each in an array."""
    return int(codes.dtype.name.lstrip("uint"))


def _lift(codes: Array) -> int:
    """How far the least code is below 0: a power of two, or 0 of those without a sign."""
    is_unsigned = codes.dtype.name.startswith("u")
    return 0 if is_unsigned else 1 << (_bits(codes) - 1)


def _from_zero(codes: Array) -> Codes:
    """Codes from 0 on; of those with a sign that is the upper bit, turned over."""
    mask = np.uint8((1 << _bits(codes)) - 1)
    return (codes.view(np.uint8) & mask) ^ np.uint8(_lift(codes))


def places(form: BlockFormat, *, by_bytes: bool) -> list[int]:
    """The first bit of each of a word's codes, in the order of the depth.

    Those that bytes of rows are multiplied with are in four bytes at a time, the next four above.
    """
    if not by_bytes:
        return [form.bits * number for number in range(form.codes)]
    rows = range(form.codes // BYTES)
    return [8 * byte + form.bits * row for row in rows for byte in range(BYTES)]


def words_of(codes: Codes, form: BlockFormat, *, by_bytes: bool = False) -> Words:
    """[K, N] of codes as [K / codes of a word, N]."""
    parts = codes.astype(np.uint32).reshape(-1, form.codes, codes.shape[1])
    words = np.zeros((parts.shape[0], codes.shape[1]), np.uint32)
    for number, place in enumerate(places(form, by_bytes=by_bytes)):
        words |= parts[:, number] << np.uint32(place)
    return words.view(np.int32)


def codes_of(
    words: Words, form: BlockFormat, *, by_bytes: bool = False
) -> npt.NDArray[np.uint32]:
    """[K / codes of a word, N] as [K, N] of codes."""
    count, columns = words.shape
    codes = np.empty((count, form.codes, columns), np.uint32)
    for number, place in enumerate(places(form, by_bytes=by_bytes)):
        shifted = words.view(np.uint32) >> np.uint32(place)
        codes[:, number] = shifted & np.uint32((1 << form.bits) - 1)
    return codes.reshape(-1, columns)


def units(spec: BlockQuantizedSpec) -> tuple[np.float32, np.float32]:
    """What scales are divided by, and zero points multiplied with, as the kernel wants them."""
    unit = np.float32(spec.format.unit)
    return (np.float32(1), np.float32(-1)) if spec.int8_rows else (unit, unit)


def pack_block_quantized(
    weights: BlockWeights,
    spec: BlockQuantizedSpec,
    target: Target,
    out: Words | None = None,
) -> Words:
    """Weights as one flat array."""
    form, count = spec.format, spec.quantized_blocks
    (unit, point), first = units(spec), spec.first_word
    packed = np.zeros(spec.packed_words(target), np.int32) if out is None else out
    for place, columns in _groups(spec, target):
        records = packed[place].reshape(count, form.record, -1)
        width = columns.stop - columns.start
        records[:, :, width:] = 0
        floats = records[:, :, :width].view(np.float32)
        floats[:, spec.scale_row] = weights.scales[:, columns] / unit
        if weights.points is not None:
            floats[:, spec.point_row] = weights.points[:, columns] * point
        codes = np.zeros((count * form.size, width), np.uint8)
        codes[: spec.depth] = _from_zero(weights.codes[:, columns])
        words = words_of(codes, form, by_bytes=spec.int8_rows)
        words = words.reshape(count, form.words, width)
        records[:, first : first + form.words, :width] = words
    return packed


def packed(
    weights: BlockWeights, spec: BlockQuantizedSpec, target: Target
) -> DeferredArray:
    """The same, made when it is needed."""

    def write(out: Array) -> None:
        pack_block_quantized(weights, spec, target, out.view(np.int32))

    size = (spec.packed_words(target),)
    return DeferredArray(size, np.dtype(np.int32), write, weights.codes)


def unpack_block_quantized(
    packed: Array, spec: BlockQuantizedSpec, target: Target
) -> Floats:
    """Codes less zero points [K, N] and below them scales [K / size, N] of packed weights."""
    form, count, depth = spec.format, spec.quantized_blocks, spec.depth
    found = np.empty((depth + count, spec.columns), np.float32)
    every, (unit, point) = cast("Words", packed), units(spec)
    first = spec.first_word
    for place, columns in _groups(spec, target):
        width = columns.stop - columns.start
        part = every[place].reshape(count, form.record, -1)[:, :, :width]
        floats = np.ascontiguousarray(part).view(np.float32)
        words = part[:, first : first + form.words].reshape(-1, width)
        codes = codes_of(words, form, by_bytes=spec.int8_rows)[:depth]
        middle = np.full((count, width), form.middle, np.float32)
        points = floats[:, spec.point_row] / point if form.has_points else middle
        found[:depth, columns] = codes - np.repeat(points, form.size, 0)[:depth]
        found[depth:, columns] = floats[:, spec.scale_row] * unit
    return found


def _groups(spec: BlockQuantizedSpec, target: Target) -> list[tuple[slice, slice]]:
    """Where the groups of columns lie in the packed array, and which columns they have."""
    split = spec.split(target)
    height, width = (
        spec.quantized_blocks * spec.format.record,
        split.blocks * split.lanes,
    )
    found: list[tuple[slice, slice]] = []
    for unit in range(split.units):
        first = unit * width
        end = min(first + width, spec.columns)
        stop = height * (-(-end // split.lanes) * split.lanes)
        found.append((slice(height * first, stop), slice(first, end)))
    return found
