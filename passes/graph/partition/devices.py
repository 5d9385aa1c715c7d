"""The devices that a network is divided between, as text says them.

cpu,cpu:2GiB,interpreter    ->  cpu:0, cpu:1 (2 GiB), interpreter:0
cpu:512MiB*3                ->  cpu:0, cpu:1, cpu:2 (512 MiB each)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from glow.dialects.errors import GlowError

UNITS = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}

BACKENDS = {"process": "cpu", "ray": "cpu"}
"""Which backend compiles for a kind of device, where that is not the backend's name."""

_SPECIFICATION = re.compile(
    r"(?P<kind>[A-Za-z_][\w-]*)(\*(?P<count>[0-9]{1,3}))?"
    r"(:(?P<size>[0-9.]+)(?P<unit>[A-Za-z]*))?"
)


@dataclass(frozen=True)
class PartitionDevice:
    """Where a part of a network may run."""

    name: str
    """`cpu:0`: unlike all others."""
    backend: str
    """Who compiles for it."""
    memory_bytes: int | None = None
    """What its parts may take together; None for any."""

    @property
    def kind(self) -> str:
        """`cpu` of `cpu:0`."""
        return self.name.partition(":")[0]

    def __str__(self) -> str:
        """What `parse_devices` reads, without the number."""
        kind = self.kind
        size = self.memory_bytes
        if size is None:
            return kind
        unit = next(u for u in ("GiB", "MiB", "KiB", "B") if size % UNITS[u] == 0)
        return f"{kind}:{size // UNITS[unit]}{unit}"


def parse_devices(texts: Sequence[str]) -> tuple[PartitionDevice, ...]:
    """The devices that specifications stand for, numbered by kind from 0.

    Raises GlowError for what is no specification. Whether the backend is there is found out
    when it is asked.
    """
    devices: list[PartitionDevice] = []
    numbers = Counter[str]()
    for text in texts:
        found = _SPECIFICATION.fullmatch(text)
        if found is None:
            raise GlowError(
                f"'{text}' is no device", hint="such as cpu, cpu:2GiB or interpreter*2"
            )
        kind = found["kind"]
        memory = None if found["size"] is None else _bytes(text, found)
        for _ in range(int(found["count"] or 1)):
            name = f"{kind}:{numbers[kind]}"
            devices.append(PartitionDevice(name, backend_of(name), memory))
            numbers[kind] += 1
    return tuple(devices)


def backend_of(device: str) -> str:
    """Who compiles for a device: for `cpu:0` the backend `cpu`."""
    kind = device.partition(":")[0]
    return BACKENDS.get(kind, kind)


def _bytes(text: str, found: re.Match[str]) -> int:
    """The memory that a specification says; raises GlowError for another unit or none."""
    try:
        size = int(float(found["size"]) * UNITS[found["unit"]])
    except (KeyError, ValueError, OverflowError):
        size = 0
    if size < 1:
        units = ", ".join(filter(None, UNITS))
        raise GlowError(
            f"the memory of device '{text}' is no number of bytes",
            hint=f"such as cpu:2GiB (units: {units})",
        )
    return size


def device_named(name: str, devices: Sequence[PartitionDevice]) -> int:
    """The number of a device; `cpu` is `cpu:0`. Raises GlowError listing those there are."""
    wanted = name if ":" in name else f"{name}:0"
    names = [device.name for device in devices]
    if wanted not in names:
        raise GlowError(
            f"unknown device '{name}'", hint=f"there are {', '.join(names) or 'none'}"
        )
    return names.index(wanted)


def in_bytes(size: float) -> str:
    """`1.5 MiB`: a number of bytes for people."""
    for unit in ("GiB", "MiB", "KiB"):
        if size >= UNITS[unit]:
            return f"{size / UNITS[unit]:.4g} {unit}"
    return f"{size:.0f} bytes"
