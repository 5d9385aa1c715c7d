"""What is known of the inputs of a model before a call: shapes with sizes that are open.

Sizes of one name are one size, whichever input tells it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from glow.dialects.errors import GlowError
from glow.padded_sizes import Margins, Padding, Shorter

UNNAMED = "?"
"""Stands for an open size without a name."""

InputShapes = Mapping[str, Sequence[int | str] | int]
"""Shapes by the name of an input, sizes by their own; a size may get a name for its buckets."""


InputValues = Mapping[str, ArrayLike]
"""Values that inputs are fixed to, by name."""


Buckets = Mapping[str, Sequence[int]]
"""The sizes that calls are padded to, by the name of an open size."""


class ImportOptions(TypedDict, total=False):
    """What a user fixes of the inputs, as keyword arguments."""

    input_shapes: InputShapes | None
    input_values: InputValues | None


class InputOptions(ImportOptions, total=False):
    """What a user tells of the inputs, as keyword arguments."""

    buckets: Buckets | str | None


def check_no_buckets(buckets: Buckets | str | None) -> None:
    """Raise GlowError for buckets of a model without open sizes, unless it chooses them."""
    for name in () if buckets == "auto" else buckets or ():
        raise GlowError(f"no open size is named '{name}': the model has none")


@dataclass(frozen=True)
class OpenTensorInfo:
    """Name, declared shape and dtype of an input or output whose sizes may be open."""

    name: str
    shape: tuple[int | str, ...] | None
    """Open sizes by name, `?` for one without; None where not even the rank is known."""
    dtype: np.dtype[np.generic]
    is_specialized_on: bool = False
    """Whether programs are compiled for the values of this input, not for its shape only."""

    @property
    def open_sizes(self) -> tuple[str, ...]:
        """The open sizes in order."""
        return tuple(size for size in self.shape or () if isinstance(size, str))

    @property
    def is_open(self) -> bool:
        """Whether the shape is not known."""
        return self.shape is None or bool(self.open_sizes)

    def at(self, sizes: Mapping[str, int]) -> OpenTensorInfo:
        """The same with some of the open sizes known."""
        if self.shape is None:
            return self
        found = (sizes.get(s, s) if isinstance(s, str) else s for s in self.shape)
        return replace(self, shape=tuple(found))

    def __str__(self) -> str:
        sizes = "..." if self.shape is None else ", ".join(map(str, self.shape))
        return f"{self.name}: {self.dtype}[{sizes}]"


@dataclass(frozen=True)
class OpenSignature:
    """The inputs and outputs of a model that waits for sizes or values, in order."""

    inputs: tuple[OpenTensorInfo, ...]
    outputs: tuple[OpenTensorInfo, ...]
    padding: Padding | None = None
    """Where calls are padded to buckets."""


class OpenModelError(GlowError):
    """A model that cannot become one program yet; the message names what is open."""

    def __init__(
        self,
        message: str,
        signature: OpenSignature,
        *,
        node: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, node=node, hint=hint)
        self.signature = signature


class KnownSizes:
    """The sizes that are known by name, each with the input or option that told it."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, str]] = {}

    def add(self, name: str, size: int, source: str) -> None:
        """Note a size; GlowError where another source has told another one.

        A source is `input 'x'`, or an option for the size itself.
        """
        known, first = self._known.setdefault(name, (size, source))
        if known != size:
            raise GlowError(
                f"{source} has {name} = {size}, but {first} has {name} = {known}"
            )

    def bind(
        self, what: str, declared: Sequence[int | str], shape: Sequence[int]
    ) -> None:
        """Note the open sizes of an input that has a shape; GlowError if that differs."""
        if len(declared) != len(shape):
            raise GlowError(
                f"{what} is declared as {sizes_text(declared)}, with "
                f"{len(declared)} axes, not as {list(shape)}"
            )
        for wanted, size in zip(declared, shape, strict=True):
            if isinstance(wanted, str):
                if wanted != UNNAMED:
                    self.add(wanted, size, what)
            elif wanted != size:
                raise GlowError(
                    f"{what} is declared as {sizes_text(declared)}, with {wanted} where "
                    f"{size} of {list(shape)} is given"
                )

    def fill(self, sizes: Sequence[int | str]) -> tuple[int | str, ...]:
        """A shape with what is known of it."""
        return tuple(
            self._known[size][0] if size in self._known else size for size in sizes
        )


def filled_shapes(
    infos: Sequence[OpenTensorInfo], shapes: InputShapes
) -> list[tuple[int, ...]]:
    """The shapes of all inputs, of which `shapes` tells what is open.

    Raises GlowError for sizes that are missing or wrong, and for unknown names.
    """
    known = _known(infos, shapes)
    return [_filled(info, shapes.get(info.name), known) for info in infos]


def _known(infos: Sequence[OpenTensorInfo], shapes: InputShapes) -> KnownSizes:
    by_name = {info.name: info for info in infos}
    known = KnownSizes()
    for name, given in shapes.items():
        info = by_name.get(name)
        if info is not None and info.shape is not None:
            known.bind(f"input '{name}'", info.shape, _as_shape(given))
        elif info is None and not isinstance(given, int):
            there = ", ".join([*by_name, *_open_names(infos)])
            raise GlowError(f"no input or size is named '{name}'", hint=there)
        elif info is None and isinstance(given, int):
            known.add(name, given, "the shapes")
    return known


def known_sizes(infos: Sequence[OpenTensorInfo], shapes: InputShapes) -> dict[str, int]:
    """The open sizes that shapes tell, by name; raises GlowError where they are wrong."""
    names = _open_names(infos)
    return {
        name: size
        for name, size in zip(names, _known(infos, shapes).fill(names), strict=True)
        if isinstance(size, int)
    }


def _as_shape(given: Sequence[int | str] | int) -> tuple[int, ...]:
    """A shape of numbers; raises GlowError for one with names."""
    shape = (given,) if isinstance(given, int) else tuple(given)
    numbers = tuple(size for size in shape if not isinstance(size, str))
    if len(numbers) < len(shape):
        raise GlowError(
            f"the shape {sizes_text(shape)} has names", hint="they are for buckets"
        )
    return numbers


def _open_names(infos: Sequence[OpenTensorInfo]) -> list[str]:
    return list(dict.fromkeys(n for i in infos for n in i.open_sizes if n != UNNAMED))


def _filled(
    info: OpenTensorInfo, given: Sequence[int | str] | int | None, known: KnownSizes
) -> tuple[int, ...]:
    if given is not None:
        return _as_shape(given)
    sizes = known.fill(info.shape or ())
    missing = [size for size in sizes if isinstance(size, str)]
    if missing or info.shape is None:
        what = f"size {missing[0]}" if missing else "shape"
        raise GlowError(f"the {what} of input '{info.name}' is not given")
    return tuple(size for size in sizes if isinstance(size, int))


def sizes_text(sizes: Sequence[int | str]) -> str:
    """`Nx3`, as the command line spells shapes."""
    return "x".join(map(str, sizes)) or "scalar"


def open_sizes_line(infos: Iterable[OpenTensorInfo]) -> tuple[str, str]:
    """The message about the first input with open sizes, and how to give them."""
    info = next(info for info in infos if info.is_open)
    what = f"input '{info.name}'"
    if info.shape is None:
        return f"the model does not tell the shape of {what}", "pass input_shapes"
    sizes = list(dict.fromkeys(info.open_sizes))
    option = f"{info.name}={sizes_text([4 if s in sizes else s for s in info.shape])}"
    if sizes[0] != UNNAMED:
        option = f"{sizes[0]}=4"
    message = f"{what} has open sizes ({', '.join(sizes)})"
    return message, f"pass input_shapes, or for example --shape {option}"


def padded_sizes(
    infos: Sequence[OpenTensorInfo],
    padding: Padding,
    shapes: Sequence[tuple[int, ...]],
) -> dict[str, int]:
    """The sizes of a call that have buckets; GlowError where inputs contradict each other."""
    return call_sizes(infos, tuple(padding.sizes), shapes)


def call_sizes(
    infos: Sequence[OpenTensorInfo],
    names: Sequence[str],
    shapes: Sequence[tuple[int, ...]],
) -> dict[str, int]:
    """Some sizes of a call by name; GlowError where inputs contradict each other."""
    known = KnownSizes()
    for info, shape in zip(infos, shapes, strict=True):
        if info.shape is not None:
            known.bind(f"input '{info.name}'", info.shape, shape)
    pairs = zip(names, known.fill(names), strict=True)
    return {name: size for name, size in pairs if isinstance(size, int)}


def padded_shapes(
    infos: Sequence[OpenTensorInfo],
    padding: Padding,
    shapes: Sequence[tuple[int, ...]],
) -> list[tuple[int, ...]]:
    """The shapes that inputs are padded to."""
    added = padding.margins(padded_sizes(infos, padding, shapes))
    none = Margins()
    return [
        tuple(
            size + sum(added.get(str(name), none))
            for name, size in zip(info.shape or (), shape, strict=True)
        )
        for info, shape in zip(infos, shapes, strict=True)
    ]


def shorter_shapes(
    infos: Sequence[OpenTensorInfo],
    padding: Padding,
    shapes: Sequence[tuple[int, ...]],
) -> dict[str, Shorter]:
    """What the program for some shapes, which are those of buckets, masks padding by."""
    found: dict[str, Shorter] = {}
    for name, bucket in padded_sizes(infos, padding, shapes).items():
        padded = padding.sizes[name]
        if size := padded.masked_size(bucket):
            names = name, *padded.along
            less = _reduced(infos, shapes, names, bucket - size)
            found[name] = Shorter(less, size, bucket, padded.step)
    return found


def _reduced(
    infos: Sequence[OpenTensorInfo],
    shapes: Sequence[tuple[int, ...]],
    names: Sequence[str],
    by: int,
) -> dict[str, tuple[int, ...]]:
    """The shapes of inputs, by their names, with less of some sizes."""
    return {
        info.name: tuple(
            size - by * (declared in names)
            for declared, size in zip(info.shape or (), shape, strict=True)
        )
        for info, shape in zip(infos, shapes, strict=True)
    }
