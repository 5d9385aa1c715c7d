"""An array in the memory of an OpenCL device: a `glow.backends.device.Buffer`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pyopencl as cl

from glow.runtime.native_program import Array


@cache
def context_of(device: cl.Device) -> cl.Context:
    """The context of a device, which all functions on it share, and so their buffers."""
    return cl.Context([device])


@dataclass(frozen=True)
class DeviceArray:
    """What a function on a device gives, and others there take."""

    device: str
    """The name: `opencl:0`."""
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]
    memory: cl.Buffer
    """At its start; all work that writes it is done."""
    queue: cl.CommandQueue

    @property
    def nbytes(self) -> int:
        """The bytes that it takes."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    def read(self) -> Array:
        """A copy in the host's memory."""
        data = np.empty(self.nbytes, np.uint8)
        if data.size:
            cl.enqueue_copy(self.queue, data, self.memory)
        return data.view(self.dtype).reshape(self.shape)
