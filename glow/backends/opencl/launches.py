"""Kernels of a program on a command queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyopencl as cl

from glow.backends.cpu.program.device_steps import (
    Call,
    KernelStep,
    Launch,
    Launcher,
    Place,
)
from glow.dialects.errors import GlowError

Spaces: TypeAlias = Mapping[str, cl.Buffer]

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


class QueueCall(Call):
    """A call on a command queue."""

    def __init__(self, queue: cl.CommandQueue, spaces: Spaces) -> None:
        super().__init__()
        self.queue = queue
        self.spaces = spaces

    def read(self, place: Place) -> npt.NDArray[np.uint8]:
        """The bytes of a buffer, when all before is done."""
        found = np.empty(place.size, np.uint8)
        cl.enqueue_copy(
            self.queue,
            found,
            self.spaces[place.space],
            src_offset=self.offset(place),
            is_blocking=True,
        )
        return found


class QueueLauncher(Launcher):
    """Makes the functions of steps on a command queue."""

    def __init__(self, entries: Mapping[str, Entry], spaces: Spaces) -> None:
        self.entries = entries
        self.spaces = spaces

    def kernel(self, step: KernelStep) -> Launch:
        """A kernel, whose arguments are set once but for offsets that move."""
        entry = self.entries[step.kernel]
        kernel = cl.Kernel(entry.program, entry.name)
        moving: list[tuple[int, Place]] = []
        for number, place in enumerate(step.places):
            kernel.set_arg(2 * number, self.spaces[place.space])
            kernel.set_arg(2 * number + 1, np.int64(place.offset))
            if place.moves:
                moving.append((2 * number + 1, place))
        kernel.set_arg(2 * len(step.places), np.int64(entry.work_items))
        size, name = (entry.parts,), step.kernel

        def launch(call: Call) -> None:
            assert isinstance(call, QueueCall)
            for number, place in moving:
                kernel.set_arg(number, np.int64(call.offset(place)))
            try:
                cl.enqueue_nd_range_kernel(call.queue, kernel, size, ONE_PART)
            except cl.Error as error:
                raise GlowError(
                    f"the device does not run kernel '{name}': {first_line(error)}",
                    node=step.node,
                ) from error

        return launch


def first_line(error: Exception) -> str:
    """What a driver says, in a line."""
    return str(error).strip().partition("\n")[0]
