"""Memory of results that grow from call to call, so that nothing of a past is copied.

A result is the past that a call was given, behind zeros, and new rows. The next call is given it
as its past: all that is needed is in memory but for its own rows, one row further.

    past 2 of 4     [ 0 0 a b | c ]
    past 3 of 4       [ 0 a b c | d ]            begins one row behind the last result

The new row of a head stands where the zeros of the next one began, of which there is one fewer. So
the results of a loop share memory, and nobody may write them; earlier ones stay what they are. A
past that is not the last result is copied.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from math import prod
from threading import Lock
from typing import NamedTuple

import numpy as np

from glow.bucketing.padded_arrays import Around, padded, padded_shape, write_padded
from glow.compiled_model import Array, FillingFunction
from glow.runtime.array_pool import ArrayPool

KEPT = 3
"""Memory for the results of so many loops is kept."""

MANY = 1000
"""More pieces of memory than that are looked through for those that are gone."""


class Given(NamedTuple):
    """An input of a call, and the zeros that belong around it."""

    array: Array
    margins: Around

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape with zeros."""
        return padded_shape(self.array.shape, self.margins)

    @property
    def contiguous(self) -> Array:
        """The array with zeros."""
        return np.require(padded(self.array, self.margins), None, ["C", "A"])


class Taken(NamedTuple):
    """An array for a result."""

    array: Array
    is_there: bool
    """Whether the past is in it already."""


class _Form(NamedTuple):
    """What results and their past are."""

    shape: tuple[int, ...]
    """Of a result."""
    dtype: np.dtype[np.generic]
    axis: int
    """That of the rows."""

    @property
    def row_bytes(self) -> int:
        """The bytes from a row to the next one."""
        return prod(self.shape[self.axis + 1 :]) * self.dtype.itemsize

    def is_of(self, past: Array) -> bool:
        """Whether a past is a part of such a result, all of its other axes."""
        sizes = list(self.shape)
        sizes[self.axis] = past.shape[self.axis]
        return tuple(sizes) == past.shape

    def in_memory(self, memory: Array, offset: int) -> Array:
        """A result in some memory."""
        return np.ndarray(self.shape, self.dtype, memory, offset)


class _Last(NamedTuple):
    """The last result in some memory."""

    memory: weakref.ref[Array]
    form: _Form
    offset: int
    """Where in the memory it begins, in bytes."""
    zeros: int
    """How many rows of zeros it begins with."""


UNREAD: Array = np.zeros(1, np.uint8)
"""Stands for an input that code does not read."""


class GrowingResults:
    """The memory of results that a past is part of; all methods are thread-safe."""

    def __init__(self, results: int) -> None:
        """`results` is how many of them a call has."""
        self._pool = ArrayPool(KEPT * results)
        self._last: dict[int, _Last] = {}
        self._lock = Lock()

    def run(
        self, function: FillingFunction, given: Sequence[Given], threads: int | None
    ) -> list[Array]:
        """The outputs of code for which inputs are padded where they are wanted: in outputs."""
        results = self._filled(function, given)
        unread = {filled.input for filled in function.filled}
        inputs = [
            UNREAD if number in unread else one.contiguous
            for number, one in enumerate(given)
        ]
        outputs = [
            results[number] if number in results else function.new_result(number)
            for number in range(len(function.output_shapes))
        ]
        function.run_filled(inputs, outputs, threads)
        for result in results.values():
            result.flags.writeable = False
        return outputs

    def _filled(
        self, function: FillingFunction, given: Sequence[Given]
    ) -> dict[int, Array]:
        """The outputs that inputs are written into, with these."""
        results: dict[int, Array] = {}
        for filled in function.filled:
            one, number, taken = given[filled.input], filled.output, None
            if number not in results:
                if not any(filled.offsets):
                    taken = self.take(one, function.output_shapes[number])
                results[number] = taken.array if taken else function.new_result(number)
            if taken is None or not taken.is_there:
                write_padded(filled.part(one.shape, results), *one)
        return results

    def take(self, past: Given, shape: tuple[int, ...]) -> Taken | None:
        """The memory of a result of a shape; None where not the front of one axis is padded."""
        if len(past.margins) != 1:
            return None
        axis, (zeros, behind) = past.margins[0]
        form = _Form(shape, past.array.dtype, axis)
        if behind or not form.is_of(past.array):
            return None
        with self._lock:
            found = self._behind(past.array, form, zeros)
            memory, offset = found or self._new(form)
            self._forget_dead()
            last = _Last(weakref.ref(memory), form, offset, zeros)
            self._last[id(memory)] = last
        return Taken(form.in_memory(memory, offset), found is not None)

    def _new(self, form: _Form) -> tuple[Array, int]:
        """Memory with room for as many more rows as there are zeros at most."""
        size = prod(form.shape) * form.dtype.itemsize
        room = form.shape[form.axis] * form.row_bytes
        taken = self._pool.take((size + room,), np.dtype(np.uint8))
        memory = taken.base
        assert isinstance(memory, np.ndarray)
        return memory, _address(taken) - _address(memory)

    def _behind(self, past: Array, form: _Form, zeros: int) -> tuple[Array, int] | None:
        """The place behind the last result, if a past is all of that."""
        memory = past.base
        last = self._last.get(id(memory))
        if last is None or last.memory() is not memory or last.form != form:
            return None
        assert isinstance(memory, np.ndarray)
        grown = form.shape[form.axis] - past.shape[form.axis] - zeros
        if last.zeros - grown != zeros:
            return None
        whole = form.in_memory(memory, last.offset)
        rows = (slice(None),) * form.axis
        kept = whole[(*rows, slice(last.zeros, None))]
        is_last = (kept.shape, kept.strides) == (past.shape, past.strides)
        if not is_last or _address(kept) != _address(past):
            return None
        return memory, last.offset + grown * form.row_bytes

    def _forget_dead(self) -> None:
        """Forget memory that nobody has any more."""
        if len(self._last) > MANY:
            lasts = self._last.items()
            self._last = {key: one for key, one in lasts if one.memory() is not None}


def _address(array: Array) -> int:
    return array.__array_interface__["data"][0]
