"""Asks a host on a Ray cluster of three nodes, of which it kills one meanwhile.

    python test/python/support/runtime/ray_driver.py HEAD:PORT ADDRESS GROUP MODEL

`ADDRESS` is that of the node, `GROUP` its group of processes.
"""

from __future__ import annotations

import os
import signal
import sys
import time

import numpy as np
import ray

import glow
from glow.host.devices.device import Health
from glow.host.request import DeviceError

SECONDS = 90


def main(head: str, address: str, group: int, model: str) -> None:
    ray.init(
        address=head,
        _node_ip_address=head.partition(":")[0],
        log_to_driver=False,
        logging_level="ERROR",
    )
    try:
        wait_until(lambda: len(ray.nodes()) == 3)
        with glow.Host("ray") as host:
            host.add("m", glow.compile(model), replicas=3)
            print("devices", *sorted(device.name for device in host.devices))
            for _ in range(12):
                ask(host)
            assert all(device.requests for device in host.devices)
            (lost,) = (one for one in host.devices if address in one.name)
            os.killpg(group, signal.SIGKILL)
            wait_until(lambda: is_dead(host, lost))
            for _ in range(6):
                ask(host)
            print("lost", lost.name)
    finally:
        ray.shutdown()


def ask(host: glow.Host) -> None:
    """One request, and its answer."""
    x = np.array([-1, 2, -3, 4], np.float32)
    (found,) = host.run("m", x).result(SECONDS).values()
    np.testing.assert_array_equal(found, np.maximum(x, 0))


def is_dead(host: glow.Host, lost: object) -> bool:
    """Whether the node is known to be gone; only it may fail until then."""
    try:
        ask(host)
    except DeviceError as error:
        if error.device != lost.name:
            raise
    return lost.health() is Health.DEAD


def wait_until(is_so: object) -> None:
    """Return when it is so."""
    end = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
