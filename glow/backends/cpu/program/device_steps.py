"""The steps of a program on a device in order: kernels are launched, loops run on the host.

Numbers that decide (conditions, bounds of loops) are read from the device when all before them
is done. A step is data, as `step_table.py` writes it; a table says which function of the state of a
call it becomes. How a kernel is launched, and how bytes are read, is the device's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Entry: TypeAlias = Sequence[Any]
"""A step: its kind, and what the method of that kind takes."""

Bound: TypeAlias = int | Sequence[int]
"""A number, or by itself in a list that of the load that reads it."""


class Place(NamedTuple):
    """`size` bytes of a space from `offset` on.

    `moves` are pairs of a loop's number and the bytes that its index counts for.
    """

    space: str
    offset: int
    size: int
    moves: Sequence[Sequence[int]] = ()


class KernelStep(NamedTuple):
    """A kernel on its buffers, for a node as people know it."""

    kernel: str
    node: str
    places: Sequence[Place]


class Call(ABC):
    """What the steps of one call share: loop indices and numbers that were read."""

    def __init__(self) -> None:
        self.indices: dict[int, int] = {}
        self.loaded: dict[int, int] = {}

    def offset(self, place: Place) -> int:
        """Where a buffer is now."""
        moved = (self.indices[loop] * size for loop, size in place.moves)
        return place.offset + sum(moved)

    @abstractmethod
    def read(self, place: Place) -> npt.NDArray[np.uint8]:
        """The bytes of a buffer, when all before is done."""

    def number(self, bound: Bound) -> int:
        """A bound of a loop."""
        return bound if isinstance(bound, int) else self.loaded[bound[0]]


Launch: TypeAlias = Callable[[Call], None]


def launch_all(launches: Sequence[Launch], call: Call) -> None:
    """Steps in order."""
    for launch in launches:
        launch(call)


class Launcher(ABC):
    """Makes the functions of steps."""

    def steps(self, entries: Sequence[Entry]) -> Sequence[Launch]:
        """The functions of steps, in order."""
        return [LAUNCHES[kind](self, *fields) for kind, *fields in entries]

    def call(self, kernel: str, node: str, places: Sequence[Entry]) -> Launch:
        """A kernel."""
        return self.kernel(KernelStep(kernel, node, [Place(*each) for each in places]))

    @abstractmethod
    def kernel(self, step: KernelStep) -> Launch:
        """A kernel, whose offsets may move from call to call."""

    def load(self, number: int, place: Entry) -> Launch:
        """A number that decides."""
        source = Place(*place)

        def launch(call: Call) -> None:
            data = call.read(source).tobytes()
            call.loaded[number] = int.from_bytes(data, "little", signed=True)

        return launch

    def loop(
        self,
        number: int,
        first: Bound,
        end: Bound,
        step: int,
        within: Sequence[int] | None,
        entries: Sequence[Entry],
    ) -> Launch:
        """A loop of the host; where bounds are data, within the axes of its buffers."""
        body = self.steps(entries)

        def launch(call: Call) -> None:
            lower, upper = call.number(first), call.number(end)
            if within is not None:
                lower, upper = max(lower, within[0]), min(upper, within[1])
            for index in range(lower, upper, step):
                call.indices[number] = index
                launch_all(body, call)

        return launch

    def branch(
        self, condition: int, then: Sequence[Entry], otherwise: Sequence[Entry]
    ) -> Launch:
        """One of two lists of steps."""
        chosen = self.steps(otherwise), self.steps(then)

        def launch(call: Call) -> None:
            launch_all(chosen[bool(call.loaded[condition])], call)

        return launch

    def while_loop(
        self, condition: int, head: Sequence[Entry], entries: Sequence[Entry]
    ) -> Launch:
        """Steps that find a condition, and those that run while it holds."""
        before, body = self.steps(head), self.steps(entries)

        def launch(call: Call) -> None:
            launch_all(before, call)
            while call.loaded[condition]:
                launch_all(body, call)
                launch_all(before, call)

        return launch

    def guard(self, reports: Entry, entries: Sequence[Entry]) -> Launch:
        """Steps that are left out where an error was noted."""
        noted, body = Place(*reports), self.steps(entries)

        def launch(call: Call) -> None:
            if not call.read(noted).any():
                launch_all(body, call)

        return launch


CALL = "call"
LAUNCHES: Mapping[str, Callable[..., Launch]] = {
    CALL: Launcher.call,
    "load": Launcher.load,
    "for": Launcher.loop,
    "if": Launcher.branch,
    "while": Launcher.while_loop,
    "guard": Launcher.guard,
}


def is_straight(entries: Sequence[Entry]) -> bool:
    """Whether steps are kernels alone, at places that do not move."""
    return all(
        kind == CALL and not any(Place(*place).moves for place in fields[-1])
        for kind, *fields in entries
    )
