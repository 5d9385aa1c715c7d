"""Arrays whose element type is known at run time only, and the types to compute in."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from glow.dialects.small_types import SMALL_TYPES

Array: TypeAlias = npt.NDArray[Any]
DType: TypeAlias = np.dtype[Any]


def is_float(array: Array) -> bool:
    """Whether the elements are floating point (bfloat16 included)."""
    return array.dtype.kind not in "biu"


def widen(array: Array) -> Array:
    """Floats as float64, the type in which transcendental functions and sums are done."""
    return array.astype(np.float64, copy=False) if is_float(array) else array


def exact(array: Array) -> Array:
    """The array in a type whose matrix products are exact or rounded far below ours.

    float64 holds sums of products of 8- and 16-bit integers exactly, and its products
    are fast; wider integers are multiplied as int64 and wrap.
    """
    narrow = is_float(array) or array.dtype.itemsize <= 2
    return array.astype(np.float64 if narrow else np.int64, copy=False)


def unsigned(array: Array) -> Array:
    """The same bits as unsigned integers (booleans stay)."""
    array = np.asarray(array)
    return array if array.dtype.kind == "b" else array.view(f"u{array.dtype.itemsize}")


def signed(array: Array) -> Array:
    """Integers as signed ones: the `i1` true is -1."""
    array = np.asarray(array)
    return -array.astype(np.int8) if array.dtype.kind == "b" else array


def lowest(dtype: DType) -> float | int:
    """The number that never wins a maximum."""
    if dtype.kind == "b":
        return False
    return int(np.iinfo(dtype).min) if dtype.kind in "iu" else -math.inf


def garbage(shape: tuple[int, ...], dtype: DType) -> Array:
    """Memory that nobody has written: NaN, or a conspicuous integer."""
    array = np.empty(shape, dtype)
    spoil(array)
    return array


def spoil(array: Array) -> None:
    """Overwrite memory whose content has no meaning."""
    if array.dtype.name in SMALL_TYPES:
        array.view(np.uint8)[...] = 1
    elif is_float(array):
        array[...] = math.nan
    elif array.dtype.kind == "b":
        array[...] = True
    else:
        array[...] = np.frombuffer(b"\xa5" * array.dtype.itemsize, array.dtype)[0]
