"""How open sizes are padded, and what is cut off results then."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from glow.dialects.errors import GlowError

Cut = tuple[tuple[int, str], ...]
"""The axes of an output that hold a padded size, and its name."""


class Margins(NamedTuple):
    """How many elements padding adds to an axis."""

    front: int = 0
    back: int = 0

    def __add__(self, other: object) -> Margins:
        """Those of both."""
        assert isinstance(other, Margins)
        return Margins(self.front + other.front, self.back + other.back)


@dataclass(frozen=True)
class PaddedSize:
    """An open size that calls are padded at."""

    buckets: tuple[int, ...]
    """The sizes that programs are compiled for, rising."""
    at_front: bool = False
    """Whether zeros are added before the first element, not behind the last."""
    along: tuple[str, ...] = ()
    """Other open sizes that are larger by as much, as that of a past and a word together is."""
    step: int = 1
    """Padding adds a multiple of so many elements."""
    masked_from: tuple[int, ...] = ()
    """For each bucket a smaller size whose graph tells what of the program is padding, where
    the program masks that; 0 for a bucket that nothing is padded to."""
    smallest: int = 0
    """Smaller sizes are not padded: the model has other nodes for them, or takes none."""

    def bucket(self, name: str, size: int) -> int:
        """The bucket of a size; itself, where it is padded to none.

        Raises GlowError for a size beyond all of them.
        """
        larger = self.buckets[bisect_left(self.buckets, size) :]
        for bucket in larger if size >= self.smallest else ():
            is_multiple = (bucket - size) % self.step == 0
            if is_multiple and (not self.masked_from or self.masked_size(bucket)):
                return bucket
        if larger:
            return size
        raise GlowError(
            f"{name} = {size} is beyond the largest bucket, {self.buckets[-1]}",
            hint=f"buckets={{'{name}': [..., {size}]}}",
        )

    def margins(self, name: str, size: int) -> Margins:
        """What is added to a size; raises GlowError for one beyond all buckets."""
        added = self.bucket(name, size) - size
        return Margins(added, 0) if self.at_front else Margins(0, added)

    def masked_size(self, bucket: int) -> int:
        """The size whose graph tells what is padding in that of a bucket; 0 without masks."""
        if bucket not in self.buckets or not self.masked_from:
            return 0
        return self.masked_from[self.buckets.index(bucket)]


class Thinned(NamedTuple):
    """An axis of an output that holds (size * multiplier + more) // divisor elements."""

    axis: int
    name: str
    """Of the padded size."""
    multiplier: int
    divisor: int
    more: int

    def size(self, padded: int) -> int:
        """The elements of the axis for a size."""
        return (padded * self.multiplier + self.more) // self.divisor


@dataclass(frozen=True)
class Padding:
    """How calls are padded, so that few programs serve all of them."""

    sizes: Mapping[str, PaddedSize]
    """By the name of an open size."""
    cuts: tuple[Cut, ...]
    """What is cut off, for each output: as much as was added to the inputs."""
    thinned: tuple[tuple[Thinned, ...], ...] = ()
    """What else is cut off, for each output that has such axes."""

    @property
    def names(self) -> set[str]:
        """The open sizes that are padded, or grow along with one that is."""
        return {name for one, size in self.sizes.items() for name in (one, *size.along)}

    def margins(self, known: Mapping[str, int]) -> dict[str, Margins]:
        """What is added to each open size that is padded, by its name, for sizes of a call."""
        found: dict[str, Margins] = {}
        for name, size in known.items():
            padded = self.sizes[name]
            added = padded.margins(name, size)
            for each in (name, *padded.along):
                found[each] = found.get(each, Margins()) + added
        return found


class Shorter(NamedTuple):
    """The inputs with less of one size, as a graph tells what of a larger one is padding."""

    shapes: Mapping[str, tuple[int, ...]]
    """By the name of an input."""
    size: int
    """Of the one that is smaller."""
    bucket: int
    """What it is in the larger graph."""
    step: int


ShorterShapes = Mapping[str, Shorter]
"""By the names of sizes."""


def padding_name(size: str) -> str:
    """The name of the input that tells how much of a size is padding, in steps."""
    return f"{size}.padding"
