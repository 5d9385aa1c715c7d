"""NVIDIA's driver through ctypes: `libcuda.so.1` is all that running takes.

One context a device, one stream in order. A failure is a GlowError of one line with the driver's
words; where there is no driver, or one that is too old, `problem` says so.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from ctypes import (
    byref,
    c_char,
    c_float,
    c_int,
    c_size_t,
    c_uint,
    c_ulonglong,
    c_void_p,
)
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any
from weakref import finalize

import numpy as np
import numpy.typing as npt

from glow.dialects.errors import GlowError
from glow.runtime.native_program import Array

NAMES = ("nvcuda.dll",) if sys.platform == "win32" else ("libcuda.so.1",)
NO_DRIVER = f"there is no {NAMES[0]}, which NVIDIA's driver brings"
NEEDED_VERSION = 11080
"""Of CUDA, the first whose driver reads the PTX that is written."""
TENSOR_MAP_VERSION = 12040
"""The same of PTX for `sm_90a`, where bytes with signs are multiplied with ones that have none;
tensor maps are made since 12.0.
"""

CAPABILITY = (75, 76)
"""The attributes of a device that are its compute capability, major and minor."""
MOST_DYNAMIC_SHARED = 8
"""The attribute of a function that is the most shared memory a launch may give it."""
JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES = 5, 6
LOG_BYTES = 4096
NAME_BYTES = 256
NON_BLOCKING = 1
OWN_THREAD = 1
"""Launches of other threads are not captured."""


def capability(gpu: str) -> int:
    """The compute capability of a GPU by its name: 90 of `sm_90` and of `sm_90a`."""
    return int(gpu.removeprefix("sm_").removesuffix("a"))


@cache
def driver_library() -> Any | None:
    """The driver's library, None where there is none."""
    for name in NAMES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def words_of(version: int) -> str:
    """A version of CUDA as people write it: 11.8."""
    return f"{version // 1000}.{version % 1000 // 10}"


class CudaDriver:
    """The functions of a driver, with their results checked."""

    def __init__(self, library: Any) -> None:
        """Raises GlowError for a driver that does not start, or is too old."""
        self.library = library
        self.call("cuInit", 0)
        version = c_int()
        self.call("cuDriverGetVersion", byref(version))
        self.version = version.value
        self.check_version(NEEDED_VERSION)

    def check_version(self, needed: int) -> None:
        """Raise GlowError for a driver that is older than the PTX that it is to read."""
        if self.version < needed:
            raise GlowError(
                f"the driver is of CUDA {words_of(self.version)}, and the kernels' PTX needs "
                f"{words_of(needed)}"
            )

    def call(self, name: str, *arguments: object) -> None:
        """Calls a function; raises GlowError with the driver's words if it fails."""
        status: int = getattr(self.library, name)(*arguments)
        if status:
            raise GlowError(f"{name} fails: {self.message(status)}")

    def message(self, status: int) -> str:
        """What the driver says of an error."""
        text = ctypes.c_char_p()
        self.library.cuGetErrorString(status, byref(text))
        return text.value.decode() if text.value else f"error {status}"

    def count(self) -> int:
        """How many devices there are."""
        count = c_int()
        self.call("cuDeviceGetCount", byref(count))
        return count.value

    def facts(self, number: int) -> CudaFacts:
        """What is known of a device."""
        handle, name, size = c_int(), (c_char * NAME_BYTES)(), c_size_t()
        self.call("cuDeviceGet", byref(handle), number)
        self.call("cuDeviceGetName", name, NAME_BYTES, handle)
        self.call("cuDeviceTotalMem_v2", byref(size), handle)
        parts: list[str] = []
        for attribute in CAPABILITY:
            value = c_int()
            self.call("cuDeviceGetAttribute", byref(value), attribute, handle)
            parts.append(str(value.value))
        gpu = f"sm_{''.join(parts)}"
        return CudaFacts(number, handle.value, name.value.decode(), size.value, gpu)


@dataclass(frozen=True)
class CudaFacts:
    """A device as the driver describes it."""

    number: int
    handle: int
    name: str
    memory_bytes: int
    gpu: str
    """As NVIDIA names the compute capability: `sm_90`."""


@dataclass
class CudaDevice:
    """A device to work with: its context is that of all functions here.

    Its methods may be called by any thread, one at a time.
    """

    driver: CudaDriver
    facts: CudaFacts
    context: c_void_p = field(default_factory=c_void_p)
    stream: c_void_p = field(default_factory=c_void_p)

    def __post_init__(self) -> None:
        handle = c_int(self.facts.handle)
        self.driver.call("cuDevicePrimaryCtxRetain", byref(self.context), handle)
        self.enter()
        self.driver.call("cuStreamCreate", byref(self.stream), NON_BLOCKING)
        finalize(self, close, self.driver, handle, self.stream).atexit = False

    def enter(self) -> None:
        """Makes the context that of this thread."""
        self.driver.call("cuCtxSetCurrent", self.context)

    def allocate(self, size: int) -> int:
        """The address of new memory."""
        address = c_ulonglong()
        self.driver.call("cuMemAlloc_v2", byref(address), c_size_t(size))
        return address.value

    def free(self, address: int) -> None:
        """Gives memory back."""
        self.driver.call("cuMemFree_v2", c_ulonglong(address))

    def allocate_pinned(self, size: int) -> npt.NDArray[np.uint8]:
        """New memory of the host that stays where it is, so that copies need not wait for it."""
        address = c_void_p()
        self.driver.call("cuMemHostAlloc", byref(address), c_size_t(size), c_uint(0))
        block = (ctypes.c_uint8 * size).from_address(address.value or 0)
        return np.ctypeslib.as_array(block)

    def free_pinned(self, memory: Array) -> None:
        """Gives such memory back."""
        self.driver.call("cuMemFreeHost", c_void_p(memory.ctypes.data))

    def begin_upload(self, address: int, data: Array) -> None:
        """Copies a dense array of pinned memory to the device, behind all work before."""
        if data.nbytes:
            place, size = c_void_p(data.ctypes.data), c_size_t(data.nbytes)
            target = c_ulonglong(address)
            self.driver.call("cuMemcpyHtoDAsync_v2", target, place, size, self.stream)

    def begin_download(self, address: int, data: Array) -> None:
        """Fills a dense array of pinned memory from the device, behind all work before."""
        if data.nbytes:
            place, size = c_void_p(data.ctypes.data), c_size_t(data.nbytes)
            source = c_ulonglong(address)
            self.driver.call("cuMemcpyDtoHAsync_v2", place, source, size, self.stream)

    def begin_copy(self, target: int, source: int, size: int) -> None:
        """Copies memory of the device, behind all work before."""
        places, count = (c_ulonglong(target), c_ulonglong(source)), c_size_t(size)
        self.driver.call("cuMemcpyDtoDAsync_v2", *places, count, self.stream)

    def upload(self, address: int, data: Array) -> None:
        """Copies a dense array to the device, behind all work before; waits."""
        self.begin_upload(address, data)
        self.synchronize()

    def download(self, address: int, data: Array) -> None:
        """Fills a dense array from the device, when all work before is done."""
        self.begin_download(address, data)
        self.synchronize()

    def capture(self, body: Callable[[], None]) -> c_void_p:
        """The graph of the launches of a body, which are not run."""
        graph, executable = c_void_p(), c_void_p()
        self.driver.call("cuStreamBeginCapture_v2", self.stream, OWN_THREAD)
        try:
            body()
        finally:
            self.driver.call("cuStreamEndCapture", self.stream, byref(graph))
        flags, made = c_ulonglong(0), byref(executable)
        try:
            self.driver.call("cuGraphInstantiateWithFlags", made, graph, flags)
        finally:
            self.driver.call("cuGraphDestroy", graph)
        return executable

    def forget(self, graph: c_void_p) -> None:
        """Gives a graph back."""
        self.driver.call("cuGraphExecDestroy", graph)

    def replay(self, graph: c_void_p) -> None:
        """Runs a graph behind all work before."""
        self.driver.call("cuGraphLaunch", graph, self.stream)

    def seconds(self, body: Callable[[], None], repeats: int) -> list[float]:
        """The seconds that the device takes for what a body begins, of each of some times.

        All are begun before the first is waited for, an event between each two: a body whose work
        is shorter than the host takes to begin it is measured as long as that.
        """
        events: list[c_void_p] = []
        try:
            for number in range(repeats + 1):
                if number:
                    body()
                events.append(self._event())
            self.synchronize()
            return [self._between(*pair) for pair in pairwise(events)]
        finally:
            for event in events:
                self.driver.call("cuEventDestroy_v2", event)

    def graph_seconds(self, body: Callable[[], None], repeats: int) -> list[float]:
        """The same of the graph of a body's launches, which ran once before."""
        graph = self.capture(body)
        try:
            self.replay(graph)
            return self.seconds(lambda: self.replay(graph), repeats)
        finally:
            self.forget(graph)

    def _event(self) -> c_void_p:
        """The moment when all work before is done."""
        event = c_void_p()
        self.driver.call("cuEventCreate", byref(event), c_uint(0))
        self.driver.call("cuEventRecord", event, self.stream)
        return event

    def _between(self, start: c_void_p, end: c_void_p) -> float:
        """The seconds from one such moment to another."""
        milliseconds = c_float()
        self.driver.call("cuEventElapsedTime", byref(milliseconds), start, end)
        return milliseconds.value / 1e3

    def synchronize(self) -> None:
        """Waits for all work."""
        self.driver.call("cuStreamSynchronize", self.stream)

    def load(self, image: bytes) -> c_void_p:
        """The module of PTX or of machine code.

        Raises GlowError with the first line of the driver's log.
        """
        module, log = c_void_p(), (c_char * LOG_BYTES)()
        options = (c_int * 2)(JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES)
        values = (c_void_p * 2)(ctypes.addressof(log), LOG_BYTES)
        text = ctypes.c_char_p(image)
        try:
            self.driver.call(
                "cuModuleLoadDataEx", byref(module), text, 2, options, values
            )
        except GlowError as error:
            said = log.value.decode(errors="replace").strip()
            error.add_note(said)
            first = said.partition("\n")[0] or error.message
            raise GlowError(
                f"the driver rejects kernels: {first}", hint="--debug prints its log"
            ) from error
        return module

    def unload(self, module: c_void_p) -> None:
        """Gives a module back, and its kernels with it."""
        self.driver.call("cuModuleUnload", module)

    def function(self, module: c_void_p, name: str, dynamic_bytes: int = 0) -> c_void_p:
        """A kernel of a module, which launches may give so many bytes of shared memory."""
        found = c_void_p()
        self.driver.call("cuModuleGetFunction", byref(found), module, name.encode())
        if dynamic_bytes:
            size = c_int(dynamic_bytes)
            self.driver.call("cuFuncSetAttribute", found, MOST_DYNAMIC_SHARED, size)
        return found

    def launch(
        self,
        function: c_void_p,
        grid: Sequence[int],
        block: Sequence[int],
        arguments: Sequence[int | Array],
        dynamic_bytes: int = 0,
    ) -> None:
        """Runs a kernel behind all work before; its parameters have 64 bits each, or are bytes."""
        values = [
            np.array([argument], np.uint64) if isinstance(argument, int) else argument
            for argument in arguments
        ]
        places = (value.ctypes.data for value in values)
        pointers = (c_void_p * len(values))(*places)
        sizes = [c_uint(extent) for extent in (*grid, *block)]
        self.driver.call(
            "cuLaunchKernel",
            function,
            *sizes,
            c_uint(dynamic_bytes),
            self.stream,
            pointers,
            None,
        )


def close(driver: CudaDriver, handle: c_int, stream: c_void_p) -> None:
    """Give back a device's stream and context: a lost device has nothing left."""
    with suppress(GlowError):
        driver.call("cuStreamDestroy_v2", stream)
        driver.call("cuDevicePrimaryCtxRelease_v2", handle)


def open_driver() -> CudaDriver:
    """The driver; raises GlowError where there is none that can be used."""
    found = driver_library()
    if found is None:
        raise GlowError(NO_DRIVER)
    return CudaDriver(found)
