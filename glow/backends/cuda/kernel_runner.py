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
    """Runs a kernel on copies of buffers, and fills the first with what it wrote.

    Raises GlowError, which names the kernel, where the device stops.
    """
    function = kernel.function
    name = function.sym_name.data
    device.enter()
    text = gpu_kernels_ptx([kernel], gpu_target(device.facts.gpu))
    module = device.load(text.encode())
    addresses: list[int] = []
    sizes = [function.known_grid_size, function.known_block_size]
    grid, block = (list(size.iter_values()) for size in sizes if size is not None)
    try:
        for buffer in buffers:
            addresses.append(device.allocate(max(buffer.nbytes, 1)))
            device.upload(addresses[-1], buffer)
        places = [(address, 0) for address in addresses]
        arguments = arguments_of(device, places, maps_of(kernel))
        shared = kernel.dynamic_bytes
        entry = device.function(module, name, shared)
        device.launch(entry, grid, block, arguments, shared)
        device.download(addresses[0], buffers[0])
    except GlowError as error:
        raise GlowError(f"kernel '{name}': {error.message}") from error
    finally:
        for address in addresses:
            device.free(address)
        device.unload(module)
