"""Which OpenCL devices there are, and what is missing where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from glow.backends.device import Device
from glow.backends.opencl.pocl import name_cpu

if TYPE_CHECKING:
    import pyopencl as cl

NO_LIBRARY = "pyopencl is not installed; pip install 'glow-xdsl[opencl]' brings it"
NO_DRIVER = (
    "there is no OpenCL platform; a vendor's driver brings one, PoCL one for CPUs"
)


def drivers_devices() -> Sequence[cl.Device]:
    """The devices of all drivers, in their order; none without pyopencl or a driver."""
    try:
        import pyopencl as cl
    except ImportError:
        return ()
    try:
        found = [each for one in cl.get_platforms() for each in one.get_devices()]
    except cl.Error:
        return ()
    for device in found:
        name_cpu(device)
    return found


def listed_devices(backend: str) -> Sequence[Device]:
    """The devices as others know them: `opencl:0` and so on."""
    return [
        Device(f"{backend}:{number}", kind(each), each.global_mem_size, described(each))
        for number, each in enumerate(drivers_devices())
    ]


def what_is_missing() -> str:
    """Why there is no device."""
    return NO_LIBRARY if find_spec("pyopencl") is None else NO_DRIVER


def kind(device: cl.Device) -> str:
    """What a device is."""
    import pyopencl as cl

    kinds = {"cpu": cl.device_type.CPU, "gpu": cl.device_type.GPU}
    return next((name for name, bit in kinds.items() if device.type & bit), "other")


def described(device: cl.Device) -> str:
    """The model, its units and its driver."""
    units = device.max_compute_units
    driver = device.platform.version.partition("  ")[0].strip()
    return f"{device.name.strip()}, {units} unit{'s' * (units != 1)}, {driver}"
