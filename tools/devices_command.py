"""`glow devices`: what networks can run on here, and what the devices of a host are.

cpu:0           cpu          15,995 MB  znver5, 2 cores
npu:0           npu           4,096 MB  cannot be used: the driver is older than 2.1
opencl          cannot be used: there is no OpenCL platform
broken          cannot be used: backend 'broken' (broken:B of broken) cannot be loaded: ...
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from glow.backends.backend import backend_names, get_backend
from glow.backends.device import Device
from glow.dialects.errors import GlowError

MEGABYTE = 1 << 20


@dataclass(frozen=True)
class BackendDevices:
    """A backend with what it runs on here."""

    backend: str
    devices: Sequence[Device]
    problem: str = ""
    """Why there are none."""

    def rows(self) -> Iterator[str]:
        """A line for each device, or one that says why there is none."""
        for device in self.devices:
            text = unusable(device.problem) if device.problem else device.description
            yield row(device, text)
        if not self.devices:
            yield f"{self.backend:<16}{unusable(self.problem)}"

    def as_mapping(self) -> Mapping[str, object]:
        """The same for programs."""
        problem = None if self.devices else self.problem
        devices = [
            {**asdict(device), "problem": device.problem or None}
            for device in self.devices
        ]
        return {"backend": self.backend, "problem": problem, "devices": devices}


def list_devices(backend: str | None, *, as_json: bool = False) -> None:
    """Print the devices of a backend, or of all that are installed.

    One that cannot be loaded has no device, unless it is the one that is asked for: then
    GlowError says why.
    """
    if backend:
        found = [devices_of(backend)]
    else:
        found = list(map(known_devices_of, backend_names()))
    if as_json:
        print(json.dumps([one.as_mapping() for one in found], indent=2))
    else:
        print("\n".join(line for one in found for line in one.rows()))


def devices_of(name: str) -> BackendDevices:
    """The devices of a backend; raises GlowError where it cannot be loaded."""
    backend = get_backend(name)
    devices = backend.devices()
    return BackendDevices(name, devices, "" if devices else backend.why_no_device())


def known_devices_of(name: str) -> BackendDevices:
    """The same, where what cannot be loaded has none."""
    try:
        return devices_of(name)
    except GlowError as error:
        return BackendDevices(name, (), error.one_line())


def list_host_devices(texts: Sequence[str]) -> None:
    """Print the devices that a host would have: `process*2`, `ray://head:10001`."""
    from contextlib import ExitStack, closing

    from glow.host.devices.opening import open_devices

    with ExitStack() as stack:
        for device in open_devices(texts):
            stack.enter_context(closing(device))
            requests = (
                "one request" if device.slots == 1 else f"{device.slots} requests"
            )
            one = Device(device.name, device.backend, device.memory().limit_bytes)
            print(row(one, f"{requests} at a time"))


def unusable(reason: str) -> str:
    """What stands in the place of a description."""
    return f"cannot be used: {reason}"


def row(device: Device, description: str) -> str:
    """A line for a device."""
    memory = device.memory_bytes
    size = "?" if memory is None else f"{memory // MEGABYTE:,} MB"
    return f"{device.name:<16}{device.kind:<8}{size:>12}  {description}".rstrip()
