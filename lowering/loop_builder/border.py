"""Which output positions of a window have the same taps in the padding.

Those with all taps inside are class 0. Each other position of an axis is a class of its own, in
order; a class of the plane is one of its rows and one of its columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.window import Window


@dataclass(frozen=True)
class BorderClasses:
    """The classes of one window."""

    window: Window

    def extent(self, axis: int) -> int:
        """The number of classes of an axis."""
        low, high = self.window.interior(axis)
        return 1 + self.window.output[axis] - (high - low)

    @property
    def count(self) -> int:
        """The number of classes of the plane."""
        return self.extent(0) * self.extent(1)

    def of(self, b: LoopBuilder, row: Index, column: Index) -> Index:
        """The class of an output position."""
        of_row, of_column = self._of(b, 0, row), self._of(b, 1, column)
        return b.add(b.mul(of_row, self.extent(1)), of_column)

    def _of(self, b: LoopBuilder, axis: int, position: Index) -> Index:
        low, high = self.window.interior(axis)
        if self.extent(axis) == 1:
            return 0
        behind = b.compare("sge", position, high)
        last = b.select_index(behind, b.sub(position, high - low - 1), 0)
        before = b.compare("slt", position, low)
        return b.select_index(before, b.add(position, 1), last)

    def taps(self) -> NDArray[np.bool_]:
        """Which taps are inside, `[classes, kernel rows, kernel columns]`."""
        rows, columns = (self._taps(axis) for axis in range(2))
        inside = rows[:, None, :, None] & columns[None, :, None, :]
        return inside.reshape(self.count, *self.window.kernel)

    def _taps(self, axis: int) -> NDArray[np.bool_]:
        """Which taps of an axis are inside, `[classes, taps]`."""
        window, (low, high) = self.window, self.window.interior(axis)
        borders = [*range(low), *range(high, window.output[axis])]
        taps = np.arange(window.kernel[axis]) * window.dilations[axis]
        places = np.array(borders, np.int64)[:, None] * window.strides[axis] + taps
        places -= window.pads[axis]
        inside = (places >= 0) & (places < window.input[axis])
        return np.concatenate([np.ones((1, len(taps)), bool), inside])
