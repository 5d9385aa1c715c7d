"""A network at any sizes, on programs for few: inputs are padded, and outputs are cut.

    length 17     ids [1, 17] -> [1, 32] with zeros -> program for 32 -> [1, 32, 8] -> [1, 17, 8]
    past 17       keys [17, 8] -> [32, 8], zeros first -> program for 32 -> [33, 8] -> [18, 8]

Inputs that are as large as a bucket already are not copied. Outputs are views of what the program
has written, so they are not contiguous where something was cut.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from glow.compiled_model import Array, CompiledModel, check_array
from glow.dialects.errors import GlowError
from glow.open_sizes import (
    InputShapes,
    Margins,
    OpenSignature,
    Padding,
    filled_shapes,
    margins_of,
    padded_shapes,
    padded_sizes,
)
from glow.specialized_model import SpecializedModel, Specializer
from glow.tensor_info import TensorInfo

Shapes = Sequence[tuple[int, ...]]


class Padded(NamedTuple):
    """An array with zeros around it."""

    array: Array
    margins: Sequence[Margins]
    """How many, for each axis; none around an array that is somebody else's."""


Spare = Sequence[Padded | None]
"""The padded inputs of a call that has ended, whose memory the next one may take."""


class BucketedModel(SpecializedModel):
    """A network ready to run at any sizes up to its largest buckets."""

    def __init__(
        self, signature: OpenSignature, specializer: Specializer, limit: int
    ) -> None:
        """`limit` is how many specializations are kept: the last that were called."""
        super().__init__(signature, specializer, limit)
        self._spare: deque[Spare] = deque()

    def __call__(self, *arrays: Array, **named: Array) -> Array | tuple[Array, ...]:
        """The output, or the outputs as a tuple; raises GlowError as other models do."""
        results = self._run(self._arrange(arrays, named))
        return results[0] if len(results) == 1 else tuple(results)

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs by name for inputs by name."""
        names = [info.name for info in self.outputs]
        return dict(zip(names, self._run(self._arrange((), inputs)), strict=True))

    def run_in_order(
        self, inputs: Sequence[Array], threads: int | None = None
    ) -> list[Array]:
        """The outputs in order for inputs in order."""
        return self._run(self._arrange(inputs, {}), threads)

    def run_into(
        self,
        inputs: Sequence[Array] | Mapping[str, Array],
        outputs: Sequence[Array] | Mapping[str, Array],
        threads: int | None = None,
    ) -> None:
        """Writes the outputs into arrays of their shapes, by way of padded ones."""
        if isinstance(inputs, Mapping):
            given = self._arrange((), inputs)
        else:
            given = self._arrange(inputs, {})
        results = self._run(given, threads)
        if isinstance(outputs, Mapping):
            outputs = [outputs[info.name] for info in self.outputs]
        for info, result, array in zip(self.outputs, results, outputs, strict=True):
            wanted = TensorInfo(info.name, result.shape, info.dtype)
            check_array("output", wanted, array)[...] = result

    def warm(self, shapes: Iterable[InputShapes]) -> None:
        """Compile the programs of the buckets that calls of these shapes need."""
        wanted = [
            self.program_shapes(filled_shapes(self.inputs, one)) for one in shapes
        ]
        super().warm([dict(zip(self._names, one, strict=True)) for one in wanted])

    def is_ready(self, shapes: Shapes) -> bool:
        """Whether a call needs no compiler; nor does one that only gets an error."""
        try:
            return super().is_ready(shapes)
        except GlowError:
            return True

    def program_shapes(self, shapes: Shapes) -> Shapes:
        """The shapes that inputs are padded to."""
        return padded_shapes(self.inputs, self._padding, shapes)

    def prepare(self, arrays: Sequence[Array]) -> tuple[CompiledModel, Sequence[Array]]:
        """The program of a call, and its inputs, padded."""
        added = self._added(arrays)
        return super().prepare([one.array for one in self._padded(arrays, added, ())])

    @property
    def _padding(self) -> Padding:
        assert self.signature.padding is not None
        return self.signature.padding

    def _sizes(self, shapes: Shapes) -> dict[str, int]:
        return padded_sizes(self.inputs, self._padding, shapes)

    def _added(self, arrays: Sequence[Array]) -> dict[str, Margins]:
        """What is added to the sizes of a call."""
        return self._padding.margins(self._sizes([array.shape for array in arrays]))

    def _padded(
        self,
        arrays: Sequence[Array],
        added: Mapping[str, Margins],
        spare: Spare,
    ) -> list[Padded]:
        """The inputs of a program, in memory of earlier ones where that fits."""
        before = spare or [None] * len(arrays)
        return [
            padded(array, margins_of(info, added), one)
            for array, info, one in zip(arrays, self.inputs, before, strict=True)
        ]

    def _take_spare(self) -> Spare:
        """What calls have left that have ended, of which several may ask at once."""
        try:
            return self._spare.pop()
        except IndexError:
            return ()

    def _run(self, arrays: Sequence[Array], threads: int | None = None) -> list[Array]:
        added = self._added(arrays)
        taken = self._padded(arrays, added, self._take_spare())
        model, inputs = super().prepare([one.array for one in taken])
        results = model.run_in_order(inputs, threads)
        self._spare.append([one if one.margins else None for one in taken])
        return [
            cut(array, [(axis, added[name]) for axis, name in cuts])
            for array, cuts in zip(results, self._padding.cuts, strict=True)
        ]


def padded(array: Array, margins: Sequence[Margins], before: Padded | None) -> Padded:
    """An array with zeros around it, in the memory of an earlier one where that fits.

    Zeros of the earlier one are those of this one where it has no more of them.
    """
    if not any(map(any, margins)):
        return Padded(array, ())
    pairs = list(zip(array.shape, margins, strict=True))
    shape = tuple(size + sum(added) for size, added in pairs)
    if before is None or not _fits(before, margins, shape, array.dtype):
        before = Padded(np.zeros(shape, array.dtype), ())
    inside = [slice(added.front, added.front + size) for size, added in pairs]
    before.array[tuple(inside)] = array
    return Padded(before.array, margins)


def _fits(
    padded: Padded,
    margins: Sequence[Margins],
    shape: tuple[int, ...],
    dtype: np.dtype[np.generic],
) -> bool:
    """Whether memory has zeros wherever they are needed."""
    if (padded.array.shape, padded.array.dtype) != (shape, dtype):
        return False
    pairs = zip(padded.margins, margins, strict=False)
    return bool(padded.margins) and all(
        now.front <= then.front and now.back <= then.back for then, now in pairs
    )


def cut(array: Array, margins: Sequence[tuple[int, Margins]]) -> Array:
    """A view of an array without what padding has added to some axes."""
    kept = [slice(None)] * array.ndim
    for axis, (front, back) in margins:
        first, last, _ = kept[axis].indices(array.shape[axis])
        kept[axis] = slice(first + front, last - back)
    return array[tuple(kept)]


def open_model(
    signature: OpenSignature, specializer: Specializer, limit: int
) -> SpecializedModel:
    """A model with open sizes, with buckets or without."""
    kind = SpecializedModel if signature.padding is None else BucketedModel
    return kind(signature, specializer, limit)
