"""The table of weights that a module carries, and the dtypes of element types."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import cast

import numpy as np
from numpy.lib.array_utils import byte_bounds
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    Signedness,
)
from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from glow.dialects.arrays import Array as Array
from glow.dialects.arrays import bfloat16
from glow.dialects.bounded_cache import bounded_cache
from glow.dialects.errors import GlowError
from glow.dialects.quant import UniformQuantizedType
from glow.dialects.quantized import storage_of
from glow.dialects.small_types import SMALL_TYPES, small_dtype
from glow.dialects.text import unused_name

MAX_SMALL_ELEMENTS = 128
"""Constants of no more elements are part of the text."""

_FLOATS: dict[type[Attribute], np.dtype[np.generic]] = {
    Float16Type: np.dtype(np.float16),
    Float32Type: np.dtype(np.float32),
    Float64Type: np.dtype(np.float64),
}
_INTEGERS: dict[tuple[int, Signedness], np.dtype[np.generic]] = {
    (width, sign): np.dtype(f"{'u' if sign is Signedness.UNSIGNED else ''}int{width}")
    for width in (8, 16, 32, 64)
    for sign in Signedness
}


def dtype_of(element_type: Attribute) -> np.dtype[np.generic]:
    """The NumPy dtype of an element type; `i1` is `bool`, `i8` to `i64` are signed.

    Quantized elements are held as their stored integers.
    """
    if type(element_type) in _FLOATS:
        return _FLOATS[type(element_type)]
    if type(element_type) is IntegerType:
        integer = element_type
        width, sign = integer.width.data, integer.signedness.data
        if width == 1:
            return np.dtype(np.bool_)
        if (width, sign) in _INTEGERS:
            return _INTEGERS[width, sign]
    if isinstance(element_type, BFloat16Type):
        return bfloat16()
    if isinstance(element_type, IndexType):
        return np.dtype(np.int64)
    if isinstance(element_type, UniformQuantizedType):
        return dtype_of(storage_of(element_type.data))
    if (small := small_dtype(element_type)) is not None:
        return small
    raise GlowError(f"element type {element_type} has no NumPy dtype")


@bounded_cache
def element_type_of(dtype: np.dtype[np.generic]) -> Attribute:
    """The element type of a NumPy dtype (the inverse of `dtype_of`)."""
    for element_type, candidate in _FLOATS.items():
        if candidate == dtype:
            return element_type()
    if dtype.name == "bfloat16":
        return BFloat16Type()
    if dtype.name in SMALL_TYPES:
        return SMALL_TYPES[dtype.name]
    if dtype == np.bool_:
        return IntegerType(1)
    if dtype.kind == "u":
        return IntegerType(8 * dtype.itemsize, Signedness.UNSIGNED)
    if dtype.kind == "i":
        return IntegerType(8 * dtype.itemsize)
    raise GlowError(f"arrays of {dtype} are not supported")


@dataclass(frozen=True)
class DeferredArray:
    """An array that is made when it is needed: `write` fills memory with it.

    Packed weights are made in their place in a program's constants, so that they exist
    once, and while other cores generate code.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]
    write: Callable[[Array], None]
    source: Array | None = None
    """What `write` reads."""

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The number of bytes."""
        return self.size * self.dtype.itemsize

    def array(self) -> Array:
        """A new array of the content."""
        result = np.empty(self.shape, self.dtype)
        self.write(result)
        return result


def release_pages(array: Array) -> None:
    """Let go of the memory of an array that shows bytes of a file.

    They are read again if the array is used again, so this is always right; but only
    the last reader should do it. What lies between the rows of a slice goes too.
    """
    file = _mapped_file(array)
    if file is None or array.size == 0:
        return
    base = np.frombuffer(file, np.uint8).ctypes.data
    first, end = (address - base for address in byte_bounds(array))
    first = -(-first // mmap.PAGESIZE) * mmap.PAGESIZE
    end = end // mmap.PAGESIZE * mmap.PAGESIZE
    if end > first and hasattr(mmap, "MADV_DONTNEED"):
        file.madvise(mmap.MADV_DONTNEED, first, end - first)


def place_in_file(array: Array) -> tuple[int, int] | None:
    """Where an array is in the file that it shows a part of, and the size of the file."""
    file = _mapped_file(array)
    if file is None or array.size == 0:
        return None
    base = np.frombuffer(file, np.uint8).ctypes.data
    return byte_bounds(array)[0] - base, len(file)


def _mapped_file(array: Array) -> mmap.mmap | None:
    """The read-only mapping of a file that an array shows a part of."""
    owner = cast("object", array)
    while isinstance(owner, np.ndarray | memoryview):
        if isinstance(owner, memoryview) and not owner.readonly:
            return None
        owner = owner.obj if isinstance(owner, memoryview) else owner.base
    return owner if isinstance(owner, mmap.mmap) else None


class WeightTable(MutableMapping[str, Array]):
    """Named tensors; `file` and the `digest` of its content are where they are saved.

    A deferred tensor is made when it is first looked up, unless by `entry`. With a
    `folder` the table reads from the file there whatever it lacks, and takes no new
    tensors (`takes`): nobody writes the file again. That is so in `xdsl-opt`, which knows
    nothing of weights; our own tools load them all (`glow.frontends.sidecar`).
    """

    def __init__(
        self,
        file: str | None = None,
        digest: str | None = None,
        folder: Path | None = None,
    ) -> None:
        self.file = file
        self.digest = digest
        self.folder = folder
        self._arrays: dict[str, Array | DeferredArray] = {}

    def entry(self, name: str) -> Array | DeferredArray:
        """The tensor, which may be deferred; raises GlowError if there is none."""
        if name not in self._arrays and self.folder is not None:
            self._read(name, self.folder)
        if name not in self._arrays:
            where = (
                f"the weight file '{self.file}'" if self.file else "the weight table"
            )
            raise GlowError(f"weight '{name}' is missing from {where}")
        return self._arrays[name]

    def _read(self, name: str, folder: Path) -> None:
        """Add the tensor that the file has under a name."""
        if self.file is not None:
            from glow.dialects.weight_file import read_weight_file

            found = read_weight_file(folder / self.file, [name])
            if self.digest not in (None, found.digest):
                raise GlowError(
                    f"the weight file '{folder / self.file}' is not the one that was "
                    "written with the program"
                )
            self._arrays.update(found.arrays)

    def takes(self, size: int) -> bool:
        """Whether a constant of so many elements goes to the table, not into the text."""
        return size > MAX_SMALL_ELEMENTS and self.folder is None

    def defer(self, name: str, array: DeferredArray) -> None:
        """Add a tensor that is made when it is needed."""
        self._arrays[name] = array

    def __getitem__(self, name: str) -> Array:
        found = self.entry(name)
        if isinstance(found, DeferredArray):
            found = self._arrays[name] = found.array()
        return found

    def __setitem__(self, name: str, array: Array) -> None:
        self._arrays[name] = array

    def __delitem__(self, name: str) -> None:
        array = self._arrays.pop(name)
        if not isinstance(array, DeferredArray):
            release_pages(array)

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def clear(self) -> None:
        """Drop all tensors; the inherited method would make the deferred ones first."""
        for name in list(self):
            del self[name]

    def copy(self) -> WeightTable:
        """A table of the same arrays that can change by itself."""
        table = WeightTable(self.file, self.digest, self.folder)
        table._arrays.update(self._arrays)
        return table

    def unique_name(self, base: str) -> str:
        """`base`, or `base_1`, `base_2`, ... where it is taken."""
        return unused_name(base, self._arrays)


@irdl_attr_definition
class WeightsAttr(Data[WeightTable]):
    """The module's weight table; printed as the name and the digest of its file."""

    name = "glow.weights"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> WeightTable:
        """Parse `<>`, `<"file">` or `<"file", "digest">`."""
        with parser.in_angle_brackets():
            file, digest = parser.parse_optional_str_literal(), None
            if file is not None and parser.parse_optional_punctuation(","):
                digest = parser.parse_str_literal()
            text = Path(parser.lexer.input.name)
            folder = text.parent if file is not None and text.is_file() else None
            return WeightTable(file, digest, folder)

    def print_parameter(self, printer: Printer) -> None:
        """Print what was parsed."""
        with printer.in_angle_brackets():
            if self.data.file is not None:
                printer.print_string_literal(self.data.file)
                if self.data.digest is not None:
                    printer.print_string(", ")
                    printer.print_string_literal(self.data.digest)
