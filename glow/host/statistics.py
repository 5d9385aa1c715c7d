"""Figures of a host: what became of requests, for how long they waited and ran.

`Host.statistics()` returns

    {"models": {NAME: {
        "requests": those that were accepted, "waiting", "running",
        "succeeded", "failed", "refused" (the queue was full), "expired", "cancelled",
        "batches": {size: how many were started},
        "queue_seconds", "compute_seconds": sums over all requests that were started,
        "memory_bytes", "devices": [names],
        "batching": {sizes on other axes: requests a second by batch, or why there are none}}},
     "devices": {NAME: {"health", "slots", "outstanding", "requests",
        "memory_used_bytes", "memory_limit_bytes"}},
     "queue": {"waiting", "limit"}}
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glow.host.devices.device import DeviceManager


@dataclass
class ModelStatistics:
    """The figures of a model; their owner holds a lock."""

    requests: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    refused: int = 0
    expired: int = 0
    cancelled: int = 0
    batches: Counter[int] = field(default_factory=Counter[int])
    queue_seconds: float = 0.0
    compute_seconds: float = 0.0

    def as_mapping(self) -> dict[str, object]:
        """The figures by name."""
        return {**vars(self), "batches": dict(sorted(self.batches.items()))}


def device_figures(device: DeviceManager) -> dict[str, object]:
    """The figures of a device by name."""
    memory = device.memory()
    return {
        "health": device.health().value,
        "slots": device.slots,
        "outstanding": device.outstanding,
        "requests": device.requests,
        "memory_used_bytes": memory.used_bytes,
        "memory_limit_bytes": memory.limit_bytes,
    }
