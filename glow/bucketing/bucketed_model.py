"""A network at any sizes, on programs for few: inputs are padded, and outputs are cut.

    length 17     ids [1, 17] -> [1, 32] with zeros -> program for 32 -> [1, 32, 8] -> [1, 17, 8]

Inputs that are as large as a bucket already are not copied, nor are outputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from glow.compiled_model import Array, CompiledModel, check_array
from glow.dialects.errors import GlowError
from glow.open_sizes import (
    InputShapes,
    OpenSignature,
    Padding,
    filled_shapes,
    padded_shapes,
    padded_sizes,
)
from glow.specialized_model import SpecializedModel, Specializer
from glow.tensor_info import TensorInfo

Shapes = Sequence[tuple[int, ...]]


class BucketedModel(SpecializedModel):
    """A network ready to run at any sizes up to its largest buckets."""

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
        return self._prepare(arrays, self._sizes([array.shape for array in arrays]))

    def _prepare(
        self, arrays: Sequence[Array], known: Mapping[str, int]
    ) -> tuple[CompiledModel, Sequence[Array]]:
        shapes = [array.shape for array in arrays]
        wanted = padded_shapes(self.inputs, self._padding, shapes, known)
        pairs = zip(arrays, wanted, strict=True)
        return super().prepare([padded(array, shape) for array, shape in pairs])

    @property
    def _padding(self) -> Padding:
        assert self.signature.padding is not None
        return self.signature.padding

    def _sizes(self, shapes: Shapes) -> dict[str, int]:
        return padded_sizes(self.inputs, self._padding, shapes)

    def _run(self, arrays: Sequence[Array], threads: int | None = None) -> list[Array]:
        sizes = self._sizes([array.shape for array in arrays])
        model, taken = self._prepare(arrays, sizes)
        results = model.run_in_order(taken, threads)
        return [
            cut(array, {axis: sizes[name] for axis, name in cuts})
            for array, cuts in zip(results, self._padding.cuts, strict=True)
        ]


def padded(array: Array, shape: Sequence[int]) -> Array:
    """An array with zeros behind the ends of its axes."""
    if array.shape == tuple(shape):
        return array
    result = np.zeros(shape, array.dtype)
    result[tuple(map(slice, array.shape))] = array
    return result


def cut(array: Array, sizes: Mapping[int, int]) -> Array:
    """The first elements of some axes, as an array of its own."""
    if all(array.shape[axis] == size for axis, size in sizes.items()):
        return array
    kept = [slice(sizes.get(axis)) for axis in range(array.ndim)]
    return np.ascontiguousarray(array[tuple(kept)])


def open_model(
    signature: OpenSignature, specializer: Specializer, limit: int
) -> SpecializedModel:
    """A model with open sizes, with buckets or without."""
    kind = SpecializedModel if signature.padding is None else BucketedModel
    return kind(signature, specializer, limit)
