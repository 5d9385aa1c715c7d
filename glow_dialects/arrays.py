"""Arrays of any element type, and the dtype that NumPy has not."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]


@cache
def bfloat16() -> np.dtype[np.generic]:
    """The dtype of bfloat16, whose package is loaded for networks that have some."""
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16)
