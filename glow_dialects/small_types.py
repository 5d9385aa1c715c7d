"""Element types of storage: floats of 8 and 4 bits, integers of 4 and 2 bits.

They are held, moved and converted, and nothing computes on them. An array holds one element a
byte, as `ml_dtypes` has it: the bits of a narrow element are the lower ones, the others 0. In
the loops level and below they are bytes.

Source of the formats: ONNX `TensorProto.DataType`; "FP8 Formats for Deep Learning"
(arXiv 2209.05433); OCP Microscaling Formats 1.0 (`f8E8M0FNU`, `f4E2M1FN`).
"""

from __future__ import annotations

from functools import cache
from typing import TypeGuard

import numpy as np
from xdsl.dialects.builtin import (
    IntegerType,
    ReducedPrecisionFloatType,
    Signedness,
    f4E2M1FN,
    f8E4M3FN,
    f8E4M3FNUZ,
    f8E5M2,
    f8E5M2FNUZ,
    f8E8M0FNU,
)
from xdsl.ir import Attribute

from glow.dialects.bounded_cache import identity_cache

SMALL_TYPES: dict[str, Attribute] = {
    "float8_e4m3fn": f8E4M3FN,
    "float8_e4m3fnuz": f8E4M3FNUZ,
    "float8_e5m2": f8E5M2,
    "float8_e5m2fnuz": f8E5M2FNUZ,
    "float8_e8m0fnu": f8E8M0FNU,
    "float4_e2m1fn": f4E2M1FN,
    "int4": IntegerType(4),
    "uint4": IntegerType(4, Signedness.UNSIGNED),
    "int2": IntegerType(2),
    "uint2": IntegerType(2, Signedness.UNSIGNED),
}
"""The types by the names of their dtypes in `ml_dtypes`."""

_NAMES = {element: name for name, element in SMALL_TYPES.items()}


@identity_cache
def is_small(element: Attribute) -> bool:
    """Whether an element type is one of storage only."""
    return element in _NAMES


def is_small_float(element: Attribute) -> TypeGuard[ReducedPrecisionFloatType]:
    """Whether an element type is a float of storage only."""
    return isinstance(element, ReducedPrecisionFloatType) and element in _NAMES


@cache
def small_dtype(element: Attribute) -> np.dtype[np.generic] | None:
    """The dtype of a type of storage, whose package is loaded for networks that have some."""
    name = _NAMES.get(element)
    if name is None:
        return None
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))


def small_bits(number: float, element: Attribute) -> int:
    """The byte that holds a number of a type of storage."""
    dtype = small_dtype(element)
    assert dtype is not None
    return int(np.array(number).astype(dtype).view(np.uint8))
