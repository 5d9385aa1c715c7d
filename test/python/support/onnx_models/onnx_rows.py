"""A form of an ONNX operator, the opsets that have it, and tensors for its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

OPSETS = (7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23)


@dataclass(eq=False, frozen=True)
class Row:
    """An operator, the first opset of the form and that which has it no more.

    Inputs are arrays, None where one is left out; those behind the first `computed` ones are
    constants of the model.
    """

    operator: str
    first: int
    end: int
    inputs: Sequence[Any]
    attributes: dict[str, Any]
    computed: int = 1
    outputs: int = 1


def draw(*shape: int, seed: int = 0) -> Any:
    """Seeded numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def ints(*numbers: int) -> Any:
    """A tensor of shape, axes, ..."""
    return np.array(numbers, np.int64)


def floats(*numbers: float) -> Any:
    """A tensor of scales, bounds, ..."""
    return np.array(numbers, np.float32)


X = draw(2, 3, 4)
IMAGE = draw(1, 2, 6, 5)
VOLUME = draw(1, 2, 3, 5, 4)
ENDLESS = 99
