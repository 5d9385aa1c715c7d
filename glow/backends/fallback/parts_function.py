"""Runs a network in parts of several backends, one part after the other.

    x ──> [part0 npu] ──> a ──> [part1 cpu] ──> b ──> [part2 npu] ──> y
                 └─────────────── c ───────────────────┘

All is decided when it is made: which numbered value a part takes and gives, and where a value must
leave a device. Parts of one device hand over its buffers (`c`); those that run on the host's
memory hand over arrays, whose memory serves later calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from glow.backends.device import Buffer, DeviceFunction
from glow.compiled_model import NO_VARIABLES, Array, CompiledModel, output_error
from glow.runtime.array_pool import ArrayPool

if TYPE_CHECKING:
    from glow.runtime.caches.network_part import NetworkPart
    from glow.tensor_info import TensorInfo

KEPT_ARRAYS = 16
"""How many of one shape and type are kept between calls."""

Value = Array | Buffer
Values = list[Value | None]


class Step(Protocol):
    """A piece of work on the numbered values of a call."""

    def run(self, values: Values) -> None:
        """Read some values and write others."""
        ...


@dataclass(frozen=True)
class HostStep:
    """A part on the host's memory."""

    model: CompiledModel
    takes: Sequence[int]
    gives: Sequence[int]
    memory: Sequence[tuple[bool, TensorInfo]]
    """Of each result: whether the caller gets it, and what it is."""
    pool: ArrayPool

    def run(self, values: Values) -> None:
        """Run the part."""
        inputs = [cast(Array, values[number]) for number in self.takes]
        memory = [
            np.empty(info.shape, info.dtype)
            if is_result
            else self.pool.take(info.shape, info.dtype)
            for is_result, info in self.memory
        ]
        results = self.model.run_in_order(inputs, memory=memory)
        for number, result in zip(self.gives, results, strict=True):
            values[number] = result


@dataclass(frozen=True)
class DeviceStep:
    """A part on a device with memory of its own."""

    model: CompiledModel
    takes: Sequence[int]
    gives: Sequence[int]

    def run(self, values: Values) -> None:
        """Run the part; raises GlowError for buffers that are not what it says."""
        function = cast(DeviceFunction, self.model.function)
        results = function.run_buffers([cast(Value, values[n]) for n in self.takes])
        wrong = output_error(self.model.backend, self.model.outputs, results)
        if wrong is not None:
            raise wrong
        for number, result in zip(self.gives, results, strict=True):
            values[number] = result


@dataclass(frozen=True)
class ReadStep:
    """A value leaves its device."""

    source: int
    target: int

    def run(self, values: Values) -> None:
        """Wait for the value, and copy it."""
        values[self.target] = cast(Buffer, values[self.source]).read()


@dataclass(frozen=True)
class ForgetStep:
    """Values that nobody reads any more."""

    numbers: Sequence[int]

    def run(self, values: Values) -> None:
        """Let go of them."""
        for number in self.numbers:
            values[number] = None


def device_of(model: CompiledModel) -> str | None:
    """The device whose buffers a model's function takes and gives; None for arrays."""
    function = model.function
    if not hasattr(function, "run_buffers"):
        return None
    return cast(DeviceFunction, function).device


class Wiring:
    """Makes the steps: gives each value a number, and a second one outside of its device."""

    def __init__(self, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        self.steps: list[Step] = []
        self.numbers: dict[tuple[str, str | None], int] = {}
        """The number of a value on a device; on the host for None."""
        self.places: dict[str, str | None] = {}
        """The device that has a value."""
        self.results = frozenset(outputs)
        self.pool = ArrayPool(KEPT_ARRAYS)
        for name in inputs:
            self.give(name, None)

    def give(self, name: str, device: str | None) -> int:
        """The number of a value that is there from now on."""
        self.places[name] = device
        return self.numbers.setdefault((name, device), len(self.numbers))

    def take(self, name: str, device: str | None) -> int:
        """The number of a value where a device, or the host, reads it."""
        place = self.places[name]
        if place is None or place == device:
            return self.numbers[name, place]
        if (name, None) not in self.numbers:
            number = self.numbers.setdefault((name, None), len(self.numbers))
            self.steps.append(ReadStep(self.numbers[name, place], number))
        return self.numbers[name, None]

    def add(
        self, takes: Sequence[str], gives: Sequence[str], model: CompiledModel
    ) -> None:
        """Add the step of a part, behind those that bring it its values."""
        device = device_of(model)
        taken = [self.take(name, device) for name in takes]
        given = [self.give(name, device) for name in gives]
        if device is not None:
            self.steps.append(DeviceStep(model, taken, given))
            return
        memory = [
            (name in self.results, info)
            for name, info in zip(gives, model.outputs, strict=True)
        ]
        self.steps.append(HostStep(model, taken, given, memory, self.pool))

    def with_forgetting(self, kept: Sequence[int]) -> list[Step]:
        """The steps, each followed by the end of the values that it is the last to read."""
        last: dict[int, int] = {}
        for place, step in enumerate(self.steps):
            last |= dict.fromkeys(_read_by(step), place)
        for number in kept:
            last.pop(number, None)
        ended: dict[int, list[int]] = {}
        for number, place in last.items():
            ended.setdefault(place, []).append(number)
        steps: list[Step] = []
        for place, step in enumerate(self.steps):
            steps += [step, ForgetStep(ended[place])] if place in ended else [step]
        return steps


def _read_by(step: Step) -> Sequence[int]:
    if isinstance(step, HostStep | DeviceStep):
        return step.takes
    return (step.source,) if isinstance(step, ReadStep) else ()


class PartsFunction:
    """A network in parts; several threads may call it at once."""

    def __init__(
        self,
        inputs: Sequence[str],
        outputs: Sequence[str],
        parts: Sequence[tuple[NetworkPart, CompiledModel]],
    ) -> None:
        """The network's inputs and outputs by name, and its parts, each behind those that it
        takes values from.
        """
        self.parts = parts
        self._names = inputs, outputs
        wiring = Wiring(inputs, outputs)
        for part, model in parts:
            wiring.add(part.takes, part.gives, model)
        self._outputs = [wiring.take(name, None) for name in outputs]
        self._steps = wiring.with_forgetting(self._outputs)
        self._free = [None] * (len(wiring.numbers) - len(inputs))
        variables: dict[str, Array] = {}
        for _, model in parts:
            variables |= model.variables
        self.variables: Mapping[str, Array] = variables or NO_VARIABLES

    @property
    def details(self) -> str:
        """The parts, for people."""
        return ", ".join(f"{part.name} on {part.device}" for part, _ in self.parts)

    def copy(self) -> PartsFunction:
        """The same parts with variables of their own, which have the values of these."""
        from copy import deepcopy

        copies = [(part, deepcopy(model)) for part, model in self.parts]
        return PartsFunction(*self._names, copies)

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs for inputs of the right shapes and dtypes."""
        values: Values = [*inputs, *self._free]
        for step in self._steps:
            step.run(values)
        return [cast(Array, values[number]) for number in self._outputs]
