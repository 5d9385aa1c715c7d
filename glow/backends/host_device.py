"""This machine as a device, for the backends that run on it."""

from __future__ import annotations

from glow.backends.backend import Device
from glow.lowering.target.target import host_target
from glow.runtime.memory import memory_bytes
from glow.runtime.threads.cores import available_cores


def host_device(backend: str) -> Device:
    """The CPU with the cores and the memory that this process may use."""
    cores = available_cores()
    description = f"{host_target().cpu}, {cores} core{'s' * (cores != 1)}"
    return Device(f"{backend}:0", "cpu", memory_bytes(), description)
