"""The inputs of a request, as callers give them: one array, several in order, or by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from glow.compiled_model import Array, arranged

Inputs: TypeAlias = Array | Sequence[Array] | Mapping[str, Array]


def in_order(names: Sequence[str], inputs: Inputs) -> Sequence[Array]:
    """The inputs in order; raises GlowError for those that are missing or unknown."""
    if type(inputs) is np.ndarray and len(names) == 1:
        return [inputs]
    if isinstance(inputs, Mapping):
        given = arranged(names, (), inputs)
    elif isinstance(inputs, list | tuple):
        given = arranged(names, inputs, {})
    else:
        given = arranged(names, [np.asarray(inputs)], {})
    return [np.asarray(given[name]) for name in names]
