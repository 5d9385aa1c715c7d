"""`glow devices`: what networks can run on here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from glow.backends.backend import Device, backend_names, get_backend

MEGABYTE = 1 << 20


def list_devices(backend: str | None) -> None:
    """Print the devices of a backend, or of all that are installed."""
    for name in [backend] if backend else backend_names():
        print("\n".join(rows(name, get_backend(name).devices())))


def rows(backend: str, devices: Sequence[Device]) -> Iterator[str]:
    """A line for each device of a backend."""
    for device in devices:
        memory = device.memory_bytes
        size = "?" if memory is None else f"{memory // MEGABYTE:,} MB"
        yield f"{device.name:<16}{device.kind:<8}{size:>12}  {device.description}".rstrip()
    if not devices:
        yield f"{backend}: no device here"
