"""A network at any sizes, on programs for few: inputs are padded, and outputs are cut.

    length 17     ids [1, 17] -> [1, 32] with zeros -> program for 32 -> [1, 32, 8] -> [1, 17, 8]
    past 17       keys [17, 8] -> [32, 8], zeros first -> program for 32 -> [33, 8] -> [18, 8]

Inputs that are as large as a bucket already are not copied. A past goes nowhere but into an
output, where it is padded, if it is not there from the last call (`growing_results.py`). Outputs
are views of what the program has written, so they are not contiguous where something was cut.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from math import prod

import numpy as np

from glow.bucketing.growing_results import Given, GrowingResults
from glow.bucketing.padded_arrays import (
    Around,
    cut,
    padded,
    padded_shape,
)
from glow.compiled_model import Array, CompiledModel, FillingFunction, check_array
from glow.dialects.errors import GlowError
from glow.open_sizes import (
    InputShapes,
    OpenSignature,
    filled_shapes,
    padded_shapes,
    padded_sizes,
)
from glow.padded_sizes import Margins, Padding, Thinned, padding_name
from glow.runtime.array_pool import ArrayPool
from glow.specialized_model import (
    SpecializedModel,
    Specializer,
)
from glow.tensor_info import TensorInfo

Shapes = Sequence[tuple[int, ...]]


KEPT = 2
"""Memory for the padded inputs of so many calls at once is kept."""


class BucketedModel(SpecializedModel):
    """A network ready to run at any sizes up to its largest buckets."""

    def __init__(
        self, signature: OpenSignature, specializer: Specializer, limit: int
    ) -> None:
        """`limit` is how many specializations are kept: the last that were called.

        All of those for buckets are.
        """
        assert signature.padding is not None
        count = prod(len(size.buckets) for size in signature.padding.sizes.values())
        super().__init__(signature, specializer, max(limit, count))
        names = self._padding.names
        self._axes = [
            [
                (axis, size)
                for axis, size in enumerate(info.shape or ())
                if size in names
            ]
            for info in signature.inputs
        ]
        """The axes of each input that are padded, and their sizes by name."""
        self._growing = GrowingResults(len(signature.outputs))
        self._padded_inputs = ArrayPool(KEPT * len(signature.inputs))

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

    def prepare(
        self, arrays: Sequence[Array], **more: Array
    ) -> tuple[CompiledModel, Sequence[Array]]:
        """The program of a call, and its inputs, padded."""
        return self._prepare(arrays, self._added(arrays), **more)

    def _prepare(
        self, arrays: Sequence[Array], added: Mapping[str, Margins], **more: Array
    ) -> tuple[CompiledModel, Sequence[Array]]:
        pairs = zip(arrays, self._margins(added), strict=True)
        take = self._padded_inputs.take
        inputs = [padded(*pair, take) for pair in pairs]
        return super().prepare(inputs, **more, **self._steps(added))

    def _steps(self, added: Mapping[str, Margins]) -> dict[str, Array]:
        """What programs that mask padding take: how much there is."""
        return {
            padding_name(name): np.array([added[name].back // size.step])
            for name, size in self._padding.sizes.items()
            if size.masked_from
        }

    @property
    def _padding(self) -> Padding:
        assert self.signature.padding is not None
        return self.signature.padding

    def _sizes(self, shapes: Shapes) -> dict[str, int]:
        return padded_sizes(self.inputs, self._padding, shapes)

    def _added(self, arrays: Sequence[Array]) -> dict[str, Margins]:
        """What is added to the sizes of a call."""
        return self._padding.margins(self._sizes([array.shape for array in arrays]))

    def _margins(self, added: Mapping[str, Margins]) -> list[Around]:
        """What is added around each input, of what is added to sizes."""
        return [[(axis, added[name]) for axis, name in axes] for axes in self._axes]

    def _run(self, arrays: Sequence[Array], threads: int | None = None) -> list[Array]:
        added = self._added(arrays)
        margins = self._margins(added)
        filling = self._filling(arrays, margins)
        if filling is None:
            with self._telling_of(arrays, added):
                model, inputs = self._prepare(arrays, added)
                results = model.run_in_order(inputs, threads)
        else:
            self._check_dtypes(dict(zip(self._names, arrays, strict=True)))
            given = list(map(Given, arrays, margins))
            results = self._growing.run(filling, given, threads)
        found = [
            cut(array, [(axis, added[name]) for axis, name in cuts])
            for array, cuts in zip(results, self._padding.cuts, strict=True)
        ]
        return (
            self._without_rest(found, arrays, added) if self._padding.thinned else found
        )

    def _without_rest(
        self,
        results: Sequence[Array],
        inputs: Sequence[Array],
        added: Mapping[str, Margins],
    ) -> list[Array]:
        """Views of results without what is cut off them by less than was added."""
        known = self._sizes([array.shape for array in inputs])
        sizes = {name: size for name, size in known.items() if any(added[name])}
        pairs = zip(results, self._padding.thinned, strict=True)
        return [self._thinned(array, thinned, sizes) for array, thinned in pairs]

    @staticmethod
    def _thinned(
        array: Array, axes: Sequence[Thinned], sizes: Mapping[str, int]
    ) -> Array:
        """A view of an array without what its axes have beyond what a call has."""
        kept = [slice(None)] * array.ndim
        for one in axes:
            if one.name not in sizes:
                continue
            size = sizes[one.name]
            if one.size(size) < (one.divisor > 1):
                raise GlowError(f"{one.name} = {size} is too small for the model")
            kept[one.axis] = slice(one.size(size))
        return array[tuple(kept)]

    @contextmanager
    def _telling_of(
        self, arrays: Sequence[Array], added: Mapping[str, Margins]
    ) -> Generator[None, None, None]:
        """Lets errors, which may name padded shapes, say what is padded."""
        try:
            yield
        except GlowError as error:
            known = self._sizes([array.shape for array in arrays])
            sizes = [
                f"{name} = {n} to {n + sum(added[name])}" for name, n in known.items()
            ]
            error.hint = error.hint or f"inputs are padded: {', '.join(sizes)}"
            raise

    def _filling(
        self, arrays: Sequence[Array], margins: Sequence[Around]
    ) -> FillingFunction | None:
        """The code of a program that is known, if inputs are written into outputs for it."""
        pairs = zip(arrays, margins, strict=True)
        shapes = tuple(padded_shape(array.shape, around) for array, around in pairs)
        program = self._find(0, shapes)
        if program is None or program.asks or program.takes != self._names:
            return None
        return program.model.filling if program.model else None


def open_model(
    signature: OpenSignature, specializer: Specializer, limit: int
) -> SpecializedModel:
    """A model with open sizes, with buckets or without."""
    specializer.signature = signature
    kind = SpecializedModel if signature.padding is None else BucketedModel
    return kind(signature, specializer, limit)
