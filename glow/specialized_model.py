"""A network whose shapes are known at a call: programs for the sizes that calls have.

`glow.compile` returns one for a model with open sizes, or with inputs whose values decide
shapes (`axes`, `k`). The first call with new sizes compiles; later ones find the program.

A specialization is a list of programs, usually one: where a shape is computed from data,
what computes it is a program of its own, and the rest is compiled for what that told. The
values between programs have names, as inputs have.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Protocol, cast

import numpy as np

from glow.compiled_model import Array, CompiledModel, arranged
from glow.dialects.errors import GlowError
from glow.open_sizes import (
    InputShapes,
    KnownSizes,
    OpenSignature,
    OpenTensorInfo,
    filled_shapes,
)
from glow.runtime.threads.cores import available_cores
from glow.specialization.evaluated_rests import EvaluatedRests, Evaluator

TOLD_PROGRAMS = 8
"""So many programs for calls of other sizes are worth a warning, since each takes a while."""

Answers = tuple[Mapping[str, Array], ...]
"""The values by name that each program before has asked for, in order."""

Shapes = Sequence[tuple[int, ...]]
"""Those of the inputs of a call."""

Key = tuple[object, ...]
"""The shapes of all inputs, and what tells the answers apart."""


@dataclass(frozen=True)
class Program:
    """One program of a specialization, and what must be known to compile the next."""

    model: CompiledModel | None
    """None where inputs, or results of an earlier program, are asked for."""
    asks: tuple[str, ...] = ()
    """The names of the values on which the next program depends; none for the last."""

    @cached_property
    def takes(self) -> tuple[str, ...]:
        """The names of the values that the program reads, in order."""
        return tuple(info.name for info in self.model.inputs) if self.model else ()

    def run(self, values: dict[str, Array]) -> None:
        """Add the program's results to the values by name, among which are its inputs."""
        if self.model is not None:
            results = self.model(*[values[name] for name in self.takes])
            names = [info.name for info in self.model.outputs]
            values.update(zip(names, _as_tuple(results), strict=True))


class Specializer(Evaluator, Protocol):
    """Who compiles the programs of a model."""

    signature: OpenSignature | None
    """The model's, once it is known how calls are padded."""

    def make(self, shapes: Mapping[str, tuple[int, ...]], answers: Answers) -> Program:
        """The program behind those that have asked for the answers; raises GlowError."""
        ...


class SpecializedModel:
    """A network ready to run at any sizes; several Python threads may call it at once.

    It is called as a `CompiledModel` is. Who calls it first with new sizes waits for the
    compiler, and so do others with the same sizes, but nobody else.
    """

    def __init__(
        self,
        signature: OpenSignature,
        specializer: Specializer,
        limit: int,
    ) -> None:
        """`limit` is how many specializations are kept: the last that were called."""
        self.signature = signature
        self.specializer = specializer
        self.limit = limit
        self._names = tuple(info.name for info in signature.inputs)
        self._rests = EvaluatedRests(specializer)
        self._kept: list[OrderedDict[Key, Program]] = [OrderedDict()]
        """The programs by the number of answers that they need."""
        self._pending: dict[Key, Future[Program | None]] = {}
        self._is_told = False
        """Whether somebody has been told that there are many programs."""
        self._lock = Lock()

    def __repr__(self) -> str:
        takes = ", ".join(
            f"{info}, by value" if info.is_specialized_on else str(info)
            for info in self.inputs
        )
        gives = ", ".join(map(str, self.outputs))
        count = sum(not one.asks for kept in self._kept for one in list(kept.values()))
        kept = f"{count} of {self.limit} specializations"
        return f"<glow.SpecializedModel ({takes}) -> ({gives}), {kept}>"

    def __copy__(self) -> SpecializedModel:
        """The model itself, which only learns."""
        return self

    def __deepcopy__(self, memo: object) -> SpecializedModel:
        """The same."""
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """How `pickle` stores the model: with its source and its programs."""
        programs = [
            (depth, key, program)
            for depth, kept in enumerate(self._kept)
            for key, program in list(kept.items())
            if program.model is None or program.model.can_be_stored
        ]
        return _restore, (
            type(self),
            self.signature,
            self.specializer,
            self.limit,
            programs,
        )

    @property
    def inputs(self) -> tuple[OpenTensorInfo, ...]:
        """The inputs in order: open sizes are names, as in `("N", 3)`."""
        return self.signature.inputs

    @property
    def outputs(self) -> tuple[OpenTensorInfo, ...]:
        """The outputs in order, as the model declares them."""
        return self.signature.outputs

    def __call__(self, *arrays: Array, **named: Array) -> Array | tuple[Array, ...]:
        """The output, or the outputs as a tuple.

        Raises GlowError for a missing or unknown input, a wrong dtype, and sizes that
        contradict each other or the model.
        """
        given = self._arrange(arrays, named)
        model, taken = self.prepare(given)
        return model(*taken)

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs by name for inputs by name; names may hold any character."""
        model, taken = self.prepare(self._arrange((), inputs))
        names = [info.name for info in self.outputs]
        return dict(zip(names, _as_tuple(model(*taken)), strict=True))

    def run_in_order(
        self, inputs: Sequence[Array], threads: int | None = None
    ) -> list[Array]:
        """The outputs in order for inputs in order, as `CompiledModel.run_in_order`."""
        model, taken = self.prepare(self._arrange(inputs, {}))
        return model.run_in_order(taken, threads)

    def is_ready(self, shapes: Sequence[tuple[int, ...]]) -> bool:
        """Whether a call with inputs of these shapes needs no compiler, as far as is known."""
        return self._find(0, tuple(self.program_shapes(shapes))) is not None

    def program_shapes(
        self, shapes: Sequence[tuple[int, ...]]
    ) -> Sequence[tuple[int, ...]]:
        """The shapes that the first program for inputs of some shapes is compiled for."""
        return shapes

    def forget(self, shapes: Sequence[tuple[int, ...]]) -> None:
        """Let go of the first program for inputs of these shapes."""
        with self._lock:
            self._kept[0].pop(tuple(self.program_shapes(shapes)), None)

    def programs(self) -> list[CompiledModel]:
        """The programs that are kept."""
        return [
            program.model
            for kept in self._kept
            for program in list(kept.values())
            if program.model is not None
        ]

    def run_into(
        self,
        inputs: Sequence[Array] | Mapping[str, Array],
        outputs: Sequence[Array] | Mapping[str, Array],
        threads: int | None = None,
    ) -> None:
        """Writes the outputs into arrays of their shapes, as `CompiledModel.run_into`."""
        if isinstance(inputs, Mapping):
            given = self._arrange((), inputs)
        else:
            given = self._arrange(inputs, {})
        model, taken = self.prepare(given)
        model.run_into(taken, outputs, threads)

    def warm(self, shapes: Iterable[InputShapes]) -> None:
        """Compile for sizes that calls will have, side by side.

        Each of `shapes` is what `input_shapes` of `glow.compile` is: shapes of inputs by name,
        or open sizes by theirs. Where values decide shapes as well, what depends on them is
        compiled at the calls. Raises GlowError for sizes that are missing or contradict the
        model, before anything is compiled.
        """
        wanted = [filled_shapes(self.inputs, one) for one in shapes]

        def compile_one(key: Sequence[tuple[int, ...]]) -> None:
            if self._find(0, tuple(key)) is None:
                pairs = zip(key, self.inputs, strict=True)
                arrays = [np.broadcast_to(np.zeros((), i.dtype), s) for s, i in pairs]
                self._checked(tuple(key), arrays)

        with ThreadPoolExecutor(available_cores(), "glow-warm") as pool:
            for done in [pool.submit(compile_one, key) for key in wanted]:
                done.result()

    def _arrange(
        self, arrays: Sequence[Array], named: Mapping[str, Array]
    ) -> Sequence[Array]:
        """The inputs in order."""
        if not named and len(arrays) == len(self._names):
            return [
                one if type(one) is np.ndarray else np.asarray(one) for one in arrays
            ]
        given = arranged(self._names, arrays, named)
        return [np.asarray(given[name]) for name in self._names]

    def prepare(
        self, arrays: Sequence[Array], **more: Array
    ) -> tuple[CompiledModel, Sequence[Array]]:
        """The last program of a call and its inputs, when those before have run.

        `more` are values that it may take beside the model's inputs.
        """
        key: Key = tuple([array.shape for array in arrays])
        program = self._find(0, key) or self._checked(key, arrays)
        if not program.asks and program.model and program.takes == self._names:
            return program.model, arrays
        values = dict(zip(self._names, arrays, strict=True))
        shapes = {name: array.shape for name, array in values.items()}
        values |= more
        answers: Answers = ()
        while program.asks:
            program.run(values)
            asked = {name: values[name] for name in program.asks}
            answers = (*answers, asked)
            key = (*key, *[(a.shape, a.dtype, a.tobytes()) for a in asked.values()])
            following = self._find(len(answers), key)
            if following is None and program.model is not None:
                if rest := self._rests.find(key, shapes, answers, values):
                    return rest, ()
            program = following or self._program(key, shapes, answers)
        assert program.model is not None
        return program.model, [values[name] for name in program.takes]

    def _checked(self, key: Key, arrays: Sequence[Array]) -> Program:
        """The first program for shapes that are new."""
        known = KnownSizes()
        self._check_dtypes(dict(zip(self._names, arrays, strict=True)))
        for info, array in zip(self.inputs, arrays, strict=True):
            what = f"input '{info.name}'"
            if info.shape is not None:
                known.bind(what, info.shape, array.shape)
        shapes = {name: a.shape for name, a in zip(self._names, arrays, strict=True)}
        return self._program(key, shapes, ())

    def _check_dtypes(self, arrays: Mapping[str, Array]) -> None:
        for info in self.inputs:
            array = arrays.get(info.name)
            if array is not None and array.dtype != info.dtype:
                raise GlowError(
                    f"input '{info.name}' must have dtype {info.dtype}, not {array.dtype}"
                )

    def _program(
        self, key: Key, shapes: Mapping[str, tuple[int, ...]], answers: Answers
    ) -> Program:
        """The program for shapes and answers, compiled by whoever asks for it first."""
        self._check_dtypes(answers[-1] if answers else {})
        while True:
            with self._lock:
                program = self._find(len(answers), key)
                waiting = self._pending.get(key)
                mine: Future[Program | None] = Future()
                if program is None and waiting is None:
                    self._pending[key] = mine
            if program is None and waiting is None:
                return self._make(mine, key, shapes, answers)
            found = program or (waiting and waiting.result())
            if found:
                return found

    def _make(
        self,
        future: Future[Program | None],
        key: Key,
        shapes: Mapping[str, tuple[int, ...]],
        answers: Answers,
    ) -> Program:
        """Compile a program, for oneself and for all who wait for the same."""
        try:
            program = self.specializer.make(shapes, answers)
        except BaseException as error:
            with self._lock:
                del self._pending[key]
            if isinstance(error, Exception):
                future.set_exception(error)
            else:  # Whoever else waits was not interrupted, and tries again.
                future.set_result(None)
            raise
        with self._lock:
            self.keep(len(answers), key, program)
            self._note_inputs(program.asks)
            del self._pending[key]
            are_many = not answers and len(self._kept[0]) >= TOLD_PROGRAMS
            tells = are_many and not self._is_told
            self._is_told |= are_many
            calls = cast("Sequence[Shapes]", list(self._kept[0]))
        future.set_result(program)
        if tells:
            from glow.specialization.many_programs import tell_of_buckets

            tell_of_buckets(self.signature, calls)
        return program

    def keep(self, depth: int, key: Key, program: Program) -> None:
        """Keep a program that needs so many answers, and let go of the oldest."""
        while len(self._kept) <= depth:
            self._kept.append(OrderedDict())
        kept = self._kept[depth]
        kept[key] = program
        while len(kept) > self.limit:
            kept.popitem(last=False)

    def _find(self, depth: int, key: Key) -> Program | None:
        """A program that is kept, which becomes the last to be let go."""
        try:
            kept = self._kept[depth]
            kept.move_to_end(key)
            return kept[key]
        except (IndexError, KeyError):
            return None

    def _note_inputs(self, asked: Iterable[str]) -> None:
        """Note the inputs for whose values programs are compiled."""
        inputs = tuple(
            replace(info, is_specialized_on=True) if info.name in asked else info
            for info in self.inputs
        )
        if inputs != self.inputs:
            self.signature = replace(self.signature, inputs=inputs)


def _as_tuple(results: Array | tuple[Array, ...]) -> tuple[Array, ...]:
    """The results of a call, which gives a single one as it is."""
    return results if isinstance(results, tuple) else (results,)


def _restore(
    kind: type[SpecializedModel],
    signature: OpenSignature,
    specializer: Specializer,
    limit: int,
    programs: Sequence[tuple[int, Key, Program]],
) -> SpecializedModel:
    """A model that was pickled."""
    model = kind(signature, specializer, limit)
    for depth, key, program in programs:
        model.keep(depth, key, program)
    return model


RunnableModel = CompiledModel | SpecializedModel
"""What `glow.compile` returns."""
