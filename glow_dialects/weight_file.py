"""Weight files: named arrays in the safetensors format, marked as written by this compiler.

The mark is a digest of the content in the file's metadata. A program carries the digest of
its own file, so that another file under that name is refused; and a file without a mark
belongs to somebody else, and is never replaced.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from glow.dialects.errors import GlowError
from glow.dialects.weight_table import Array, bfloat16

MARK = "glow.weights"
"""The one key of the metadata; the order of several would differ from run to run."""

DTYPES = (
    *("BOOL", "BF16", "F16", "F32", "F64"),
    *(f"{kind}{bits}" for kind in "IU" for bits in (8, 16, 32, 64)),
)
"""The dtypes of the format that programs have."""

DIGEST_DIGITS = 16


@dataclass(frozen=True)
class WeightFile:
    """What was read of a file."""

    arrays: Mapping[str, Array]
    digest: str | None
    """The mark; None in a file that another program wrote."""


def digest_of(arrays: Mapping[str, Array]) -> str:
    """A hash of names, dtypes, shapes and bytes of contiguous arrays."""
    content = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        content.update(f"{name!r} {array.dtype.name} {array.shape} ".encode())
        content.update(array.reshape(-1).view(np.uint8).data)
    return content.hexdigest()[:DIGEST_DIGITS]


def write_weight_file(arrays: Mapping[str, Array], path: str | os.PathLike[str]) -> str:
    """Write arrays with a mark; the digest. Raises GlowError where that is impossible."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    digest = digest_of(contiguous)
    try:
        save_file(contiguous, path, {MARK: digest})
    except (OSError, SafetensorError) as error:
        raise GlowError(f"cannot write the weight file '{path}': {error}") from None
    return digest


def read_weight_file(
    path: str | os.PathLike[str], names: Collection[str]
) -> WeightFile:
    """The arrays of those names.

    Raises GlowError for a file that is missing or damaged, that lacks one of the names or
    has it in a dtype that programs do not have.
    """
    from safetensors import SafetensorError, safe_open

    check_regular(path)
    try:
        with safe_open(path, framework="np") as file:
            present = set(file.keys())
            for name in sorted(names):
                if name not in present:
                    raise GlowError(
                        f"weight '{name}' is missing from the weight file '{path}'"
                    )
                check_dtype(path, name, file.get_slice(name).get_dtype())
            arrays = {name: file.get_tensor(name) for name in names}
            return WeightFile(arrays, (file.metadata() or {}).get(MARK))
    except (OSError, SafetensorError) as error:
        raise GlowError(f"cannot read the weight file '{path}': {error}") from None


def is_marked(path: Path) -> bool:
    """Whether a file is one that this compiler wrote."""
    try:
        return read_weight_file(path, ()).digest is not None
    except GlowError:
        return False


def check_regular(path: str | os.PathLike[str]) -> None:
    """Raise GlowError unless there is a file; to open a FIFO would wait for a writer."""
    if not Path(path).exists():
        raise GlowError(f"the weight file '{path}' does not exist")
    if not Path(path).is_file():
        raise GlowError(f"cannot read the weight file '{path}': it is not a file")


def check_dtype(path: str | os.PathLike[str], name: str, dtype: str) -> None:
    """Raise GlowError for a dtype of the format that programs do not have."""
    if dtype == "BF16":
        bfloat16()  # Which NumPy knows from then on.
    elif dtype not in DTYPES:
        raise GlowError(
            f"weight '{name}' of '{path}' has dtype {dtype}, which no program has",
            hint=f"there are {', '.join(DTYPES)}",
        )
