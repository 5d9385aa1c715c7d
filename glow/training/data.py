"""Data sets: arrays in memory, `.npz` files, or iterables of batches.

Arrays are shuffled by a generator of the seed and the epoch's number, so that a training that goes
on from a checkpoint sees the batches that it would have seen. A last batch that is not full
has a program of its own, unless `drop_last` leaves it out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from zipfile import BadZipFile

import numpy as np

from glow.dialects.errors import GlowError
from glow.dialects.weight_table import Array
from glow.tensor_info import TensorInfo

Batch = Sequence[Array]
"""An array for each input of the step: those of the network, then the labels."""

Data = str | os.PathLike[str] | Mapping[str, Array] | Sequence[Array] | Iterable[Batch]

LABEL_NAMES = ("labels", "y", "label", "target", "targets")
"""What files call labels."""


@dataclass(frozen=True)
class Order:
    """How arrays become batches."""

    batch_size: int
    shuffle: bool = True
    seed: int = 0
    drop_last: bool = False


class ArrayData:
    """Arrays whose first axis are samples."""

    def __init__(self, arrays: Sequence[Array], names: Sequence[str], order: Order):
        """Raises GlowError for no samples, or different numbers of them."""
        self.arrays = [np.asarray(array) for array in arrays]
        self.order = order
        for array, name in zip(self.arrays, names, strict=True):
            if not array.ndim:
                raise GlowError(f"'{name}' is a number, not an array of samples")
        counts = [len(array) for array in self.arrays]
        for name, count in zip(names, counts, strict=True):
            if count != counts[0]:
                raise GlowError(
                    f"'{names[0]}' has {counts[0]} samples, '{name}' has {count}"
                )
        self.samples = counts[0]
        if len(self) == 0:
            raise GlowError(
                f"{self.samples} samples make no batch of {order.batch_size}"
            )

    def __len__(self) -> int:
        """The batches of an epoch."""
        size = self.order.batch_size
        return (
            self.samples // size if self.order.drop_last else -(-self.samples // size)
        )

    def epoch(self, number: int, first: int = 0) -> Iterator[Batch]:
        """The batches of an epoch from the one of number `first` on."""
        order = np.arange(self.samples)
        if self.order.shuffle:
            generator = np.random.default_rng((self.order.seed, number))
            order = generator.permutation(self.samples)
        size = self.order.batch_size
        for batch in range(first, len(self)):
            chosen = order[batch * size : (batch + 1) * size]
            yield [array[chosen] for array in self.arrays]


class IterableData:
    """Batches in an order of their own; an epoch takes all of them."""

    def __init__(self, batches: Iterable[Batch]) -> None:
        self.batches = batches
        self.started = False

    def epoch(self, number: int, first: int = 0) -> Iterator[Batch]:
        """The batches of an epoch; raises GlowError where an iterator is at its end."""
        if self.started and isinstance(self.batches, Iterator):
            raise GlowError(
                "the data are an iterator, which ends after one epoch",
                hint="give a list of batches, or an object with __iter__",
            )
        self.started = True
        for index, batch in enumerate(self.batches):
            if index >= first:
                yield batch


def data_set(
    data: Data, inputs: Sequence[TensorInfo], order: Order
) -> ArrayData | IterableData:
    """The batches of data for a step with those inputs, the labels last.

    Arrays may have the batches of `glow profile` along an axis more. Raises GlowError for
    files and arrays that do not fit.
    """
    names = [info.name for info in inputs]
    given: object = data
    if isinstance(data, str | os.PathLike):
        given = read_arrays(Path(data))
    if isinstance(given, Mapping):
        known = cast("Mapping[str, Array]", given)
        chosen = [choose(known, name, name == names[-1]) for name in names]
        return ArrayData(list(map(samples_of, chosen, inputs)), names, order)
    if isinstance(given, list | tuple) and is_arrays(cast("list[object]", given)):
        arrays = cast("Sequence[Array]", given)
        if len(arrays) != len(names):
            raise GlowError(
                f"{len(arrays)} arrays are given for {', '.join(names)}, an array each"
            )
        return ArrayData(arrays, names, order)
    if not isinstance(given, Iterable):
        kind = type(given).__name__
        raise GlowError(f"data are arrays, an .npz file or batches, not {kind}")
    return IterableData(cast("Iterable[Batch]", given))


def is_arrays(values: Sequence[object]) -> bool:
    """Whether these are arrays of samples, not batches."""
    return bool(values) and all(isinstance(value, np.ndarray) for value in values)


def samples_of(array: Array, info: TensorInfo) -> Array:
    """The samples of an array along its first axis."""
    if array.ndim == len(info.shape) + 1:
        return array.reshape(-1, *array.shape[2:])
    return array


def read_arrays(path: Path) -> dict[str, Array]:
    """The arrays of an `.npz` file by name; raises GlowError where it is none."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise GlowError(f"cannot read {path}: {reason}") from None
    except (AttributeError, ValueError, EOFError, BadZipFile, TypeError):
        raise GlowError(f"{path} is not an .npz file of numbers") from None


def choose(arrays: Mapping[str, Array], name: str, is_label: bool) -> Array:
    """The array of an input, or the labels by one of their usual names."""
    for known in (name, *(LABEL_NAMES if is_label else ())):
        if known in arrays:
            return arrays[known]
    what = "the labels" if is_label else f"input '{name}'"
    expected = f" ({', '.join(LABEL_NAMES)})" if is_label else ""
    listed = ", ".join(arrays) or "none"
    raise GlowError(f"the data have no array for {what}{expected}; they have {listed}")
