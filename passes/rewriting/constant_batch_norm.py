"""A batch normalization with constant parameters as one number to multiply with and one to add."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.weights import constant_value

Floats = npt.NDArray[np.float64]


def scale_and_shift(
    op: glow.BatchNormOp,
    read: Callable[[SSAValue], npt.NDArray[np.generic] | None] = constant_value,
) -> tuple[Floats, Floats] | None:
    """`x * scale + shift`, [channels] each, in float64; None where a parameter is computed.

    `read` gives the numbers of a constant.
    """
    found = [read(value) for value in op.inputs[1:]]
    parameters = [array.astype(np.float64) for array in found if array is not None]
    if len(parameters) < len(found):
        return None
    scale, bias, mean, variance = parameters
    factor = scale / np.sqrt(variance + op.attributes_view().float("epsilon"))
    return factor, bias - mean * factor
