"""Weight files: named arrays in the safetensors format, marked as written by this compiler.

The mark is a digest of the content in the file's metadata. A program carries the digest of
its own file, so that another file under that name is refused; and a file without a mark
belongs to somebody else, and is never replaced.

Files are read, not mapped: one that is cut short meanwhile would kill the process. One that
somebody writes meanwhile is refused, since it may give half of either content.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, cast

import numpy as np

from glow.dialects.arrays import Array, bfloat16
from glow.dialects.errors import GlowError
from glow.dialects.small_types import SMALL_TYPES

MARK = "glow.weights"
"""The one key of the metadata; the order of several would differ from run to run."""

DTYPES = {
    **{"BOOL": "?", "BF16": "", "F16": "<f2", "F32": "<f4", "F64": "<f8"},
    **{f"I{8 * size}": f"<i{size}" for size in (1, 2, 4, 8)},
    **{f"U{8 * size}": f"<u{size}" for size in (1, 2, 4, 8)},
}
"""The dtypes of the format that programs have, as NumPy calls them; BF16 is none of its.

Types of storage are written as bytes: the program says what they are.
"""

METADATA, OFFSETS = "__metadata__", "data_offsets"
LENGTH_BYTES = 8
"""A file begins with the length of its header."""

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

    contiguous = {
        name: np.ascontiguousarray(
            array if array.dtype.name not in SMALL_TYPES else array.view(np.uint8)
        )
        for name, array in arrays.items()
    }
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
    check_regular(path)
    try:
        with open(path, "rb") as file:
            written = os.fstat(file.fileno()).st_mtime_ns
            header = read_header(file)
            for name in sorted(names):
                if name not in header.tensors:
                    raise GlowError(
                        f"weight '{name}' is missing from the weight file '{path}'"
                    )
                check_dtype(path, name, header.tensors[name].dtype)
            arrays = {name: header.read(file, name) for name in names}
            if os.fstat(file.fileno()).st_mtime_ns != written:
                raise ValueError("somebody writes it")
            return WeightFile(arrays, header.mark)
    except GlowError:
        raise
    except (OSError, ValueError) as error:
        raise GlowError(f"cannot read the weight file '{path}': {error}") from None


@dataclass(frozen=True)
class Tensor:
    """Where a tensor is in a file."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int

    def is_inside(self, size: int) -> bool:
        """Whether all is of its type, and the place one of so many bytes."""
        numbers = (*self.shape, self.start, self.stop)
        typed = type(self.dtype) is str and all(type(n) is int for n in numbers)
        return typed and min(numbers) >= 0 and self.start <= self.stop <= size


@dataclass(frozen=True)
class Header:
    """What the first part of a weight file says, and where the rest begins."""

    tensors: Mapping[str, Tensor]
    mark: str | None
    size: int

    def read(self, file: BufferedReader, name: str) -> Array:
        """A tensor; raises ValueError where the file does not hold as much."""
        tensor = self.tensors[name]
        dtype = bfloat16() if tensor.dtype == "BF16" else np.dtype(DTYPES[tensor.dtype])
        if math.prod(tensor.shape) * dtype.itemsize != tensor.stop - tensor.start:
            raise ValueError(f"'{name}' has not the bytes of its shape")
        file.seek(self.size + tensor.start)
        content = bytearray(tensor.stop - tensor.start)
        if file.readinto(content) != len(content):
            raise ValueError(f"it ends before '{name}' does")
        return np.ndarray(tensor.shape, dtype, content)


def read_header(file: BufferedReader) -> Header:
    """The header; raises ValueError where it is damaged, or the file is not as long."""
    rest = os.fstat(file.fileno()).st_size - LENGTH_BYTES
    length = int.from_bytes(file.read(LENGTH_BYTES), "little")
    if not 0 < length <= rest:
        raise ValueError("it is no safetensors file, or cut short")
    try:
        found = cast(dict[str, Any], json.loads(file.read(length)))
        marks = found.pop(METADATA, {})
        tensors = {
            str(name): Tensor(entry["dtype"], tuple(entry["shape"]), *entry[OFFSETS])
            for name, entry in found.items()
        }
        for tensor in tensors.values():
            if not tensor.is_inside(rest - length):
                raise ValueError
        mark = marks.get(MARK)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise ValueError("its header is damaged, or it is cut short") from None
    return Header(tensors, mark, LENGTH_BYTES + length)


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
    if dtype not in DTYPES:
        raise GlowError(
            f"weight '{name}' of '{path}' has dtype {dtype}, which no program has",
            hint=f"there are {', '.join(DTYPES)}",
        )
