"""A driver of CUDA in the host's memory, whose kernels are functions (`host_kernels.py`).

It has what `glow.backends.cuda.driver` calls, under the names and with the arguments of
`libcuda.so.1`; addresses are the host's. Failures can be ordered.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import NamedTuple

import numpy as np

STATIC_SHARED = 48 * 1024
"""The bytes of shared memory that a launch has without asking."""

FIRST_GRAPH = 5
"""The handle of the first graph."""

Launched = Callable[[Sequence[int], Sequence[int], Sequence[int]], None]
"""What a kernel does: takes grid, block and parameters."""


class Encoded(NamedTuple):
    """What a tensor map says: the buffer and the tile, innermost axes first."""

    element: int
    address: int
    shape: list[int]
    strides: list[int]
    tile: list[int]
    swizzle: int


ENCODED: list[Encoded] = []
"""All tensor maps that were made; their bytes begin with their number."""

CODE = b"\x7fELF"
"""How machine code begins; PTX begins with a comment."""

MESSAGES = {
    2: b"out of memory",
    209: b"no kernel image is available for execution on the device",
    218: b"a PTX JIT compilation failed",
    700: b"an illegal address",
}


def view(address: int, shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """The host's memory at an address."""
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    block = (ctypes.c_char * size).from_address(address)
    return np.frombuffer(block, dtype).reshape(shape)


@dataclass
class FakeCuda:
    """The library; `failures` are the results of functions that do not give 0."""

    kernels: dict[str, Launched]
    version: int = 12040
    gpu: tuple[int, int] = (9, 0)
    failures: dict[str, int] = field(default_factory=dict)
    log: bytes = b"ptxas fatal: Unresolved extern function\nmore"
    calls: list[str] = field(default_factory=list)
    memory: dict[int, np.ndarray] = field(default_factory=dict)
    dynamic_bytes: dict[int, int] = field(default_factory=dict)
    pinned: dict[int, np.ndarray] = field(default_factory=dict)
    held: Counter[str] = field(default_factory=Counter)
    """How many of each kind of thing were made and not given back."""
    handles: list[str] = field(default_factory=list)
    memory_bytes: int = 1 << 30
    captured: list[Callable[[], object]] = field(default_factory=list)
    """The work of the graph that was captured last."""
    graphs: list[list[Callable[[], object]]] = field(default_factory=list)
    is_capturing: bool = False
    events: list[float] = field(default_factory=list)
    takes_code: bool = True
    images: list[bytes] = field(default_factory=list)
    """How what was loaded begins."""

    def __getattribute__(self, name: str):
        found = object.__getattribute__(self, name)
        if not name.startswith("cu") or name == "cuGetErrorString":
            return found

        def call(*arguments):
            self.calls.append(name)
            if name in self.failures:
                self.failed(name, *arguments)
                return self.failures[name]
            return found(*arguments) or 0

        return call

    def failed(self, name: str, *arguments) -> None:
        """What a function that fails leaves behind."""
        if name == "cuModuleLoadDataEx":
            log = (ctypes.c_char * arguments[4][1]).from_address(arguments[4][0])
            log.value = self.log

    def cuInit(self, flags):
        assert flags == 0

    def cuGetErrorString(self, status, text):
        text._obj.value = MESSAGES.get(status)
        return 0

    def cuDriverGetVersion(self, version):
        version._obj.value = self.version

    def cuDeviceGetCount(self, count):
        count._obj.value = 1

    def cuDeviceGet(self, handle, number):
        handle._obj.value = number

    def cuDeviceGetName(self, name, size, handle):
        name.value = b"Simulated GPU"

    def cuDeviceTotalMem_v2(self, size, handle):
        size._obj.value = self.memory_bytes

    def cuDeviceGetAttribute(self, value, attribute, handle):
        value._obj.value = self.gpu[attribute - 75]

    def cuDevicePrimaryCtxRetain(self, context, handle):
        self.held["context"] += 1
        context._obj.value = 1

    def cuCtxSetCurrent(self, context):
        assert context.value == 1

    def cuStreamCreate(self, stream, flags):
        self.held["stream"] += 1
        stream._obj.value = 2

    def cuStreamDestroy_v2(self, stream):
        assert stream.value == 2
        self.held["stream"] -= 1

    def cuDevicePrimaryCtxRelease_v2(self, handle):
        assert handle.value == 0
        self.held["context"] -= 1

    def cuStreamSynchronize(self, stream):
        assert stream.value == 2

    def cuMemAlloc_v2(self, address, size):
        """Memory that is not aligned beyond what is asked of a driver: 256 bytes."""
        raw = np.full(size.value + 256, 0xAB, np.uint8)
        address._obj.value = place = raw.ctypes.data + -raw.ctypes.data % 256
        self.memory[place] = raw

    def cuMemFree_v2(self, address):
        del self.memory[address.value]

    def cuMemHostAlloc(self, address, size, flags):
        raw = np.full(size.value, 0xCD, np.uint8)
        address._obj.value = raw.ctypes.data
        self.pinned[raw.ctypes.data] = raw

    def cuMemFreeHost(self, address):
        del self.pinned[address.value]

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes, behind all work before."""
        self.begin(partial(ctypes.memmove, target, source, size))

    def begin(self, work: Callable[[], object]) -> None:
        """Do what a stream is told, or note it for the graph."""
        if self.is_capturing:
            self.captured.append(work)
        else:
            work()

    def cuMemcpyHtoDAsync_v2(self, target, source, size, stream):
        self.copy(target.value, source.value, size.value)

    def cuMemcpyDtoDAsync_v2(self, target, source, size, stream):
        self.copy(target.value, source.value, size.value)

    def cuMemcpyDtoHAsync_v2(self, target, source, size, stream):
        self.copy(target.value, source.value, size.value)

    def cuEventCreate(self, event, flags):
        self.held["event"] += 1
        self.events.append(0.0)
        event._obj.value = len(self.events)

    def cuEventRecord(self, event, stream):
        assert stream.value == 2
        self.events[event.value - 1] = perf_counter()

    def cuEventElapsedTime(self, milliseconds, start, end):
        between = self.events[end.value - 1] - self.events[start.value - 1]
        milliseconds._obj.value = 1e3 * between

    def cuEventDestroy_v2(self, event):
        self.held["event"] -= 1

    def cuModuleLoadDataEx(self, module, text, count, options, values):
        image = text.value.lstrip()
        assert image.startswith((b"//", CODE))
        if image.startswith(CODE) and not self.takes_code:
            return 209
        self.images.append(image[: len(CODE)])
        module._obj.value = 3
        self.held["module"] += 1
        return 0

    def cuModuleUnload(self, module):
        assert module.value == 3
        self.held["module"] -= 1

    def cuModuleGetFunction(self, function, module, name):
        self.handles.append(name.decode())
        function._obj.value = len(self.handles)

    def cuFuncSetAttribute(self, function, attribute, value):
        assert attribute == 8
        self.dynamic_bytes[function.value] = value.value

    def cuTensorMapEncodeTiled(self, target, element, rank, address, *rest):
        """Checks what the driver's manual asks for."""
        shape, strides, tile, steps = map(list, rest[:4])
        interleave, swizzle, promotion, outside = (word.value for word in rest[4:])
        assert target.value % 64 == address.value % 16 == 0
        assert [stride % 16 for stride in strides] == [0] * (rank.value - 1)
        assert len(shape) == len(tile) == rank.value
        assert max(tile) <= 256
        assert steps == [1] * rank.value
        assert (interleave, promotion, outside) == (0, 2, 0)
        place = ctypes.c_ulonglong.from_address(target.value)
        place.value = len(ENCODED)
        found = (element.value, address.value, shape, strides, tile, swizzle)
        ENCODED.append(Encoded(*found))

    def cuLaunchKernel(self, function, *rest):
        *sizes, shared, _stream, pointers, _extra = rest
        assert shared.value <= self.dynamic_bytes.get(function.value, STATIC_SHARED)
        extents = [size.value for size in sizes]
        numbers = [ctypes.c_ulonglong.from_address(place).value for place in pointers]
        kernel = self.kernels[self.handles[function.value - 1]]
        launch = partial(kernel, extents[:3], extents[3:], numbers)
        self.begin(launch)

    def cuStreamBeginCapture_v2(self, stream, mode):
        self.is_capturing = True
        self.captured = []

    def cuStreamEndCapture(self, stream, graph):
        self.is_capturing = False
        self.graphs.append(self.captured)
        graph._obj.value = 4
        self.held["graph"] += 1

    def cuGraphDestroy(self, graph):
        assert graph.value == 4
        self.held["graph"] -= 1

    def cuGraphInstantiateWithFlags(self, executable, graph, flags):
        executable._obj.value = FIRST_GRAPH + len(self.graphs) - 1
        self.held["executable"] += 1

    def cuGraphExecDestroy(self, executable):
        assert FIRST_GRAPH <= executable.value < FIRST_GRAPH + len(self.graphs)
        self.held["executable"] -= 1

    def cuGraphLaunch(self, executable, stream):
        for launch in self.graphs[executable.value - FIRST_GRAPH]:
            launch()
