"""A network on an NVIDIA GPU: three buffers, kernels, and a stream in order.

The kernels of a call are one captured graph where nothing that is computed decides what runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ctypes import c_void_p
from threading import Lock
from types import MappingProxyType
from typing import NamedTuple, cast

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
GIB = 1 << 30

Spaces = Mapping[MemorySpace, int]
"""The addresses of the buffers."""


class Entry(NamedTuple):
    """A kernel on the device."""

    function: c_void_p
    assembly: KernelAssembly


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


class CudaFunction:
    """A program on a device; calls take turns."""

    def __init__(
        self,
        device: CudaDevice,
        program: Program,
        kernels: Mapping[str, KernelAssembly],
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
        self._upload("constants", 0, constants)
        entries = {
            name: Entry(self._loaded(name, kernel), kernel)
            for name, kernel in kernels.items()
        }
        launcher = StreamLauncher(device, entries, self._spaces)
        self._launches = launcher.steps(program.steps)
        self._graph: c_void_p | None = None
        self._clear_reports()
        self.variables: Mapping[str, Array] = MappingProxyType(
            {v.name: np.zeros(v.place.shape, v.place.dtype) for v in variables}
        )
        """What calls keep: on the host between them."""

    def _loaded(self, name: str, kernel: KernelAssembly) -> c_void_p:
        """A kernel on the device; raises GlowError with its name for one that is rejected."""
        try:
            module = self._device.load(kernel.text)
            return self._device.function(module, kernel.entry, kernel.dynamic_bytes)
        except GlowError as error:
            raise GlowError(f"kernel '{name}': {error.message}") from error

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
                array = np.asarray(value, place.dtype)
                self._upload("mutables", place.offset, array)
            for variable in self._variables:
                array = self.variables[variable.name]
                self._upload("mutables", variable.place.offset, array)
            self._launch()
            results = [self._download(p) for p in self._arguments[self.input_count :]]
            for variable in self._variables:
                found = self._download(variable.place)
                np.copyto(self.variables[variable.name], found)
            self._raise_report()
            return results

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

    def _download(self, place: Argument) -> Array:
        """The array at a place of the mutables, when all before is done."""
        data = np.empty(place.size, np.uint8)
        self._device.download(self._spaces["mutables"] + place.offset, data)
        return cast("Array", data.view(place.dtype).reshape(place.shape))

    def _clear_reports(self) -> None:
        """No error is noted."""
        size = len(self._program.reports)
        none = np.zeros(size, np.uint8)
        self._upload("mutables", self._program.reports_offset, none)

    def _raise_report(self) -> None:
        """Raise GlowError for the first error that a kernel noted, and forget them all."""
        reports = self._program.reports
        if not reports:
            return
        offset = self._program.reports_offset
        noted = self._download(Argument(offset, (len(reports),), np.dtype(np.uint8)))
        if noted.any():
            self._clear_reports()
            node, error = reports[int(noted.argmax())]
            raise GlowError(error, node=node)
