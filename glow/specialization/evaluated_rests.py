"""When what stands behind a value that a call has computed is evaluated, and not compiled.

A detector finds another number of boxes in each image. A program for each would be compiled
for longer than it ever runs, so the nodes behind such a value are computed one by one, unless
they have products of two values, recurrences or random numbers. What calls have in common is
compiled all the same: the rest for the value that comes first, and each other one for which
evaluations have taken as long as a compiler would, as long as few such values follow each other.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from glow.compiled_model import Array, CompiledModel
from glow.tensor_info import Signature, TensorInfo

if TYPE_CHECKING:
    from glow.specialized_model import Answers

COMPILER_SECONDS = 1.0
"""What compiling a rest and the programs behind it takes, roughly."""

FEW_VALUES = 3
"""With more values in a row nothing is compiled but what the first call wants, for as many."""

KEPT = 256
"""The values of which it is known how long they have been evaluated for."""


class Evaluator(Protocol):
    """Who evaluates the rests of a model."""

    def evaluate(
        self,
        shapes: Mapping[str, tuple[int, ...]],
        answers: Answers,
        values: Mapping[str, Array],
    ) -> Mapping[str, Array] | None:
        """The outputs by name for the values of a call; None if they want a compiler."""
        ...


class EvaluatedRests:
    """The rests of a model for values for which there is no program."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self._seconds: OrderedDict[object, float] = OrderedDict()
        """The time of all evaluations with values."""
        self._seen: set[int] = set()
        """The numbers of answers behind which there has been a rest."""
        self._compiled: set[int] = set()
        """Those behind which rests want a compiler."""

    def find(
        self,
        key: object,
        shapes: Mapping[str, tuple[int, ...]],
        answers: Answers,
        values: Mapping[str, Array],
    ) -> CompiledModel | None:
        """The outputs as a model without inputs; None where a program is to be compiled."""
        if self._is_compiled(key, len(answers)):
            return None
        begin = perf_counter()
        results = self.evaluator.evaluate(shapes, answers, values)
        if results is None:
            self._compiled.add(len(answers))
            return None
        self._note(key, perf_counter() - begin)
        return _model_of(results)

    def _is_compiled(self, key: object, depth: int) -> bool:
        """Whether the rest behind so many answers is compiled, as far as is known."""
        is_first = depth not in self._seen
        self._seen.add(depth)
        if max(self._seen) > FEW_VALUES:
            return depth in self._compiled
        spent = self._seconds.get(key, 0.0)
        return is_first or depth in self._compiled or spent > COMPILER_SECONDS

    def _note(self, key: object, seconds: float) -> None:
        self._seconds[key] = self._seconds.get(key, 0.0) + seconds
        while len(self._seconds) > KEPT:
            self._seconds.popitem(last=False)


def _model_of(results: Mapping[str, Array]) -> CompiledModel:
    infos = [TensorInfo(name, one.shape, one.dtype) for name, one in results.items()]
    return CompiledModel(Signature((), tuple(infos)), _Known([*results.values()]))


class _Known:
    """A function that gives arrays that are there."""

    def __init__(self, results: list[Array]) -> None:
        self.results = results

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The arrays; there are no inputs."""
        return self.results
