"""Discrete Fourier transforms as products with tables, and what is made of them.

A signal is [batch, n, 1] (real) or [batch, n, 2] (complex numbers). A short one is a product
with one table. A length that is a product of p and q becomes transforms of length p, factors,
and transforms of length q (Cooley and Tukey): for t = q t1 + t2 and f = f1 + p f2

    X[f] = sum over t2 of W_q^(t2 f2) W_n^(t2 f1) (sum over t1 of W_p^(t1 f1) x[t])

A long length without such a factor is a convolution with a chirp (Bluestein), by transforms of
a power of two. So tables hold O(n) numbers, and a transform takes O(n log n) steps of products.
"""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, Float16Type, f32

from glow.dialects.glow import (
    AddOp,
    ConcatOp,
    GatherOp,
    MatmulOp,
    MulOp,
    PadOp,
    SliceOp,
)
from glow.dialects.node import fail_unless
from glow.dialects.weight_table import Array, dtype_of
from glow.frontends.onnx.graph import BUDGET
from glow.frontends.onnx.node import (
    Constant,
    OnnxNode,
    Operand,
    Value,
    element_type,
    shape,
)
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import onnx_op
from glow.frontends.onnx.tensors import element_type_of_onnx

LONGEST_TABLE = 64
"""The longest transform that is one product, where its length has a factor."""

LONGEST_PRIME_TABLE = 256
"""The longest one that is a product although it has none: others are convolutions."""

LONGEST = 1 << 20
"""The longest transform of all, whose tables take seconds to compute."""

AXIS_INPUT = 20
"""From this opset on DFT's axis is an input."""


def _components(numbers: Array) -> Array:
    """Complex numbers as pairs along a last axis."""
    return np.stack([numbers.real, numbers.imag], axis=-1)


def _roots(exponents: Array, length: int, sign: int) -> Array:
    """exp(sign 2 pi i k / length), exact where k is a multiple of a quarter."""
    turns = np.remainder(exponents, length)
    angles = 2 * np.pi * turns / length
    roots = np.exp(sign * 1j * angles)
    for quarter, exact in enumerate((1, sign * 1j, -1, -sign * 1j)):
        roots = np.where(4 * turns == quarter * length, exact, roots)
    return roots


def _factor(length: int) -> int:
    """The largest factor that a table may have; 1 if there is none."""
    most = min(LONGEST_TABLE, int(length**0.5))
    return next((p for p in range(most, 1, -1) if length % p == 0), 1)


class _Transform:
    """Transforms of one direction: the sign of the exponents."""

    def __init__(self, node: OnnxNode, sign: int) -> None:
        self.node, self.sign = node, sign

    def constant(self, numbers: Array, like: Operand) -> Constant:
        """Real numbers in the type of a value."""
        return Constant(numbers.astype(dtype_of(element_type(like))), "table")

    def apply(self, value: Operand) -> Operand:
        """[batch, n, 1 or 2] -> [batch, n, 2], without a factor."""
        length = shape(value)[1]
        factor = _factor(length)
        if length <= LONGEST_TABLE or (factor == 1 and length <= LONGEST_PRIME_TABLE):
            return self._by_table(value)
        if factor == 1:
            return self._by_convolution(value)
        return self._by_factors(value, factor)

    def _by_table(self, value: Operand) -> Operand:
        """One product; a real part times w is (re w, im w), an imaginary one (-im w, re w)."""
        batch, length, parts = shape(value)
        times = np.arange(length)
        roots = _roots(np.outer(times, times), length, self.sign)
        rows = [_components(roots), _components(np.multiply(roots, 1j))][:parts]
        table = np.stack(rows, axis=1).reshape(length * parts, 2 * length)
        flat = self.node.reshape(value, (batch, length * parts))
        product = self.node.emit(MatmulOp, flat, self.constant(table, value))
        return self.node.reshape(product, (batch, length, 2))

    def _by_factors(self, value: Operand, p: int) -> Operand:
        node = self.node
        batch, length, parts = shape(value)
        q = length // p
        value = node.reshape(value, (batch, p, q, parts))
        value = node.transpose(value, (0, 2, 1, 3))
        value = self._by_table(node.reshape(value, (batch * q, p, parts)))
        twiddles = _roots(np.outer(np.arange(q), np.arange(p)), length, self.sign)
        value = self.times(node.reshape(value, (batch, q, p, 2)), twiddles)
        value = node.transpose(value, (0, 2, 1, 3))
        value = self.apply(node.reshape(value, (batch * p, q, 2)))
        value = node.transpose(node.reshape(value, (batch, p, q, 2)), (0, 2, 1, 3))
        return node.reshape(value, (batch, length, 2))

    def _by_convolution(self, value: Operand) -> Operand:
        """t f is (t^2 + f^2 - (f - t)^2) / 2, so that only differences of places matter."""
        _, length, parts = shape(value)
        size = 1 << (2 * length - 2).bit_length()
        times = np.arange(length)
        chirp = _roots(times * times, 2 * length, self.sign)
        if parts == 1:
            value = self.node.emit(PadOp, value, pads=[0, 0, 0, 0, 0, 1])
        value = self.times(value, chirp)
        value = self.node.emit(PadOp, value, pads=[0, 0, 0, 0, size - length, 0])
        kernel = np.zeros(size, np.complex128)
        kernel[:length] = chirp.conj()
        kernel[size - length + 1 :] = chirp[:0:-1].conj()
        spectrum = _Transform(self.node, -1).apply(value)
        spectrum = self.times(spectrum, np.fft.fft(kernel) / size)
        value = _Transform(self.node, 1).apply(spectrum)
        return self.times(_first(self.node, value, 1, length), chirp)

    def times(self, value: Operand, factors: Array) -> Operand:
        """[batch, ..., 2] times complex factors [...]: (a c - b s, b c + a s)."""
        node, rank = self.node, len(shape(value))
        swapped = node.emit(
            SliceOp,
            value,
            starts=[*[0] * (rank - 1), 1],
            sizes=shape(value),
            steps=[*[1] * (rank - 1), -1],
        )
        same = np.stack([factors.real, factors.real], axis=-1)
        crossed = np.stack([-factors.imag, factors.imag], axis=-1)
        return node.emit(
            AddOp,
            node.emit(MulOp, value, self.constant(same, value)),
            node.emit(MulOp, swapped, self.constant(crossed, value)),
        )


def _first(node: OnnxNode, value: Operand, axis: int, size: int) -> Operand:
    """The first elements along an axis."""
    sizes = [*shape(value)]
    if sizes[axis] == size:
        return value
    sizes[axis] = size
    rank = len(sizes)
    return node.emit(SliceOp, value, starts=[0] * rank, sizes=sizes, steps=[1] * rank)


def _of_length(node: OnnxNode, value: Operand, length: int) -> Operand:
    """A signal [batch, n, parts], cut or padded with zeros."""
    given = shape(value)[1]
    if given < length:
        return node.emit(PadOp, value, pads=[0, 0, 0, 0, length - given, 0])
    return _first(node, value, 1, length)


def transformed(
    node: OnnxNode, value: Operand, length: int, *, inverse: bool, onesided: bool
) -> Operand:
    """The transform of signals [batch, n, 1 or 2] that are cut or padded to a length.

    With `onesided` it gives the first half of the frequencies; the inverse takes those, and
    gives real numbers.
    """
    if inverse and onesided:
        value = _mirrored(node, _of_length(node, value, length // 2 + 1), length)
    else:
        value = _of_length(node, value, length)
    result = _Transform(node, 1 if inverse else -1).apply(value)
    if inverse:
        result = node.emit(MulOp, result, node.number(1 / length, result))
        return _first(node, result, 2, 1) if onesided else result
    return _first(node, result, 1, length // 2 + 1) if onesided else result


def _mirrored(node: OnnxNode, value: Operand, length: int) -> Operand:
    """All frequencies of a real signal from the first half: the others are conjugates."""
    if shape(value)[2] == 1:
        value = node.emit(PadOp, value, pads=[0, 0, 0, 0, 0, 1])
    # The imaginary parts of the first and, of an even length, the middle one do not count.
    count = length - (half := shape(value)[1])
    kept = np.ones((half, 2))
    kept[0, 1] = 0
    if length % 2 == 0:
        kept[-1, 1] = 0
    table = dtype_of(element_type(value))
    value = node.emit(MulOp, value, Constant(kept.astype(table), "kept"))
    if count == 0:
        return value
    places = Constant(np.arange(count, 0, -1), "places")
    rest = node.emit(GatherOp, value, places, axis=1)
    signs = Constant(np.array([1, -1], table), "signs")
    return node.emit(ConcatOp, value, node.emit(MulOp, rest, signs), axis=1)


@onnx_op("DFT")
def dft(node: OnnxNode) -> Value:
    """The transform along an axis; 16-bit floats compute in f32."""
    rank, element = node.rank(0), element_type(node.value(0))
    if node.opset < AXIS_INPUT:
        axis = node.attr_int("axis", 1)
    else:
        axis = node.integer(2, "axis") if node.has(2) else -2
    axis = node.positive(axis, rank)
    sizes, parts = node.shape(0), node.shape(0)[-1]
    inverse, onesided = (
        bool(node.attr_int(name, 0)) for name in ("inverse", "onesided")
    )
    fail_unless(
        rank > 1 and axis < rank - 1 and parts in (1, 2),
        f"axis {axis} of signals of shape {list(sizes)}, whose last axis holds 1 or 2 parts",
    )
    default = 2 * (sizes[axis] - 1) if inverse and onesided else sizes[axis]
    length = node.integer(1, "dft_length") if node.has(1) else default
    fail_unless(0 < length <= LONGEST, f"a transform of length {length}")
    order = [*(a for a in range(rank) if a != axis and a < rank - 1), axis, rank - 1]
    value = _wide(node, node.transpose(node.value(0), order))
    before = shape(value)[:-2]
    value = node.reshape(value, (prod(before), *shape(value)[-2:]))
    value = transformed(node, value, length, inverse=inverse, onesided=onesided)
    value = node.reshape(value, (*before, *shape(value)[1:]))
    back = [order.index(a) for a in range(rank)]
    return node.convert(node.transpose(value, back), element)


def _wide(node: OnnxNode, value: Operand) -> Operand:
    """16-bit floats as f32."""
    narrow = isinstance(element_type(value), Float16Type | BFloat16Type)
    return node.convert(value, f32) if narrow else value


@onnx_op("STFT")
def stft(node: OnnxNode) -> Value:
    """Transforms of frames of a signal, each times the window."""
    element, signal = element_type(node.value(0)), _wide(node, node.value(0))
    if node.rank(0) == len(("batch", "signal")):
        signal = node.reshape(signal, (*shape(signal), 1))
    batch, whole, parts = shape(signal)
    step = node.integer(1, "frame_step")
    length = node.shape(2)[0] if node.has(2) else whole
    if node.has(3):
        length = node.integer(3, "frame_length")
    fail_unless(
        step > 0 and 0 < length <= whole,
        f"frames of {length} with a step of {step} in a signal of {whole}",
    )
    count = (whole - length) // step + 1
    refuse_if(count * length > BUDGET, f"{count} frames of {length}")
    places = np.arange(count)[:, None] * step + np.arange(length)
    frames: Operand = node.emit(GatherOp, signal, Constant(places, "frames"), axis=1)
    if node.has(2):
        window = node.reshape(_wide(node, node.value(2)), (length, 1))
        frames = node.emit(MulOp, frames, window)
    frames = node.reshape(frames, (batch * count, length, parts))
    onesided = bool(node.attr_int("onesided", 1))
    result = transformed(node, frames, length, inverse=False, onesided=onesided)
    result = node.reshape(result, (batch, count, *shape(result)[1:]))
    return node.convert(result, element)


@onnx_op("MelWeightMatrix")
def mel_weight_matrix(node: OnnxNode) -> Value:
    """Triangles over frequencies, evenly far from each other on the mel scale."""
    names = ("num_mel_bins", "dft_length", "sample_rate", "lower edge", "upper edge")
    bins, length, rate, lower, upper = (
        node.array(index, name).item() for index, name in enumerate(names)
    )
    bins, length = int(bins), int(length)
    refuse_if(bins * length > BUDGET, f"{bins} bins of {length}")
    fail_unless(
        bins >= 0 and length > 0 and rate > 0 and 0 <= lower <= upper <= rate / 2,
        f"{bins} bins from {lower} to {upper} Hz of {length} at {rate} Hz",
    )
    low, high = (2595 * np.log10(1 + edge / 700) for edge in (lower, upper))
    mels = low + np.arange(bins + 2) * ((high - low) / (bins + 2))
    edges = 700 * (10 ** (mels / 2595) - 1)
    left, center, right = (
        np.floor((length + 1) * edges / rate).astype(np.int64)[k : k + bins]
        for k in range(3)
    )
    frequency = np.arange(length // 2 + 1)[:, None]
    with np.errstate(all="ignore"):
        rising = (frequency - left) / (center - left)
        falling = (right - frequency) / (right - center)
    rises = (left <= frequency) & (frequency <= center) & (left < center)
    falls = (center <= frequency) & (frequency < right)
    weights = np.where(rises, rising, 0.0)
    weights = np.where((left == center) & (frequency == center), 1.0, weights)
    weights = np.where(falls, falling, weights)
    to = node.attr_int("output_datatype", 1)
    return weights.astype(dtype_of(element_type_of_onnx(to)))
