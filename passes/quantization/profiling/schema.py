"""From a range of numbers to scale and zero point; Glow's four schemas.

Scales are float32 numbers, since the arithmetic is. A range always includes 0, which is
then exactly representable; an empty range (all zeros) gets scale 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from glow.dialects.errors import GlowError
from glow.dialects.quant import Quantization

SCHEMAS = ("asymmetric", "symmetric", "symmetric-uint8", "power-of-two")
PRECISIONS = {"int8": 8, "int16": 16}

TINY = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True)
class Schema:
    """How activations are quantized."""

    name: str = "asymmetric"
    precision: str = "int8"

    def __post_init__(self) -> None:
        if self.name not in SCHEMAS:
            raise GlowError(
                f"unknown schema '{self.name}'", hint=f"one of {', '.join(SCHEMAS)}"
            )
        if self.precision not in PRECISIONS:
            raise GlowError(
                f"unknown precision '{self.precision}'",
                hint=f"one of {', '.join(PRECISIONS)}",
            )

    @property
    def bits(self) -> int:
        """The number of bits of a stored value."""
        return PRECISIONS[self.precision]

    def parameters(self, low: float, high: float) -> Quantization:
        """The quantization of activations in a range."""
        low, high = min(low, 0.0), max(high, 0.0)
        if self.name == "asymmetric":
            return asymmetric(low, high, self.bits)
        unsigned = self.name != "symmetric" and low >= 0
        return symmetric(
            max(-low, high),
            self.bits,
            signed=not unsigned,
            power_of_two=self.name == "power-of-two",
        )


def as_scale(scale: float) -> float:
    """A positive float32 number near `scale`; 1 for 0."""
    if scale == 0:
        return 1.0
    return max(float(np.float32(scale)), TINY)


def asymmetric(low: float, high: float, bits: int) -> Quantization:
    """Unsigned with a zero point (int16: signed), the range's ends nearly exact."""
    signed = bits > 8
    steps = (1 << bits) - 1
    scale = as_scale((high - low) / steps)
    smallest = -(1 << (bits - 1)) if signed else 0
    zero_point = min(max(round(smallest - low / scale), smallest), smallest + steps)
    return Quantization(bits, signed, (scale,), (int(zero_point),))


def symmetric(
    largest: float, bits: int, *, signed: bool = True, power_of_two: bool = False
) -> Quantization:
    """Zero point 0; signed values leave the smallest one unused."""
    steps = (1 << (bits - 1)) - 1 if signed else (1 << bits) - 1
    scale = symmetric_scale(largest, steps, power_of_two=power_of_two)
    return Quantization(bits, signed, (scale,), (0,))


def symmetric_scale(largest: float, steps: int, *, power_of_two: bool) -> float:
    """The scale at which a number of steps above zero reach the largest magnitude."""
    scale = as_scale(largest / steps)
    return 2.0 ** math.ceil(math.log2(scale)) if power_of_two else scale


def symmetric_scales(
    largest: npt.NDArray[np.float64], steps: int, power_of_two: bool
) -> tuple[float, ...]:
    """The same of several magnitudes."""
    if power_of_two:
        numbers = largest.tolist()
        return tuple(symmetric_scale(n, steps, power_of_two=True) for n in numbers)
    exact = largest / steps
    scales = np.where(exact == 0, 1.0, np.maximum(exact.astype(np.float32), TINY))
    return tuple(scales.tolist())


def weight_parameters(
    weights: npt.NDArray[np.generic],
    axis: int | None,
    *,
    power_of_two: bool = False,
    bits: int = 8,
) -> Quantization:
    """Symmetric, by channel of `axis` or for the tensor, from the largest magnitudes."""
    axis = None if axis is None else axis % weights.ndim
    limit = (1 << (bits - 1)) - 1
    scales = symmetric_scales(magnitudes(weights, axis), limit, power_of_two)
    return Quantization(
        bits, True, scales, (0,) * len(scales), axis, storage_range=(-limit, limit)
    )


def magnitudes(
    weights: npt.NDArray[np.generic], axis: int | None
) -> npt.NDArray[np.float64]:
    """The largest magnitude of each channel of `axis`, or of all; NaN where there is one.

    From both ends of the range, since absolute numbers would be a copy of the weights.
    """
    is_narrow = weights.dtype.name not in ("float32", "float64")
    numbers = weights.astype(np.float64) if is_narrow else weights
    others = tuple(other for other in range(weights.ndim) if other != axis)
    high = numbers.max(axis=others, initial=0.0)
    low = numbers.min(axis=others, initial=0.0)
    return np.maximum(high, -low).astype(np.float64).reshape(-1)
