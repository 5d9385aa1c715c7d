"""The search for how one open size may be padded.

Tried are padding behind the end that nothing sees, padding at the front, and padding behind the
end that programs mask. The last is also tried for padding of whole steps: a network that halves
its image five times takes multiples of 32 only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from math import gcd
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp

from glow.bucketing.compare_graphs import Pair, ResultAxis, check_pair, mask_graph
from glow.bucketing.graphs import Graphs, Sizes, canonical, folded
from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.weights import clone_module
from glow.padded_sizes import PaddedSize, Thinned, padding_name
from glow.passes.graph.padding.padded_value import PaddedAxis, Shrinking
from glow.passes.graph.padding.placing import PaddingError

STEPS = (1, 2, 4, 8, 16, 32, 64)
"""Elements that padding may be a multiple of."""


PARTS = (1 / 2, 3 / 4, 7 / 8)
"""How far smaller sizes that are tried are from the smallest to the largest."""


class NoBucketsError(GlowError):
    """A size that cannot be padded to its largest bucket."""

    size: str
    bucket: int


class SizedAxis(NamedTuple):
    """An axis of an output that holds a padded size."""

    output: int
    axis: int
    thinned: Thinned | None
    """How many elements of it are kept; None where as many are cut as were added."""


Axes = tuple[SizedAxis, ...]

Compare = Callable[[ModuleOp, ModuleOp], Sequence[ResultAxis]]


@dataclass(frozen=True)
class Search:
    """The search for one size."""

    graphs: Graphs
    name: str
    buckets: tuple[int, ...]
    sizes: Sizes
    """Of all others, and the largest bucket."""
    others: Sequence[str | None]
    """Sizes that may be larger by as much, most likely first; None for no other."""
    may_mask: bool = True
    """Whether programs may mask padding."""
    known: PaddedSize | None = None
    """How it is padded to other buckets, if that is known."""

    def found(self) -> tuple[PaddedSize, Axes]:
        """How it is padded, and which axes of which outputs hold it."""
        if self.known and self.known.masked_from and self.may_mask:
            with suppress(GlowError):
                return self._masked_as_known(self.known)
        refusals: list[NoBucketsError] = []
        for other in self.others:
            behind = PaddedSize(self.buckets, along=(other,) if other else ())
            errors: list[GlowError] = []
            if self._is_taken(behind):
                for padded in (behind, replace(behind, at_front=True)):
                    try:
                        return padded, self._unseen(padded)
                    except GlowError as error:
                        errors.append(error)
            try:
                return self._masked(behind)
            except GlowError as error:
                errors[:1] = errors[:1] if errors and not self.may_mask else [error]
            if len(errors) > 1 or not refusals:
                refusals.append(self._refusal(errors[0], errors[-1]))
        raise refusals[0]

    @property
    def _smallest(self) -> int:
        """The smallest size that is padded to a bucket."""
        return _pairs(self.buckets)[0][0]

    def _is_taken(self, padded: PaddedSize) -> bool:
        """Whether the model takes smaller sizes."""
        names = (self.name, *padded.along)
        return any(
            min(sizes[name] for name in names) > 0 and self.graphs.takes(sizes)
            for sizes in self._smaller(padded, _pairs(self.buckets)[-1])
        )

    def _smaller(self, padded: PaddedSize, pair: tuple[int, int]) -> list[Sizes]:
        """Sizes that are padded to the larger one of a pair, the smallest first.

        Some may be too small for the network.
        """
        low, high = pair
        sizes = dict.fromkeys((self._smallest, low, high - 1))
        return [self._at(padded, size) for size in sizes]

    def _unseen(self, padded: PaddedSize) -> Axes:
        """The axes of outputs that hold the size, if padding changes no result."""
        pairs = reversed(_pairs(self.buckets))  # The graph of the last one is there.
        return _same({self._axes_of(padded, pair) for pair in pairs})

    def _axes_of(self, padded: PaddedSize, bounds: tuple[int, int]) -> Axes:
        """The axes of outputs that hold the size, which one of a pair pads to the other."""
        tried = self._smaller(padded, bounds)
        short = next((one for one in tried if self.graphs.takes(one)), tried[-1])
        pair = Pair(short[self.name], bounds[1], at_front=padded.at_front)
        return self._compared(padded, pair, partial(check_pair, pair=pair))

    def _masked(self, behind: PaddedSize) -> tuple[PaddedSize, Axes]:
        """How it is padded, and the axes of outputs that hold it, if programs mask it."""
        errors: list[GlowError] = []
        if not self.may_mask:
            raise GlowError("a network that is quantized has no masks")
        for step in STEPS:
            padded = replace(behind, step=step)
            try:
                shorter = self._all_shorter(padded)
            except GlowError as error:
                errors[:0] = [error]
                continue
            try:
                found = self._masked_axes(padded, shorter)
            except GlowError as error:
                errors.append(error)
            else:
                smallest = self._smallest_masked(padded, shorter, found)
                masked_from = tuple(shorter.values())
                return replace(
                    padded, masked_from=masked_from, smallest=smallest
                ), found
        raise errors[-1]

    def _masked_as_known(self, known: PaddedSize) -> tuple[PaddedSize, Axes]:
        """The same for other buckets; raises GlowError where it is otherwise."""
        padded = PaddedSize(self.buckets, along=known.along, step=known.step)
        shorter = self._all_shorter(padded)
        found = self._masked_axes(padded, shorter)
        bucket = next(bucket for bucket, size in shorter.items() if size)
        smallest = known.smallest + (bucket - known.smallest) % known.step
        pair = Pair(smallest, bucket, known.step)
        if smallest > shorter[bucket] or not self._is_as_others(padded, pair, found):
            smallest = self._smallest_masked(padded, shorter, found)
        masked_from = tuple(shorter.values())
        return replace(padded, masked_from=masked_from, smallest=smallest), found

    def _all_shorter(self, padded: PaddedSize) -> dict[int, int]:
        """A size that is padded to each bucket, 0 for none; raises GlowError for no bucket."""
        bounds = _bounds(self.buckets)
        found = {
            bucket: self._shorter(padded, *one) for one in bounds for bucket in one[1:]
        }
        if not any(found.values()):
            raise GlowError("no size is padded to its buckets")
        return found

    def _shorter(self, padded: PaddedSize, lowest: int, bucket: int) -> int:
        """A size that tells what of a bucket is padding; 0 if no size is padded to it.

        It is about half of it, so that what depends on the size differs, or more where that is
        too little for the network. Raises GlowError where the model does not take it, or not the
        largest that is padded.
        """
        step, largest = padded.step, bucket - padded.step
        if largest < (lowest if step == 1 else 1):
            return 0
        first = min(2, lowest)
        first += (bucket - first) % step
        self.graphs.at(self._at(padded, largest))
        *parts, last = (
            first + int((largest - first) * part) // step * step for part in PARTS
        )
        taken = (size for size in parts if self.graphs.takes(self._at(padded, size)))
        middle = next(taken, last)
        self.graphs.at(self._at(padded, middle))
        return middle

    def _smallest_masked(
        self, padded: PaddedSize, shorter: Mapping[int, int], axes: Axes
    ) -> int:
        """The smallest size that is known to be padded as others are."""
        bucket = next(bucket for bucket, size in shorter.items() if size)
        size, step = 1, padded.step
        while size < shorter[bucket]:
            tried = size + (bucket - size) % step
            try:
                if self._is_as_others(padded, Pair(tried, bucket, step), axes):
                    return tried
            except GlowError:  # Too small for the network, or for a slice of it.
                pass
            size *= 2
        sizes = range(shorter[bucket], bucket, step)
        return next((size for size in sizes if _is_left(size, axes)), bucket)

    def _is_as_others(self, padded: PaddedSize, pair: Pair, axes: Axes) -> bool:
        """Whether a size is padded as others are, and something is left of all results."""
        return _is_left(pair.short, axes) and self._masked_at(padded, pair) == axes

    def _masked_axes(self, padded: PaddedSize, shorter: Mapping[int, int]) -> Axes:
        """The axes of outputs that hold the size, which all of some pad to a bucket."""
        step = padded.step
        pairs = [
            Pair(short + more, bucket, step)
            for bucket, short in reversed(list(shorter.items()))
            for more in range(0, step * self._residues, step)
            if short and short + more < bucket
        ]
        return _same({self._masked_at(padded, pair) for pair in pairs})

    @property
    def _residues(self) -> int:
        """How many sizes in a row must be looked at.

        Of one after the other it is seen whether halves are doubled again, which are as large as
        one would think for every second size. Parts of every third element end in three ways.
        """
        steps = [
            max(op.attributes_view().ints("steps"), default=1)
            for op in self.graphs.at(self.sizes).walk()
            if isinstance(op, glow.SliceOp)
        ]
        return max([2, *steps])

    def _masked_at(self, padded: PaddedSize, pair: Pair) -> Axes:
        def masked(short: ModuleOp, long: ModuleOp) -> Sequence[ResultAxis]:
            return mask_graph(short, clone_module(long), pair, padding_name(self.name))

        return self._compared(padded, pair, masked)

    def _compared(self, padded: PaddedSize, pair: Pair, compare: Compare) -> Axes:
        graphs = [
            self.graphs.at(self._at(padded, one)) for one in (pair.short, pair.long)
        ]
        axes = compared(graphs[0], graphs[1], compare)
        return tuple(
            SizedAxis(one.result, one.axis, self._thinned(one.axis, one.form, pair))
            for one in axes
        )

    def _thinned(self, axis: int, form: PaddedAxis, pair: Pair) -> Thinned | None:
        if form.shrinking == Shrinking(pair.step):
            return None
        multiplier, divisor, remainder = form.shrinking
        more = (form.size * divisor + remainder) * pair.step - multiplier * pair.long
        divisor *= pair.step
        common = gcd(multiplier, divisor)
        parts = (part // common for part in (multiplier, divisor, more))
        return Thinned(axis, self.name, *parts)

    def _at(self, padded: PaddedSize, size: int) -> Sizes:
        """The sizes when the padded one has another."""
        added = size - self.sizes[self.name]
        names = (self.name, *padded.along)
        return self.sizes | {one: self.sizes[one] + added for one in names}

    def _refusal(self, behind: GlowError, front: GlowError) -> NoBucketsError:
        """The error of a size that can be padded neither behind its end nor at its front."""
        message = f"'{self.name}' has no buckets: {behind.message}"
        if (front.message, front.node) != (behind.message, behind.node):
            place = f" (at node '{behind.node}')" if behind.node else ""
            message += f"{place}; at its front: {front.message}"
        hint = front.hint or "without buckets each size has a program of its own"
        error = NoBucketsError(message, node=front.node, hint=hint)
        error.size, error.bucket = self.name, self.buckets[-1]
        return error


def compared(short: ModuleOp, long: ModuleOp, compare: Compare) -> Sequence[ResultAxis]:
    """What comparing two graphs finds, if need be without what comes to nothing.

    Of such a kind are lookups of all elements in order, and tables that importing has folded for
    the smaller size.
    """
    with suppress(GlowError):
        return compare(short, long)
    short, long = canonical(short), canonical(long)
    try:
        return compare(short, long)
    except PaddingError:
        raise
    except GlowError:
        return compare(folded(short), folded(long))


def _is_left(size: int, axes: Axes) -> bool:
    """Whether something is left of all results for a size."""
    return all(one.thinned is None or one.thinned.size(size) > 0 for one in axes)


def _same(found: set[Axes]) -> Axes:
    """What was found for all buckets; raises GlowError where they differ."""
    if len(found) > 1:
        raise GlowError("results depend on it in another way for each size")
    return found.pop()


def _bounds(buckets: Sequence[int]) -> list[tuple[int, int]]:
    """The smallest size of each bucket: not 1, which broadcasts, but where it is the only one."""
    lows = [(low + 1, high) for low, high in pairwise((0, *buckets))]
    return [(max(low, min(2, high - 1)), high) for low, high in lows]


def _pairs(buckets: Sequence[int]) -> list[tuple[int, int]]:
    """For each bucket the smallest size that is padded to it, but 1, which broadcasts."""
    pairs = [(max(2, low + 1), high) for low, high in pairwise((0, *buckets))]
    found = [(low, high) for low, high in pairs if low < high]
    last = max(2, buckets[-1])
    return found or [(last, last + 1)]
