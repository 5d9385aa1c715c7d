"""Checkpoints: all variables of a step in one safetensors file.

Parameters, moments, statistics, the number of steps and the counters of random generators are
all variables, so that a step that reads the file goes on with the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from glow.dialects.errors import GlowError
from glow.dialects.weight_table import Array
from glow.runtime.atomic_output import atomic_path

MARK = "glow.training"
"""The one key of the metadata: how the step was made."""


def write_checkpoint(variables: Mapping[str, Array], made: str, path: Path) -> None:
    """Write variables; the file appears whole or not at all. Raises GlowError."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    arrays = {name: np.array(array, order="C") for name, array in variables.items()}
    with atomic_path(path) as temporary:
        try:
            save_file(arrays, temporary, {MARK: made})
        except SafetensorError as error:
            raise GlowError(f"cannot write {path}: {error}") from None


def read_checkpoint(variables: Mapping[str, Array], made: str, path: Path) -> None:
    """Give variables the values of a file; raises GlowError before it changes any.

    The file must have all variables in their shapes and dtypes, and no others.
    """
    from safetensors import SafetensorError, safe_open

    try:
        path.open("rb").close()  # safetensors names the file in its own way.
        with safe_open(path, "numpy") as file:
            found = {name: file.get_tensor(name) for name in file.keys()}
            theirs = (file.metadata() or {}).get(MARK)
    except (OSError, SafetensorError) as error:
        reason = (error.strerror or "").lower() if isinstance(error, OSError) else ""
        raise GlowError(f"cannot read {path}: {reason or error}") from None
    if theirs is None:
        raise GlowError(
            f"{path} is not a checkpoint of a training",
            hint="step.save and glow train --save write them",
        )
    if difference := first_difference(found, variables):
        other = f" (it was saved by {theirs}, this is {made})" if theirs != made else ""
        raise GlowError(f"{path} is of another training: {difference}{other}")
    for name, array in variables.items():
        array[...] = found[name]


def first_difference(
    found: Mapping[str, Array], wanted: Mapping[str, Array]
) -> str | None:
    """The first variable in which a file differs from a step, in the step's order."""
    for name, array in wanted.items():
        if name not in found:
            return f"it has no '{name}' {list(array.shape)}"
        other = found[name]
        if other.shape != array.shape or other.dtype != array.dtype:
            return (
                f"'{name}' is {other.dtype}{list(other.shape)} there and "
                f"{array.dtype}{list(array.shape)} here"
            )
    for name, array in found.items():
        if name not in wanted:
            return f"it has '{name}' {list(array.shape)}, which this one lacks"
    return None
