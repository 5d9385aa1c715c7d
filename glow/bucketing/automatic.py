"""A network at any sizes, for which it chooses buckets (`choices.py`).

Each combination of buckets is a model of its own, made when a call first wants it. Small sizes, and
those that padding would change results of, have programs of their own, as without buckets.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from glow.bucketing.choices import Choice, Refusals, all_named, choice_of, chosen_shapes
from glow.bucketing.named_sizes import with_names
from glow.bucketing.search import NoBucketsError
from glow.compiled_model import Array, CompiledModel
from glow.dialects.errors import GlowError
from glow.open_sizes import (
    Buckets,
    InputShapes,
    OpenSignature,
    call_sizes,
    filled_shapes,
    known_sizes,
)
from glow.options import CompileOptions
from glow.padded_sizes import PaddedSize
from glow.specialized_model import RunnableModel, Shapes, SpecializedModel, Specializer

if TYPE_CHECKING:
    from glow.specialization.model_source import ModelSource, OnnxModel

KEPT_MODELS = 64
"""So many combinations of buckets are kept at least."""


Known = Mapping[str, PaddedSize]
"""How sizes are padded, by their names."""

Maker = Callable[[Buckets, InputShapes, Known], RunnableModel]
"""Makes a model with some buckets, whose other sizes shapes fix; raises GlowError."""

Compile = Callable[["OnnxModel", CompileOptions], RunnableModel]


class OfModel(Specializer, Protocol):
    """Who compiles the programs of a model, with what it compiles."""

    source: ModelSource
    options: CompileOptions


def automatic_model(
    signature: OpenSignature, specializer: OfModel, compile: Compile
) -> SpecializedModel:
    """A model with open sizes that chooses its buckets."""
    options = specializer.options
    specializer.options = replace(options, buckets=None, input_shapes=None)
    make = partial(made, compile, specializer.source.model, options)
    limit, shapes = options.specializations, options.input_shapes
    return AutomaticBuckets(signature, specializer, limit, make, shapes)


def made(
    compile: Compile,
    model: OnnxModel,
    options: CompileOptions,
    buckets: Buckets,
    shapes: InputShapes,
    known: Known,
) -> RunnableModel:
    """The model with some buckets, whose other sizes shapes fix."""
    given = {"buckets": buckets, "input_shapes": shapes, "known_padding": known}
    return compile(model, replace(options, **given))


class AutomaticBuckets(SpecializedModel):
    """A network ready to run at any sizes, for which it chooses buckets."""

    def __init__(
        self,
        signature: OpenSignature,
        specializer: Specializer,
        limit: int,
        make: Maker,
        shapes: InputShapes | None = None,
    ) -> None:
        """`shapes` fix some sizes, and may name others."""
        signature, given = with_names(all_named(signature), shapes or {})
        fixed = known_sizes(signature.inputs, given)
        inputs = tuple(info.at(fixed) for info in signature.inputs)
        super().__init__(replace(signature, inputs=inputs), specializer, limit)
        self.make = make
        self._refused = Refusals()
        self._padding: dict[str, PaddedSize] = {}
        """How each size was padded last, which is how it will be."""
        self._models: OrderedDict[Choice, SpecializedModel] = OrderedDict()
        self._looking, self._making = Lock(), Lock()
        """For what is there, and for who makes more, which takes a while."""

    def __reduce__(self) -> tuple[object, ...]:
        """How `pickle` stores the model: its programs are made anew, or are in the cache."""
        arguments = self.signature, self.specializer, self.limit, self.make
        return type(self), arguments

    def __repr__(self) -> str:
        takes, gives = (
            ", ".join(map(str, each)) for each in (self.inputs, self.outputs)
        )
        return f"<glow.SpecializedModel ({takes}) -> ({gives}), {len(self.programs())} programs>"

    def __call__(self, *arrays: Array, **named: Array) -> Array | tuple[Array, ...]:
        """The output, or the outputs as a tuple; raises GlowError as other models do."""
        given = self._arrange(arrays, named)
        return self._model_of([one.shape for one in given])(*given)

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs by name for inputs by name."""
        given = self._arrange((), inputs)
        return self._model_of([one.shape for one in given]).run(inputs)

    def run_in_order(
        self, inputs: Sequence[Array], threads: int | None = None
    ) -> list[Array]:
        """The outputs in order for inputs in order."""
        given = self._arrange(inputs, {})
        model = self._model_of([one.shape for one in given])
        return model.run_in_order(given, threads)

    def run_into(
        self,
        inputs: Sequence[Array] | Mapping[str, Array],
        outputs: Sequence[Array] | Mapping[str, Array],
        threads: int | None = None,
    ) -> None:
        """Writes the outputs into arrays of their shapes."""
        is_named = isinstance(inputs, Mapping)
        given = self._arrange((), inputs) if is_named else self._arrange(inputs, {})
        model = self._model_of([one.shape for one in given])
        model.run_into(given, outputs, threads)

    def prepare(
        self, arrays: Sequence[Array], **more: Array
    ) -> tuple[CompiledModel, Sequence[Array]]:
        """The program of a call, and its inputs, padded."""
        return self._model_of([one.shape for one in arrays]).prepare(arrays, **more)

    def warm(self, shapes: Iterable[InputShapes]) -> None:
        """Compile the programs of the buckets that calls of these shapes need."""
        for one in shapes:
            filled = filled_shapes(self.inputs, one)
            pairs = zip(self._names, filled, strict=True)
            self._model_of(filled).warm([dict(pairs)])

    def is_ready(self, shapes: Shapes) -> bool:
        """Whether a call needs no compiler; nor does one that only gets an error."""
        try:
            model = self._models.get(choice_of(self._sizes(shapes), self._refused))
        except GlowError:
            return True
        return model is not None and model.is_ready(shapes)

    def program_shapes(self, shapes: Shapes) -> Shapes:
        """The shapes that inputs are padded to."""
        return self._model_of(shapes).program_shapes(shapes)

    def forget(self, shapes: Shapes) -> None:
        """Let go of the program for inputs of these shapes."""
        self._model_of(shapes).forget(shapes)

    def programs(self) -> list[CompiledModel]:
        """The programs that are kept."""
        return [
            one for model in list(self._models.values()) for one in model.programs()
        ]

    def _sizes(self, shapes: Shapes) -> dict[str, int]:
        """The open sizes of a call by name; GlowError where inputs contradict each other."""
        names = dict.fromkeys(name for info in self.inputs for name in info.open_sizes)
        return call_sizes(self.inputs, tuple(names), shapes)

    def _model_of(self, shapes: Shapes) -> SpecializedModel:
        """The model that runs a call of some shapes, made by whoever asks first."""
        sizes = self._sizes(shapes)
        while True:
            choice = choice_of(sizes, self._refused)
            if model := self._known(choice):
                return model
            with self._making:
                if self._known(choice) is None:
                    self._add(choice)

    def _known(self, choice: Choice) -> SpecializedModel | None:
        """A model that is there, which becomes the last to be let go."""
        with self._looking:
            if choice in self._models:
                self._models.move_to_end(choice)
            return self._models.get(choice)

    def _add(self, choice: Choice) -> None:
        """Make a model, or note a size that has no buckets."""
        buckets = {name: [size] for name, size in choice.buckets}
        shapes, model = chosen_shapes(self.signature, choice), None
        try:
            model = self.make(buckets, shapes, self._padding) if buckets else None
        except NoBucketsError as error:
            self._refused.add(error.size, error.bucket)
            return
        except GlowError:  # Of a network that cannot be padded at all, or of the call.
            for name, bucket in choice.buckets:
                self._refused.add(name, bucket)
            return
        if not isinstance(model, SpecializedModel):
            model = SpecializedModel(self.signature, self.specializer, self.limit)
        if (padding := model.signature.padding) is not None:
            self._padding |= padding.sizes
        with self._looking:
            self._models[choice] = model
            while len(self._models) > max(self.limit, KEPT_MODELS):
                self._models.popitem(last=False)
