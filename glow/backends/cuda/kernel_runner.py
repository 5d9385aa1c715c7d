"""Runs single kernels for many threads on arrays of the host: for tests and measurements."""

from __future__ import annotations

from collections.abc import Sequence

from glow.backends.cuda.driver import CudaDevice, capability
from glow.backends.cuda.kernels.gpu_builder import GpuKernel
from glow.backends.cuda.ptx import gpu_kernels_ptx, maps_of
from glow.backends.cuda.tensor_map import arguments_of
from glow.dialects.errors import GlowError
from glow.dialects.weight_table import Array
from glow.lowering.target.named_targets import GPUS
from glow.lowering.target.target import Target


def gpu_target(gpu: str) -> Target:
    """The target of a device: all that it has, or the newest that is older."""
    number = capability(gpu)
    known = [
        name
        for name in GPUS
        if name == f"{gpu}a" or (capability(name) <= number and name[-1] != "a")
    ]
    if not known:
        raise GlowError(f"'{gpu}' is older than {', '.join(GPUS)}")
    return Target.from_string(max(known, key=lambda name: (capability(name), name)))


def run_on_device(
    device: CudaDevice, kernel: GpuKernel, buffers: Sequence[Array]
) -> None:
    """Runs a kernel on copies of buffers, and fills those with what is in the copies then.

    Buffers of the same bytes have one copy, as those of a state that is updated in place.
    Raises GlowError, which names the kernel, where the device stops.
    """
    function = kernel.function
    name = function.sym_name.data
    device.enter()
    text = gpu_kernels_ptx([kernel], gpu_target(device.facts.gpu))
    module = device.load(text.encode())
    addresses: dict[int, int] = {}
    sizes = [function.known_grid_size, function.known_block_size]
    grid, block = (list(size.iter_values()) for size in sizes if size is not None)
    try:
        for buffer in buffers:
            if buffer.ctypes.data not in addresses:
                address = device.allocate(max(buffer.nbytes, 1))
                addresses[buffer.ctypes.data] = address
                device.upload(address, buffer)
        places = [(addresses[buffer.ctypes.data], 0) for buffer in buffers]
        arguments = arguments_of(device, places, maps_of(kernel))
        shared = kernel.dynamic_bytes
        entry = device.function(module, name, shared)
        device.launch(entry, grid, block, arguments, shared)
        for buffer in buffers:
            device.download(addresses[buffer.ctypes.data], buffer)
    except GlowError as error:
        raise GlowError(f"kernel '{name}': {error.message}") from error
    finally:
        for address in addresses.values():
            device.free(address)
        device.unload(module)
