"""`glow devices`: what networks can run on here, and what the devices of a host are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from glow.backends.backend import Device, backend_names, get_backend

MEGABYTE = 1 << 20


def list_devices(backend: str | None) -> None:
    """Print the devices of a backend, or of all that are installed."""
    for name in [backend] if backend else backend_names():
        print("\n".join(rows(name, get_backend(name).devices())))


def list_host_devices(texts: Sequence[str]) -> None:
    """Print the devices that a host would have: `process*2`, `ray://head:10001`."""
    from contextlib import ExitStack, closing

    from glow.host.devices.specification import open_devices

    with ExitStack() as stack:
        for device in open_devices(texts):
            stack.enter_context(closing(device))
            requests = (
                "one request" if device.slots == 1 else f"{device.slots} requests"
            )
            one = Device(device.name, device.backend, device.memory().limit_bytes)
            print(row(one, f"{requests} at a time"))


def rows(backend: str, devices: Sequence[Device]) -> Iterator[str]:
    """A line for each device of a backend."""
    for device in devices:
        yield row(device, device.description)
    if not devices:
        yield f"{backend}: no device here"


def row(device: Device, description: str) -> str:
    """A line for a device."""
    memory = device.memory_bytes
    size = "?" if memory is None else f"{memory // MEGABYTE:,} MB"
    return f"{device.name:<16}{device.kind:<8}{size:>12}  {description}".rstrip()
