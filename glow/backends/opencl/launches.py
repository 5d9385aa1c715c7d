"""The steps of a program on a command queue: kernels are put into it, loops run on the host.

Numbers that decide (conditions, bounds of loops) are read from the device when all before them
is done. A step is a function of the state of a call; a table says which makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias, cast

import numpy as np
import pyopencl as cl

from glow.backends.cpu.program.program import (
    Branch,
    BufferBinding,
    Guard,
    KernelCall,
    Load,
    Loaded,
    Loop,
    MemorySpace,
    Step,
    While,
)
from glow.dialects.errors import GlowError

Spaces: TypeAlias = Mapping[MemorySpace, cl.Buffer]

ONE_PART = (1,)
"""The parts of a group. A kernel has few, each of which is much work: drivers that choose put all
of them into one group, which is one core."""


class Entry(NamedTuple):
    """A kernel on a device."""

    program: cl.Program
    name: str
    work_items: int
    parts: int
    """Into which the items are cut, each of which runs on a core of its own."""


class Call:
    """What the steps of one call share: loop indices and numbers that were read."""

    def __init__(self, queue: cl.CommandQueue, spaces: Spaces) -> None:
        self.queue = queue
        self.spaces = spaces
        self.indices: dict[int, int] = {}
        self.loaded: dict[int, int] = {}

    def offset(self, binding: BufferBinding) -> int:
        """Where a buffer is now."""
        moved = (self.indices[loop] * size for loop, size in binding.dynamic_offset)
        return binding.offset + sum(moved)

    def read(
        self, binding: BufferBinding
    ) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        """The bytes of a buffer, when all before is done."""
        found = np.empty(binding.size, np.uint8)
        place = self.offset(binding)
        cl.enqueue_copy(
            self.queue,
            found,
            self.spaces[binding.space],
            src_offset=place,
            is_blocking=True,
        )
        return found

    def number(self, bound: int | Loaded) -> int:
        """A bound of a loop."""
        return bound if isinstance(bound, int) else self.loaded[bound.number]


Launch: TypeAlias = Callable[[Call], None]


def launch_all(launches: Sequence[Launch], call: Call) -> None:
    """Steps in order."""
    for launch in launches:
        launch(call)


class Launcher:
    """Makes the functions of steps."""

    def __init__(self, entries: Mapping[str, Entry], spaces: Spaces) -> None:
        self.entries = entries
        self.spaces = spaces

    def steps(self, steps: Sequence[Step]) -> Sequence[Launch]:
        """The functions of steps, in order."""
        return [LAUNCHES[type(step)](self, step) for step in steps]

    def kernel_call(self, step: Step) -> Launch:
        """A kernel, whose arguments are set once but for offsets that move."""
        assert isinstance(step, KernelCall)
        entry = self.entries[step.kernel.name]
        kernel = cl.Kernel(entry.program, entry.name)
        moving: list[tuple[int, BufferBinding]] = []
        for number, binding in enumerate(step.bindings):
            kernel.set_arg(2 * number, self.spaces[binding.space])
            kernel.set_arg(2 * number + 1, np.int64(binding.offset))
            if binding.dynamic_offset:
                moving.append((2 * number + 1, binding))
        kernel.set_arg(2 * len(step.bindings), np.int64(entry.work_items))
        size, name = (entry.parts,), step.kernel.name

        def launch(call: Call) -> None:
            for number, binding in moving:
                kernel.set_arg(number, np.int64(call.offset(binding)))
            try:
                cl.enqueue_nd_range_kernel(call.queue, kernel, size, ONE_PART)
            except cl.Error as error:
                raise GlowError(
                    f"the device does not run kernel '{name}': {first_line(error)}",
                    node=step.node,
                ) from error

        return launch

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


def first_line(error: Exception) -> str:
    """What a driver says, in a line."""
    return str(error).strip().partition("\n")[0]


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
