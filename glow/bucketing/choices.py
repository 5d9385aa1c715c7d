"""The buckets that calls choose: the next of eight sizes an octave, for sizes that can be padded.

They are 1 to 16, 18, 20, ..., 32, 36, ..., 64, 72, ..., 128, 144, ...
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

from glow.bucketing.named_sizes import with_names
from glow.open_sizes import (
    UNNAMED,
    InputShapes,
    OpenSignature,
    OpenTensorInfo,
    filled_shapes,
    known_sizes,
)
from glow.options import CompileOptions

OCTAVE = 8
"""So many buckets are between a size and its double."""

TRIED = 3
"""After so many refusals no bucket of a size is tried any more."""

Sizes = Mapping[str, int]


def bucket_of(size: int) -> int:
    """The bucket of a size: itself, or at most an eighth more."""
    step = max(1, 1 << max(0, (size - 1).bit_length() - OCTAVE.bit_length()))
    return -(-size // step) * step


@dataclass(frozen=True)
class Choice:
    """What the model of a call is for; without buckets one is for all sizes."""

    buckets: tuple[tuple[str, int], ...]
    """The sizes that are padded, by name."""
    fixed: tuple[tuple[str, int], ...]
    """All others, but for sums of two: as that of a past and new words, they grow along."""


class Refusals:
    """The buckets that a network does not allow."""

    def __init__(self) -> None:
        self._buckets: dict[str, set[int]] = {}

    def add(self, name: str, bucket: int) -> None:
        """Note a bucket of a size."""
        self._buckets.setdefault(name, set()).add(bucket)

    def has(self, name: str, bucket: int) -> bool:
        """Whether a bucket is refused, or so many others that this one would be."""
        found = self._buckets.get(name, ())
        return bucket in found or len(found) >= TRIED


def choice_of(sizes: Sizes, refused: Refusals) -> Choice:
    """The buckets of sizes, but for those that no padding is possible for."""
    single = {name: size for name, size in sizes.items() if not _is_sum(name, sizes)}
    large = {name: bucket_of(n) for name, n in single.items() if n > 2 * OCTAVE}
    buckets = {name: n for name, n in large.items() if not refused.has(name, n)}
    if not buckets:
        return Choice((), ())
    fixed = [(name, size) for name, size in single.items() if name not in buckets]
    return Choice(tuple(buckets.items()), tuple(fixed))


def _is_sum(name: str, sizes: Sizes) -> bool:
    """Whether a size is that of two others together."""
    others = [size for other, size in sizes.items() if other != name]
    return any(one + two == sizes[name] for one, two in combinations(others, 2))


def all_named(signature: OpenSignature) -> OpenSignature:
    """The signature with a name for each open size."""

    def named(info: OpenTensorInfo) -> OpenTensorInfo:
        sizes = enumerate(info.shape or ())
        shape = tuple(
            f"{info.name}.{axis}" if size == UNNAMED else size for axis, size in sizes
        )
        return info if info.shape is None else replace(info, shape=shape)

    return replace(signature, inputs=tuple(map(named, signature.inputs)))


def chosen_shapes(signature: OpenSignature, choice: Choice) -> InputShapes:
    """The shapes of inputs with the names of what is padded, and numbers for the rest."""
    fixed = dict(choice.fixed)
    return {
        info.name: info.at(fixed).shape or ()
        for info in signature.inputs
        if info.shape is not None
    }


def chosen_options(
    options: CompileOptions, signature: OpenSignature, refused: Refusals
) -> CompileOptions:
    """The options with the buckets that their shapes choose, and those shapes."""
    signature, given = with_names(all_named(signature), options.input_shapes or {})
    shapes = filled_shapes(signature.inputs, given)
    names = [info.name for info in signature.inputs]
    filled = dict(zip(names, shapes, strict=True))
    choice = choice_of(known_sizes(signature.inputs, filled), refused)
    if not choice.buckets:
        return replace(options, buckets=None, input_shapes=filled)
    buckets = {name: [size] for name, size in choice.buckets}
    sizes = known_sizes(signature.inputs, filled)
    named = {**chosen_shapes(signature, choice), **sizes}
    return replace(options, buckets=buckets, input_shapes=named)
