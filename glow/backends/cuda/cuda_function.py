"""A network on an NVIDIA GPU: three buffers, kernels, and a stream in order.

The kernels of a call are one captured graph where nothing that is computed decides what runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from ctypes import c_void_p
from threading import Lock
from types import MappingProxyType
from typing import NamedTuple, cast
from weakref import finalize

import numpy as np
import numpy.typing as npt

from glow.backends.cpu.program.device_steps import Call, Launch, Launcher, launch_all
from glow.backends.cpu.program.program import (
    BufferBinding,
    KernelCall,
    MemorySpace,
    Program,
)
from glow.backends.cuda.driver import CudaDevice
from glow.backends.cuda.ptx import KernelAssembly
from glow.dialects.errors import GlowError
from glow.dialects.weight_table import Array
from glow.runtime.executable import Bytes
from glow.runtime.native_function import Argument, NativeVariable

SMALLEST_BUFFER = 256
BYTES = np.dtype(np.uint8)
GIB = 1 << 30

Spaces = Mapping[MemorySpace, int]
"""The addresses of the buffers."""


class Entry(NamedTuple):
    """A kernel on the device."""

    function: c_void_p
    assembly: KernelAssembly


def load_kernel(device: CudaDevice, name: str, kernel: KernelAssembly) -> Entry:
    """A kernel on the device; raises GlowError with its name for one that is rejected."""
    device.enter()
    try:
        module = device.load(kernel.text)
        function = device.function(module, kernel.entry, kernel.dynamic_bytes)
        return Entry(function, kernel)
    except GlowError as error:
        message = f"kernel '{name}': {error.message}"
        raise GlowError(message, hint=error.hint) from error


def check_device_memory(device: CudaDevice, sizes: Mapping[MemorySpace, int]) -> None:
    """Raise GlowError where a program's buffers are larger than a device's memory."""
    total, there_is = sum(sizes.values()), device.facts.memory_bytes
    if total > there_is:
        raise GlowError(
            f"the network needs {total / GIB:.1f} GiB of memory, and device "
            f"'{device.facts.name}' has {there_is / GIB:.1f}"
        )


class StreamCall(Call):
    """A call on a device's stream."""

    def __init__(self, device: CudaDevice, spaces: Spaces) -> None:
        super().__init__()
        self.device, self.spaces = device, spaces

    def read(self, binding: BufferBinding) -> npt.NDArray[np.uint8]:
        """The bytes of a buffer, when all before is done."""
        found = np.empty(binding.size, np.uint8)
        self.device.download(self.spaces[binding.space] + self.offset(binding), found)
        return found


class StreamLauncher(Launcher):
    """Makes the functions of steps on a stream."""

    def __init__(
        self, device: CudaDevice, entries: Mapping[str, Entry], spaces: Spaces
    ) -> None:
        self.device, self.entries, self.spaces = device, entries, spaces

    def kernel(self, step: KernelCall) -> Launch:
        """A kernel."""
        entry, name = self.entries[step.kernel.name], step.kernel.name
        made = entry.assembly

        def launch(call: Call) -> None:
            numbers: list[int] = []
            for binding in step.bindings:
                numbers += [self.spaces[binding.space], call.offset(binding)]
            numbers += made.numbers
            try:
                self.device.launch(
                    entry.function, made.grid, made.block, numbers, made.dynamic_bytes
                )
            except GlowError as error:
                raise GlowError(
                    f"the device does not run kernel '{name}': {error.message}",
                    node=step.node,
                ) from error

        return launch


def is_straight(program: Program) -> bool:
    """Whether a program is kernels alone, at places that do not move."""
    return all(
        isinstance(step, KernelCall)
        and not any(binding.dynamic_offset for binding in step.bindings)
        for step in program.steps
    )


def span_of(places: Sequence[Argument]) -> slice:
    """The bytes from the first of places to the last, which lie behind each other."""
    starts = [place.offset for place in places] or [0]
    ends = [place.offset + place.size for place in places] or [0]
    return slice(min(starts), max(ends))


def release(device: CudaDevice, memory: Sequence[int], staging: Array) -> None:
    """Give back what a function has: a lost device has nothing left."""
    with suppress(GlowError):
        device.enter()
        for address in memory:
            device.free(address)
        device.free_pinned(staging)


class CudaFunction:
    """A program on a device; calls take turns.

    Inputs and outputs go through pinned memory of the host, those of a call in one copy each.
    """

    def __init__(
        self,
        device: CudaDevice,
        program: Program,
        entries: Mapping[str, Entry],
        constants: Bytes,
        arguments: Sequence[Argument],
        variables: Sequence[NativeVariable],
    ) -> None:
        self.input_count = 0
        self._device, self._program, self._arguments = device, program, arguments
        self._variables, self._lock = variables, Lock()
        self._spaces: dict[MemorySpace, int] = {
            space: device.allocate(max(size, SMALLEST_BUFFER))
            for space, size in program.sizes.items()
        }
        self._staging = device.allocate_pinned(max(program.sizes["mutables"], 1))
        memory = tuple(self._spaces.values())
        finalize(self, release, device, memory, self._staging).atexit = False
        self._upload("constants", 0, constants)
        launcher = StreamLauncher(device, entries, self._spaces)
        self._launches = launcher.steps(program.steps)
        self._graph: c_void_p | None = None
        self._clear_reports()
        self.variables: Mapping[str, Array] = MappingProxyType(
            {v.name: np.zeros(v.place.shape, v.place.dtype) for v in variables}
        )
        """What calls keep: on the host between them."""

    @property
    def details(self) -> str:
        """What it runs on and what it takes, in a few words."""
        sizes, facts = self._program.sizes, self._device.facts
        return (
            f"device {facts.name} ({facts.gpu}), arena {sizes['activations']} bytes, "
            f"weights {sizes['constants']} bytes"
        )

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs for inputs of the right shapes and dtypes.

        Raises GlowError where the device stops, and for errors of the inputs' data.
        """
        with self._lock:
            self._device.enter()
            places = self._arguments[: self.input_count]
            for place, value in zip(places, inputs, strict=True):
                self._staged(place)[...] = np.asarray(value, place.dtype)
            kept = [variable.place for variable in self._variables]
            for variable in self._variables:
                self._staged(variable.place)[...] = self.variables[variable.name]
            for span in (span_of(places), span_of(kept)):
                self._device.begin_upload(*self._both(span))
            self._launch()
            reports = Argument(self._program.reports_offset, self._reports, BYTES)
            outputs = self._arguments[self.input_count :]
            for span in (span_of(outputs), span_of(kept), span_of([reports])):
                self._device.begin_download(*self._both(span))
            self._device.synchronize()
            for variable in self._variables:
                np.copyto(self.variables[variable.name], self._staged(variable.place))
            self._raise_report(self._staged(reports))
            return [self._staged(place).copy() for place in outputs]

    @property
    def _reports(self) -> tuple[int]:
        """The shape of the bytes of errors."""
        return (len(self._program.reports),)

    def _staged(self, place: Argument) -> Array:
        """What the host has of a place of the mutables, to read and to write."""
        data = self._staging[place.offset : place.offset + place.size]
        return cast("Array", data.view(place.dtype).reshape(place.shape))

    def _both(self, span: slice) -> tuple[int, npt.NDArray[np.uint8]]:
        """A part of the mutables: where the device has it, and what the host has of it."""
        return self._spaces["mutables"] + span.start, self._staging[span]

    def _launch(self) -> None:
        """Runs the kernels: the graph of them, captured in the first call."""

        def body() -> None:
            launch_all(self._launches, StreamCall(self._device, self._spaces))

        if not is_straight(self._program):
            body()
            return
        if self._graph is None:
            self._graph = self._device.capture(body)
        self._device.replay(self._graph)

    def _upload(self, space: MemorySpace, offset: int, array: Array | Bytes) -> None:
        """Copies an array to a place of a space."""
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self._device.upload(self._spaces[space] + offset, data)

    def _clear_reports(self) -> None:
        """No error is noted."""
        size = len(self._program.reports)
        none = np.zeros(size, np.uint8)
        self._upload("mutables", self._program.reports_offset, none)

    def _raise_report(self, noted: Array) -> None:
        """Raise GlowError for the first error that a kernel noted, and forget them all."""
        if noted.any():
            self._clear_reports()
            node, error = self._program.reports[int(noted.argmax())]
            raise GlowError(error, node=node)
