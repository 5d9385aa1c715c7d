"""Weights drawn from a generator that is seeded by the tensor's name.

The spreads keep activations near one from the first layer to the last, as training would:
a network of which all values vanish or explode would compare equal whatever was computed.
"""

import zlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Weights = NDArray[np.float32]
Shape = tuple[int, ...]
Fill = Callable[[str, Shape], Weights]
"""Draws the weight of a name and a shape."""


def generator(name: str) -> np.random.Generator:
    """Returns the random generator of the tensor `name` (CRC-32: `hash` differs per process)."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def normal(name: str, shape: Shape, deviation: float) -> Weights:
    """Returns normally distributed weights around zero."""
    values = generator(name).standard_normal(shape, np.float32)
    values *= np.float32(deviation)
    return values


def uniform(name: str, shape: Shape, low: float, high: float) -> Weights:
    """Returns weights spread evenly over [low, high)."""
    values = generator(name).random(shape, np.float32)
    values *= np.float32(high - low)
    values += np.float32(low)
    return values


def he(name: str, shape: Shape) -> Weights:
    """Returns weights `[outputs, inputs...]` that keep the spread through a ReLU.

    He et al. 2015, "Delving deep into rectifiers", equation 10.
    """
    return normal(name, shape, (2.0 / np.prod(shape[1:])) ** 0.5)


def lecun(name: str, shape: Shape) -> Weights:
    """Returns weights `[inputs, outputs]` that keep the spread through a linear layer."""
    return normal(name, shape, shape[0] ** -0.5)


def near_one(name: str, shape: Shape) -> Weights:
    """Returns scales and variances, in [0.8, 1.2)."""
    return uniform(name, shape, 0.8, 1.2)


def near_zero(name: str, shape: Shape) -> Weights:
    """Returns biases and means, of standard deviation 0.05."""
    return normal(name, shape, 0.05)
