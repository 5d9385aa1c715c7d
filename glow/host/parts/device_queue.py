"""The parts of requests that wait for a device, those of higher priority first.

Among equals the earlier request is first, at every device alike: so requests of one priority
end in the order in which they came wherever a device runs one at a time, and what has begun
is finished before more is begun.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glow.host.devices.device import DeviceManager
    from glow.host.parts.partitioned_run import PartStep

_here = threading.local()


class DeviceQueue:
    """What waits for one device; all methods are thread-safe."""

    def __init__(self, device: DeviceManager) -> None:
        self.device = device
        self._waiting: list[tuple[tuple[int, ...], PartStep]] = []
        self._lock = threading.Lock()
        device.on_slot = self.dispatch

    def push(self, step: PartStep) -> None:
        """Let a step wait; `dispatch` starts it."""
        with self._lock:
            heapq.heappush(self._waiting, (step.turn, step))

    def load(self) -> tuple[int, int]:
        """What is least for the device that is next: most room, then longest idle."""
        device = self.device
        return device.outstanding + len(self._waiting), device.last_used

    def take(self, owner: object) -> list[PartStep]:
        """The steps of a network, which wait no more."""
        with self._lock:
            taken = [place for place in self._waiting if place[1].owner is owner]
            self._waiting = [p for p in self._waiting if p[1].owner is not owner]
            heapq.heapify(self._waiting)
        return [step for _, step in sorted(taken)]

    def dispatch(self) -> None:
        """Start what waits while slots are free.

        What ends in this thread meanwhile lets more start, here or on other devices: it is
        noted and comes afterwards, so that calls do not nest as deep as requests are many.
        """
        noted: deque[DeviceQueue] | None = getattr(_here, "noted", None)
        if noted is not None:
            noted.append(self)
            return
        noted = _here.noted = deque[DeviceQueue]([self])
        try:
            while noted:
                queue = noted.popleft()
                while (step := queue._next()) is not None:
                    step.run(queue.device)
        finally:
            del _here.noted

    def _next(self) -> PartStep | None:
        """The step that is next, for which a slot is reserved; None where there is none."""
        with self._lock:
            if not self._waiting or not self.device.reserve():
                return None
            return heapq.heappop(self._waiting)[1]


class DeviceQueues:
    """The queues of a host's devices, made when the first divided network comes."""

    def __init__(self) -> None:
        self._queues: dict[DeviceManager, DeviceQueue] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def next_number(self) -> int:
        """The number of a request: higher for those that come later."""
        return next(self._numbers)

    def of(self, device: DeviceManager) -> DeviceQueue:
        """The queue of a device."""
        with self._lock:
            if device not in self._queues:
                self._queues[device] = DeviceQueue(device)
            return self._queues[device]
