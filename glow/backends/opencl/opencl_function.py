"""A network on an OpenCL device: three buffers, kernels, and a queue in order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from typing import TypeVar

import numpy as np
import pyopencl as cl

from glow.backends.cpu.program.device_program import (
    code_of,
    new_variables,
    reports_of,
    sizes_of,
)
from glow.backends.cpu.program.device_steps import launch_all
from glow.backends.device import Buffer
from glow.backends.opencl.device_array import DeviceArray, context_of
from glow.backends.opencl.drivers import described, drivers_devices
from glow.backends.opencl.kernel_source import stored_source
from glow.backends.opencl.launches import Entry, QueueCall, QueueLauncher, first_line
from glow.dialects.errors import GlowError
from glow.runtime.buffers import aligned_empty
from glow.runtime.native_program import Argument, Array, NativeProgram, with_values

Result = TypeVar("Result")

OPTIONS = ("-cl-std=CL1.2", "-cl-fp32-correctly-rounded-divide-sqrt", "-w")
"""Numbers are those of IEEE 754, as on the CPU; `-w`: warnings are nothing for users."""

SMALLEST_BUFFER = 64
GIB = 1 << 30


def check_device_memory(device: cl.Device, sizes: Collection[int]) -> None:
    """Raise GlowError where spaces are larger than a device's memory or its largest buffer."""
    total, there_is = sum(sizes), device.global_mem_size
    if total > there_is:
        raise GlowError(
            f"the network needs {total / GIB:.1f} GiB of memory, and device "
            f"'{device.name}' has {there_is / GIB:.1f}"
        )
    largest, limit = max(sizes), device.max_mem_alloc_size
    if largest > limit:
        raise GlowError(
            f"the network needs a buffer of {largest / GIB:.1f} GiB, and those of device "
            f"'{device.name}' have {limit / GIB:.1f} at most"
        )


def check_doubles(device: cl.Device, name: str, text: str) -> None:
    """Raise GlowError for a kernel with doubles where a device has none."""
    if "double" in text and "cl_khr_fp64" not in device.extensions:
        raise GlowError(
            f"kernel '{name}' computes in f64, which device '{device.name.strip()}' has "
            "not (cl_khr_fp64)"
        )


def built_program(context: cl.Context, name: str, text: str) -> cl.Program:
    """What a driver makes of a kernel; raises GlowError for one that it rejects."""
    for device in context.devices:
        check_doubles(device, name, text)
    try:
        return cl.Program(context, text).build(OPTIONS)
    except cl.Error as error:
        raise GlowError(
            f"the driver rejects kernel '{name}': {first_line(error)}",
            hint="--debug prints its log",
        ) from error


def parts_of(device: cl.Device, work_items: int) -> int:
    """Into how many parts a device's cores share the items of a kernel.

    A CPU has one each: a kernel prepares what all items of a part need. Others have an item each.
    """
    if device.type & cl.device_type.CPU:
        return max(1, min(work_items, device.max_compute_units))
    return work_items


class OpenClFunction:
    """A program on a device; calls take turns."""

    def __init__(self, number: int, name: str, program: NativeProgram) -> None:
        """The device has a number and a name in the backend's list.

        Raises GlowError where it has not enough memory, and for a kernel that it rejects.
        """
        self.device = name
        self._device = device = drivers_devices()[number]
        self._sizes = sizes_of(program)
        check_device_memory(device, self._sizes.values())
        self._reports = reports_of(program)
        self._lock = Lock()
        code = code_of(program)
        sources = {name: stored_source(data) for name, data in code.kernels.items()}
        with self._driver():
            context = context_of(device)
            self._queue = cl.CommandQueue(context)
            flags = cl.mem_flags
            self._spaces: dict[str, cl.Buffer] = {
                space: cl.Buffer(context, flags.READ_WRITE, max(size, SMALLEST_BUFFER))
                for space, size in self._sizes.items()
            }
            self._upload("constants", 0, program.constants)
            entries = {
                name: Entry(
                    built_program(context, name, source.text),
                    source.entry,
                    source.work_items,
                    parts_of(device, source.work_items),
                )
                for name, source in sources.items()
            }
        self._launches = QueueLauncher(entries, self._spaces).steps(code.steps)
        self._clear_reports()
        self.variables = new_variables(program)
        """What calls keep: on the host between them."""
        # Its constants are on the device alone.
        self._program = replace(program, constants=aligned_empty(0))

    @property
    def details(self) -> str:
        """What it runs on and what it takes, in a few words."""
        return (
            f"device {described(self._device)}, arena {self._sizes['activations']} bytes, "
            f"weights {self._sizes['constants']} bytes"
        )

    def stored(self) -> NativeProgram:
        """The program, to be stored: constants from the device, variables as they are now."""
        constants = aligned_empty(self._sizes["constants"])
        with self._lock, self._driver():
            if constants.size:
                cl.enqueue_copy(self._queue, constants, self._spaces["constants"])
            return with_values(
                replace(self._program, constants=constants), self.variables
            )

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs for inputs of the right shapes and dtypes.

        Raises GlowError where the device stops, and for errors of the inputs' data.
        """
        return self._run(inputs, self._download)

    def run_buffers(self, inputs: Sequence[Array | Buffer]) -> list[DeviceArray]:
        """The same in the device's memory, of inputs there or in the host's."""
        return self._run(inputs, self._kept)

    def _run(
        self, inputs: Sequence[Array | Buffer], taken: Callable[[Argument], Result]
    ) -> list[Result]:
        """What is taken of each output's place."""
        with self._lock, self._driver():
            variables = self._program.variables
            for place, value in zip(self._program.inputs, inputs, strict=True):
                if isinstance(value, DeviceArray) and value.device == self.device:
                    self._copy(value, place)
                else:
                    held = value.read() if isinstance(value, Buffer) else value
                    array = np.asarray(held, place.dtype)
                    self._upload("mutables", place.offset, array)
            for variable in variables:
                array = self.variables[variable.name]
                self._upload("mutables", variable.place.offset, array)
            launch_all(self._launches, QueueCall(self._queue, self._spaces))
            results = [taken(place) for place in self._program.outputs]
            for variable in variables:
                found = self._download(variable.place)
                np.copyto(self.variables[variable.name], found)
            self._queue.finish()
            self._raise_report()
            return results

    def run_queue(self) -> None:
        """Runs the kernels once more on the inputs of the last call, as measurements do."""
        with self._lock, self._driver():
            launch_all(self._launches, QueueCall(self._queue, self._spaces))
            self._queue.finish()

    @contextmanager
    def _driver(self) -> Generator[None]:
        """Tells an error of the driver in a line."""
        try:
            yield
        except cl.Error as error:
            name = self._device.name.strip()
            message = f"device '{name}' stopped: {first_line(error)}"
            raise GlowError(message, hint="--debug prints all of it") from error

    def _upload(self, space: str, offset: int, array: Array) -> None:
        """Copies an array to a place of a space."""
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        if data.size:
            cl.enqueue_copy(self._queue, self._spaces[space], data, dst_offset=offset)

    def _download(self, place: Argument) -> Array:
        """The array at a place of the mutables, when all before is done."""
        data = np.empty(place.size, np.uint8)
        if data.size:
            mutables = self._spaces["mutables"]
            cl.enqueue_copy(self._queue, data, mutables, src_offset=place.offset)
        return data.view(place.dtype).reshape(place.shape)

    def _copy(self, value: DeviceArray, place: Argument) -> None:
        """Copies an array on the device to a place of the mutables."""
        if place.size:
            cl.enqueue_copy(
                self._queue,
                self._spaces["mutables"],
                value.memory,
                byte_count=place.size,
                dst_offset=place.offset,
            )

    def _kept(self, place: Argument) -> DeviceArray:
        """What is at a place of the mutables, which the next call writes, elsewhere."""
        size = max(place.size, SMALLEST_BUFFER)
        flags = cl.mem_flags.READ_WRITE
        memory = cl.Buffer(context_of(self._device), flags, size)
        if place.size:
            cl.enqueue_copy(
                self._queue,
                memory,
                self._spaces["mutables"],
                byte_count=place.size,
                src_offset=place.offset,
            )
        return DeviceArray(self.device, place.shape, place.dtype, memory, self._queue)

    def _clear_reports(self) -> None:
        """No error is noted."""
        none = np.zeros(self._reports.shape, self._reports.dtype)
        self._upload("mutables", self._reports.offset, none)

    def _raise_report(self) -> None:
        """Raise GlowError for the first error that a kernel noted, and forget them all."""
        if not self._reports.size:
            return
        noted = self._download(self._reports)
        if noted.any():
            self._clear_reports()
            node, error = self._program.reports[int(noted.argmax())]
            raise GlowError(error, node=node)
