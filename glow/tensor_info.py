"""Names, shapes and dtypes of what goes into a network and comes out of it."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np


@dataclass(frozen=True)
class TensorInfo:
    """Name, shape and dtype of an input or output."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]

    @property
    def nbytes(self) -> int:
        """The bytes of an array."""
        return prod(self.shape) * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}{list(self.shape)}"


@dataclass(frozen=True)
class Signature:
    """The inputs and outputs of a function, in order."""

    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]

    @property
    def nbytes(self) -> int:
        """The bytes of all inputs and outputs."""
        return sum(info.nbytes for info in (*self.inputs, *self.outputs))
