"""Names, shapes and dtypes of what goes into a network and comes out of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class TensorInfo:
    """Name, shape and dtype of an input or output."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}{list(self.shape)}"


@dataclass(frozen=True)
class Signature:
    """The inputs and outputs of a function, in order."""

    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
