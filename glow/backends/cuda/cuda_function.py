"""A network on an NVIDIA GPU: three buffers, kernels, and a stream in order.

A call is one captured graph where nothing that is computed decides what runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from ctypes import c_void_p
from dataclasses import replace
from functools import partial
from statistics import median
from threading import Lock
from typing import NamedTuple
from weakref import finalize

import numpy as np
import numpy.typing as npt

from glow.backends.cpu.program.device_program import (
    code_of,
    new_variables,
    reports_of,
    sizes_of,
)
from glow.backends.cpu.program.device_steps import (
    Call,
    KernelStep,
    Launch,
    Launcher,
    Place,
    is_straight,
    launch_all,
)
from glow.backends.cuda.assembler import machine_code
from glow.backends.cuda.driver import (
    TENSOR_MAP_VERSION,
    CudaDevice,
    capability,
    open_driver,
)
from glow.backends.cuda.kernel_assembly import KernelAssembly, stored_assembly
from glow.backends.cuda.tensor_map import arguments_of
from glow.dialects.errors import GlowError
from glow.runtime.buffers import ALIGNMENT, aligned_empty
from glow.runtime.executable import Bytes
from glow.runtime.native_program import Argument, Array, NativeProgram, with_values
from glow.runtime.threads.cores import available_cores

SMALLEST_BUFFER = 256
GIB = 1 << 30

Spaces = Mapping[str, int]
"""The addresses of the buffers."""


class Entry(NamedTuple):
    """A kernel on the device."""

    module: c_void_p
    function: c_void_p
    assembly: KernelAssembly


class KernelTime(NamedTuple):
    """What one kernel of a call takes by itself."""

    entry: KernelAssembly
    kernel: str
    node: str
    seconds: float


def open_device(number: int, gpu: str) -> CudaDevice:
    """A device for code of a GPU; raises GlowError where that is newer, or of another GPU alone."""
    driver = open_driver()
    facts = driver.facts(number)
    is_own = gpu.endswith("a")
    if is_own:
        driver.check_version(TENSOR_MAP_VERSION)
    newer = capability(gpu) > capability(facts.gpu)
    if newer or (is_own and gpu != f"{facts.gpu}a"):
        raise GlowError(
            f"device '{facts.name}' is {facts.gpu}, which does not run code for {gpu}",
            hint=f"--target={facts.gpu}",
        )
    return CudaDevice(driver, facts)


def load_module(device: CudaDevice, text: str) -> c_void_p:
    """An assembly on the device: as machine code, or as text, which the driver assembles."""
    gpu = device.facts.gpu
    code = machine_code(text, f"{gpu}a" if f".target {gpu}a" in text else gpu)
    if code is not None:
        with suppress(GlowError):  # Of an assembler that is newer than the driver.
            return device.load(code)
    return device.load(text.encode())


def load_kernel(device: CudaDevice, name: str, kernel: KernelAssembly) -> Entry:
    """A kernel on the device; raises GlowError with its name for one that is rejected."""
    device.enter()
    try:
        module = load_module(device, kernel.text)
        function = device.function(module, kernel.entry, kernel.dynamic_bytes)
        return Entry(module, function, kernel)
    except GlowError as error:
        message = f"kernel '{name}': {error.message}"
        raise GlowError(message, hint=error.hint) from error


def check_device_memory(device: CudaDevice, sizes: Collection[int]) -> None:
    """Raise GlowError where a program's buffers are larger than a device's memory."""
    total, there_is = sum(sizes), device.facts.memory_bytes
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

    def read(self, place: Place) -> npt.NDArray[np.uint8]:
        """The bytes of a buffer, when all before is done."""
        found = np.empty(place.size, np.uint8)
        self.device.download(self.spaces[place.space] + self.offset(place), found)
        return found


class StreamLauncher(Launcher):
    """Makes the functions of steps on a stream."""

    def __init__(
        self, device: CudaDevice, entries: Mapping[str, Entry], spaces: Spaces
    ) -> None:
        self.device, self.entries, self.spaces = device, entries, spaces

    def kernel(self, step: KernelStep) -> Launch:
        """A kernel."""
        entry, name = self.entries[step.kernel], step.kernel
        made = entry.assembly

        def launch(call: Call) -> None:
            places = [
                (self.spaces[place.space], call.offset(place)) for place in step.places
            ]
            sizes = made.grid, made.block
            try:
                arguments = arguments_of(self.device, places, made.maps)
                arguments += made.numbers
                self.device.launch(
                    entry.function, *sizes, arguments, made.dynamic_bytes
                )
            except GlowError as error:
                raise GlowError(
                    f"the device does not run kernel '{name}': {error.message}",
                    node=step.node,
                ) from error

        return launch


SMALL_GAP = 1 << 16
"""Bytes that take less time than one more copy: one takes some microseconds, and moves some tens of
gigabytes a second."""


def spans_of(places: Sequence[Argument], gap: int) -> list[slice]:
    """The bytes of places that lie behind each other, with what is between them up to `gap`."""
    found: list[slice] = []
    for place in sorted(places, key=lambda place: place.offset):
        start, end = place.offset, place.offset + place.size
        if found and start - found[-1].stop <= gap:
            start = found.pop().start
        found.append(slice(start, end))
    return found


def release(
    device: CudaDevice,
    memory: Sequence[int],
    staging: Array,
    graphs: Sequence[c_void_p],
    modules: Sequence[c_void_p],
) -> None:
    """Give back what a function has: a lost device has nothing left."""
    with suppress(GlowError):
        device.enter()
        for graph in graphs:
            device.forget(graph)
        for module in modules:
            device.unload(module)
        for address in memory:
            device.free(address)
        device.free_pinned(staging)


class CudaFunction:
    """A program on a device; calls take turns.

    Inputs and outputs go through pinned memory of the host, where they have fixed places. So the
    copies of a call are part of its graph, and a call is two of the driver: begin, and wait.
    """

    def __init__(
        self,
        device: CudaDevice,
        name: str,
        program: NativeProgram,
        entries: Mapping[str, Entry],
    ) -> None:
        """`entries` are the program's kernels on the device, whose `name` others know it by."""
        self.device = name
        self._device, self._sizes, self._lock = device, sizes_of(program), Lock()
        self._spaces: dict[str, int] = {
            space: device.allocate(max(size, SMALLEST_BUFFER))
            for space, size in self._sizes.items()
        }
        self._staging = device.allocate_pinned(max(program.mutables_size, 1))
        self._graphs: list[c_void_p] = []
        """That of a call, once it is captured."""
        memory = tuple(self._spaces.values())
        modules = [entry.module for entry in entries.values()]
        held = memory, self._staging, self._graphs, modules
        finalize(self, release, device, *held).atexit = False
        self._upload("constants", 0, program.constants)
        self._entries, self._steps = entries, (steps := code_of(program).steps)
        self._launches = StreamLauncher(device, entries, self._spaces).steps(steps)
        self._is_straight = is_straight(steps)
        self._reports = reports = reports_of(program)
        self.variables = new_variables(program)
        """What calls keep: on the host between them."""
        # Its constants are on the device alone.
        self._program = replace(program, constants=aligned_empty(0))
        kept = [variable.place for variable in program.variables]
        # What is not padding between them is not the host's.
        self._uploads = spans_of([*program.inputs, *kept], ALIGNMENT - 1)
        self._downloads = spans_of([*program.outputs, *kept, reports], SMALL_GAP)
        self._inputs = [place.view(self._staging) for place in program.inputs]
        self._outputs = [place.view(self._staging) for place in program.outputs]
        self._noted = reports.view(self._staging)
        self._kept = [
            (self.variables[variable.name], variable.place.view(self._staging))
            for variable in program.variables
        ]
        self._clear_reports()

    @property
    def details(self) -> str:
        """What it runs on and what it takes, in a few words."""
        sizes, facts = self._sizes, self._device.facts
        return (
            f"device {facts.name} ({facts.gpu}), arena {sizes['activations']} bytes, "
            f"weights {sizes['constants']} bytes"
        )

    @property
    def cuda_device(self) -> CudaDevice:
        """The device, for measurements of what a call asks of it."""
        return self._device

    def stored(self) -> NativeProgram:
        """The program, to be stored: constants from the device, variables as they are now."""
        constants = aligned_empty(self._sizes["constants"])
        with self._lock:
            self._device.enter()
            self._device.download(self._spaces["constants"], constants)
            return with_values(
                replace(self._program, constants=constants), self.variables
            )

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs for inputs of the right shapes and dtypes.

        Raises GlowError where the device stops, and for errors of the inputs' data.
        """
        with self._lock:
            self._device.enter()
            for staged, value in zip(self._inputs, inputs, strict=True):
                staged[...] = value
            for variable, staged in self._kept:
                staged[...] = variable
            if self._is_straight and not self._graphs:
                self._graphs.append(self._device.capture(self._begin))
            if self._is_straight:
                self._device.replay(self._graphs[0])
            else:
                self._begin()
            self._device.synchronize()
            for variable, staged in self._kept:
                np.copyto(variable, staged)
            if self._reports.size:
                self._raise_report()
            return [staged.copy() for staged in self._outputs]

    def _begin(self) -> None:
        """Begins a call: inputs to the device, the kernels, outputs from it."""
        for span in self._uploads:
            self._device.begin_upload(*self._both(span))
        self._launch()
        for span in self._downloads:
            self._device.begin_download(*self._both(span))

    def device_seconds(self, repeats: int) -> list[float]:
        """The seconds of the device for all kernels of a call, of each of some times.

        They compute from the inputs of the last call. Raises GlowError where what is computed
        decides what runs.
        """
        self._check_straight()
        with self._lock:
            self._device.enter()
            return self._device.graph_seconds(self._launch, repeats)

    def kernel_seconds(self, launches: int, repeats: int) -> Iterator[KernelTime]:
        """The times of the kernels of a call in their order, each a graph of some launches of it.

        Raises GlowError as `device_seconds`. What is computed is lost.
        """
        self._check_straight()
        call = StreamCall(self._device, self._spaces)
        with self._lock:
            self._device.enter()
            for (_, name, node, _), launch in zip(
                self._steps, self._launches, strict=True
            ):
                body = partial(launch_all, [launch] * launches, call)
                found = self._device.graph_seconds(body, repeats)
                entry = self._entries[name].assembly
                yield KernelTime(entry, name, node, median(found) / launches)
            self._clear_reports()

    def _check_straight(self) -> None:
        """Raise GlowError where what is computed decides what runs."""
        if not self._is_straight:
            raise GlowError("its kernels are no graph: what is computed decides")

    def _both(self, span: slice) -> tuple[int, npt.NDArray[np.uint8]]:
        """A part of the mutables: where the device has it, and what the host has of it."""
        return self._spaces["mutables"] + span.start, self._staging[span]

    def _launch(self) -> None:
        """Runs the kernels."""
        launch_all(self._launches, StreamCall(self._device, self._spaces))

    def _upload(self, space: str, offset: int, array: Array | Bytes) -> None:
        """Copies an array to a place of a space."""
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self._device.upload(self._spaces[space] + offset, data)

    def _clear_reports(self) -> None:
        """No error is noted."""
        none = np.zeros(self._reports.shape, self._reports.dtype)
        self._upload("mutables", self._reports.offset, none)

    def _raise_report(self) -> None:
        """Raise GlowError for the first error that a kernel noted, and forget them all."""
        if self._noted.any():
            self._clear_reports()
            node, error = self._program.reports[int(self._noted.argmax())]
            raise GlowError(error, node=node)


def load_function(program: NativeProgram, name: str, number: int) -> CudaFunction:
    """A program that was stored on the device of a number; raises GlowError as a build does."""
    device = open_device(number, program.target)
    check_device_memory(device, sizes_of(program).values())
    kernels = {n: stored_assembly(data) for n, data in code_of(program).kernels.items()}
    with ThreadPoolExecutor(available_cores()) as pool:
        load = partial(load_kernel, device)
        loaded = pool.map(load, kernels.keys(), kernels.values())
        entries = dict(zip(kernels, loaded, strict=True))
    return CudaFunction(device, name, program, entries)
