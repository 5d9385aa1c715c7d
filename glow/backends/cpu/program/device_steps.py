"""The steps of a program on a device in order: kernels are launched, loops run on the host.

Numbers that decide (conditions, bounds of loops) are read from the device when all before them
is done. A step is a function of the state of a call; a table says which makes it. How a kernel is
launched, and how bytes are read, is the device's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from glow.backends.cpu.program.program import (
    Branch,
    BufferBinding,
    Guard,
    KernelCall,
    Load,
    Loaded,
    Loop,
    Step,
    While,
)


class Call(ABC):
    """What the steps of one call share: loop indices and numbers that were read."""

    def __init__(self) -> None:
        self.indices: dict[int, int] = {}
        self.loaded: dict[int, int] = {}

    def offset(self, binding: BufferBinding) -> int:
        """Where a buffer is now."""
        moved = (self.indices[loop] * size for loop, size in binding.dynamic_offset)
        return binding.offset + sum(moved)

    @abstractmethod
    def read(self, binding: BufferBinding) -> npt.NDArray[np.uint8]:
        """The bytes of a buffer, when all before is done."""

    def number(self, bound: int | Loaded) -> int:
        """A bound of a loop."""
        return bound if isinstance(bound, int) else self.loaded[bound.number]


Launch: TypeAlias = Callable[[Call], None]


def launch_all(launches: Sequence[Launch], call: Call) -> None:
    """Steps in order."""
    for launch in launches:
        launch(call)


class Launcher(ABC):
    """Makes the functions of steps."""

    def steps(self, steps: Sequence[Step]) -> Sequence[Launch]:
        """The functions of steps, in order."""
        return [LAUNCHES[type(step)](self, step) for step in steps]

    def kernel_call(self, step: Step) -> Launch:
        """A kernel."""
        assert isinstance(step, KernelCall)
        return self.kernel(step)

    @abstractmethod
    def kernel(self, step: KernelCall) -> Launch:
        """A kernel, whose offsets may move from call to call."""

    def load(self, step: Step) -> Launch:
        """A number that decides."""
        assert isinstance(step, Load)

        def launch(call: Call) -> None:
            data = call.read(step.binding).tobytes()
            call.loaded[step.number] = int.from_bytes(data, "little", signed=True)

        return launch

    def loop(self, step: Step) -> Launch:
        """A loop of the host; where bounds are data, within the axes of its buffers."""
        assert isinstance(step, Loop)
        body = self.steps(step.body)

        def launch(call: Call) -> None:
            lower, upper = call.number(step.lower), call.number(step.upper)
            if step.within is not None:
                lower, upper = max(lower, step.within[0]), min(upper, step.within[1])
            for index in range(lower, upper, step.step):
                call.indices[step.number] = index
                launch_all(body, call)

        return launch

    def branch(self, step: Step) -> Launch:
        """One of two lists of steps."""
        assert isinstance(step, Branch)
        then, otherwise = self.steps(step.then), self.steps(step.otherwise)

        def launch(call: Call) -> None:
            holds = call.loaded[step.condition.number]
            launch_all(then if holds else otherwise, call)

        return launch

    def while_loop(self, step: Step) -> Launch:
        """Steps that find a condition, and those that run while it holds."""
        assert isinstance(step, While)
        before, body = self.steps(step.before), self.steps(step.body)

        def launch(call: Call) -> None:
            launch_all(before, call)
            while call.loaded[step.condition.number]:
                launch_all(body, call)
                launch_all(before, call)

        return launch

    def guard(self, step: Step) -> Launch:
        """Steps that are left out where an error was noted."""
        assert isinstance(step, Guard)
        body = self.steps(step.body)

        def launch(call: Call) -> None:
            if not call.read(step.reports).any():
                launch_all(body, call)

        return launch


LAUNCHES = cast(
    "Mapping[type[Step], Callable[[Launcher, Step], Launch]]",
    {
        KernelCall: Launcher.kernel_call,
        Load: Launcher.load,
        Loop: Launcher.loop,
        Branch: Launcher.branch,
        While: Launcher.while_loop,
        Guard: Launcher.guard,
    },
)
