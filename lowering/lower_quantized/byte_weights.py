"""Constant weights of kernels that multiply signed bytes.

Less their zero point, weights of unsigned bytes need nine bits. They are bytes and a shift for
each channel, of which a sum has as much as there is in the window or the row:

    sum of x w  =  sum of x (w - shift)  +  shift sum of x
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.attributes import AttributeValue
from glow.dialects.node import NodeOp, shape_of
from glow.interpreter.arrays import Array
from glow.lowering.lower_quantized.parts import Parts

BYTES = np.iinfo(np.int8)

MATRIX = 2
"""The axes of weights [K, N]."""


@dataclass(frozen=True)
class ByteWeights:
    """Whole numbers as `stored + shifts`, of which there is one for each channel of an axis."""

    stored: Array
    """Signed bytes: [O, C, kh, kw], or a matrix [K, N]."""
    shifts: Array
    """i32, in a shape that broadcasts to the stored ones."""

    @staticmethod
    def of(stored: Array, points: Array, axis: int) -> ByteWeights | None:
        """Weights and their zero points, one or one for each channel of an axis.

        None where there are none, and where those of a channel have more than 256 values.
        """
        extents = [-1 if k == axis else 1 for k in range(stored.ndim)]
        if not stored.size:
            return None
        if stored.dtype == np.int8 and not points.any():
            return ByteWeights(stored, np.zeros([1] * stored.ndim, np.int32))
        whole = stored.astype(np.int32) - points.astype(np.int32).reshape(extents)
        others = tuple(k for k in range(whole.ndim) if k != axis)
        low, high = whole.min(others, keepdims=True), whole.max(others, keepdims=True)
        fits = low.min() >= BYTES.min and high.max() <= BYTES.max
        shifts = np.zeros_like(low) if fits else low - BYTES.min
        if (high - shifts).max() > BYTES.max:
            return None
        stored = (whole - shifts).astype(np.int8)
        return ByteWeights(stored, shifts.astype(np.int32))

    @property
    def is_shifted(self) -> bool:
        """Whether sums lack something."""
        return bool(self.shifts.any())

    @property
    def whole(self) -> Array:
        """The whole numbers, as i32."""
        return self.stored.astype(np.int32) + self.shifts

    def ones(self, channels: int) -> Array:
        """Weights whose product with an operand of so many channels is its sum in each window
        of a group, or each row.
        """
        if self.stored.ndim == MATRIX:
            return np.ones_like(self.stored[:, :1])
        is_one_group = self.stored.shape[1] == channels
        return np.ones_like(self.stored[: 1 if is_one_group else None])


@dataclass(frozen=True)
class Product:
    """An operand of unsigned bytes by constant weights."""

    node: type[NodeOp]
    image: SSAValue
    point: SSAValue | None
    """The zero point of the operand, which is 0 without one."""
    weights: ByteWeights
    attributes: Mapping[str, AttributeValue]

    def sums(self, parts: Parts, constant: SSAValue) -> SSAValue:
        """The sums in i32. `constant` are the stored weights."""
        total = self._by(parts, constant)
        if not self.weights.is_shifted:
            return total
        ones = self.weights.ones(shape_of(self.image)[1])
        window = self._by(parts, parts.constant(ones, "ones"))
        shifts = self.weights.shifts
        if shifts.ndim > MATRIX:
            shifts = shifts[:, :, 0]
        more = parts.node(glow.MulOp, window, parts.constant(shifts, "shifts"))
        return parts.node(glow.AddOp, total, more)

    def _by(self, parts: Parts, weights: SSAValue) -> SSAValue:
        operands = [self.image, weights]
        if self.point is not None:
            zero = parts.constant(np.array(0, np.int8), "zero_point")
            operands += [self.point, zero]
        return parts.create(self.node, operands, self.attributes)
