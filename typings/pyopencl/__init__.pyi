# What the OpenCL backend uses of pyopencl.
from collections.abc import Sequence
from enum import IntFlag
from typing import Any

import numpy as np
import numpy.typing as npt

class Error(Exception): ...

LogicError = Error
RuntimeError = Error
MemoryError = Error

class Platform:
    name: str
    version: str
    def get_devices(self) -> list[Device]: ...

class Device:
    name: str
    vendor: str
    version: str
    platform: Platform
    type: int
    max_compute_units: int
    global_mem_size: int
    max_mem_alloc_size: int
    extensions: str
    int_ptr: int

class device_type:
    CPU: int
    GPU: int
    ACCELERATOR: int

class mem_flags(IntFlag):
    READ_ONLY = ...
    READ_WRITE = ...
    COPY_HOST_PTR = ...

class Context:
    devices: Sequence[Device]
    def __init__(self, devices: Sequence[Device]) -> None: ...

class CommandQueue:
    def __init__(self, context: Context, device: Device | None = ...) -> None: ...
    def finish(self) -> None: ...

class Buffer:
    def __init__(
        self,
        context: Context,
        flags: int,
        size: int = ...,
        hostbuf: npt.NDArray[Any] | None = ...,
    ) -> None: ...

class Program:
    def __init__(self, context: Context, source: str) -> None: ...
    def build(self, options: Sequence[str] = ...) -> Program: ...

class Kernel:
    def __init__(self, program: Program, name: str) -> None: ...
    def set_args(self, *arguments: Buffer | np.generic) -> None: ...
    def set_arg(self, index: int, argument: Buffer | np.generic) -> None: ...

class Event: ...

def get_platforms() -> list[Platform]: ...
def enqueue_nd_range_kernel(
    queue: CommandQueue,
    kernel: Kernel,
    global_work_size: tuple[int, ...],
    local_work_size: tuple[int, ...] | None,
) -> Event: ...
def enqueue_copy(
    queue: CommandQueue,
    dest: Buffer | npt.NDArray[Any],
    src: Buffer | npt.NDArray[Any],
    *,
    byte_count: int = ...,
    dst_offset: int = ...,
    src_offset: int = ...,
    is_blocking: bool = ...,
) -> Event: ...
