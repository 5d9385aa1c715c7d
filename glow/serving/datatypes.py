"""The tensors of the Open Inference Protocol: element types by name, shapes and bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, cast

import ml_dtypes
import numpy as np

from glow.serving.requests import BAD_REQUEST, ServingError

if TYPE_CHECKING:
    from glow.compiled_model import Array

MOST_AXES = 32
"""Of a tensor."""
MOST_ELEMENTS = 1 << 59
"""Of a tensor, axes of no elements left out: NumPy counts its bytes in 63 bits."""

DTYPES: Mapping[str, np.dtype[np.generic]] = {
    "BOOL": np.dtype(np.bool_),
    "UINT8": np.dtype(np.uint8),
    "UINT16": np.dtype(np.uint16),
    "UINT32": np.dtype(np.uint32),
    "UINT64": np.dtype(np.uint64),
    "INT8": np.dtype(np.int8),
    "INT16": np.dtype(np.int16),
    "INT32": np.dtype(np.int32),
    "INT64": np.dtype(np.int64),
    "FP16": np.dtype(np.float16),
    "FP32": np.dtype(np.float32),
    "FP64": np.dtype(np.float64),
    "BF16": np.dtype(ml_dtypes.bfloat16),
}

NAMES: Mapping[np.dtype[np.generic], str] = {
    dtype: name for name, dtype in DTYPES.items()
}


def dtype_named(name: object) -> np.dtype[np.generic]:
    """The dtype of a name; raises ServingError for others, `BYTES` among them."""
    if not isinstance(name, str) or name not in DTYPES:
        known = ", ".join(DTYPES)
        raise ServingError(
            BAD_REQUEST, f"datatype {name!r:.40} is not supported; there are {known}"
        )
    return DTYPES[name]


def name_of(dtype: np.dtype[np.generic]) -> str:
    """The name of a dtype; that of NumPy where the protocol has none."""
    return NAMES.get(dtype) or dtype.name.upper()


def checked_shape(name: str, shape: Sequence[object]) -> tuple[int, ...]:
    """The sizes of an input; raises ServingError for those that no tensor can have."""
    for size in shape:
        if type(size) is not int or size < 0:
            raise ServingError(
                BAD_REQUEST, f"input {name!r:.80}: {size!r:.40} is no size"
            )
    sizes = cast("tuple[int, ...]", tuple(shape))
    if len(sizes) > MOST_AXES or prod(size or 1 for size in sizes) > MOST_ELEMENTS:
        raise ServingError(
            BAD_REQUEST, f"input {name!r:.80} has the wrong shape {list(sizes)!s:.80}"
        )
    return sizes


def tensor_of(
    name: str, data: memoryview, shape: tuple[int, ...], dtype: np.dtype[np.generic]
) -> Array:
    """A view of bytes as a tensor, a copy where they are not aligned.

    Raises ServingError for a BOOL that is neither 0 nor 1: compiled code may take it for both.
    """
    if dtype.kind == "b":
        largest = int(np.frombuffer(data, np.uint8).max(initial=0))
        if largest > 1:
            raise ServingError(
                BAD_REQUEST,
                f"input {name!r:.80}: a byte of BOOL is 0 or 1, not {largest}",
            )
    array = np.frombuffer(data, dtype)
    if not array.flags.aligned:
        array = array.copy()
    return array.reshape(shape)
