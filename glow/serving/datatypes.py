"""The element types of the Open Inference Protocol by name."""

from __future__ import annotations

from collections.abc import Mapping

import ml_dtypes
import numpy as np

from glow.serving.requests import BAD_REQUEST, ServingError

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
    return NAMES.get(dtype, dtype.name.upper())
