"""Kills device processes under load: nothing may be wrong, hang or go unexplained.

    python test/fuzz/device_faults.py [--seconds 60] [--every 2] [--devices 2]

Clients ask a host for a network without a pause, each with inputs of its own, while one device
process after the other gets SIGKILL. Each answer must be that of the same network in this
process, bit for bit; each failure must name a device; each request must end. Printed are the
requests, and how long after each kill as many as before ended again.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import glow
from glow.host.devices.device import Health
from glow.host.request import DeviceError

NETWORK = """
func.func @main(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %w = glow.splat 0.0078125 : tensor<128x128xf32>
  %0 = glow.matmul %x, %w : tensor<64x128xf32>
  %1 = glow.relu %0 : tensor<64x128xf32>
  %2 = glow.add %1, %x : tensor<64x128xf32>
  func.return %2 : tensor<64x128xf32>
}
"""
INPUTS = 8
HUNG_SECONDS = 30.0
"""A request that takes longer never ends."""
BACK_SECONDS = 3.0
"""After a kill the throughput must be back that soon."""
WINDOW = 0.25
BACK_SHARE = 0.8
"""What share of the requests before a kill must end in a window."""


@dataclass
class Storm:
    """What happened."""

    done: list[float] = field(default_factory=list)
    """When each request ended well."""
    failures: list[str] = field(default_factory=list)
    """What those that failed said."""
    faults: list[str] = field(default_factory=list)
    """What must not be."""
    kills: list[float] = field(default_factory=list)
    ready: list[float] = field(default_factory=list)
    """How many seconds after a kill the device was ready again."""

    def recoveries(self) -> list[float]:
        """How many seconds after each kill the throughput was back."""
        return [self._recovery(at) for at in self.kills]

    def _recovery(self, at: float) -> float:
        done = np.array(self.done)
        before = ((done > at - 1) & (done <= at)).sum() * WINDOW
        moment = at
        while moment < done.max():
            if (
                (done > moment) & (done <= moment + WINDOW)
            ).sum() >= BACK_SHARE * before:
                return moment + WINDOW - at
            moment += WINDOW / 5
        return float("inf")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--every", type=float, default=2.0)
    parser.add_argument("--devices", type=int, default=2)
    options = parser.parse_args()
    storm = run_storm(options.seconds, options.every, options.devices)
    recoveries = storm.recoveries()
    print(
        f"{len(storm.done)} requests, {len(storm.failures)} failed, {len(storm.kills)} kills; "
        f"device ready after {statistics.median(storm.ready):.2f} s (median), "
        f"{max(storm.ready):.2f} s (most); throughput back after "
        f"{statistics.median(recoveries):.2f} s, {max(recoveries):.2f} s"
    )
    if max(recoveries) > BACK_SECONDS:
        storm.faults.append(f"the throughput took {max(recoveries):.2f} s to be back")
    for fault in storm.faults[:20]:
        print("WRONG:", fault)
    return int(bool(storm.faults))


def run_storm(seconds: float, every: float, devices: int) -> Storm:
    """Kill a device every so many seconds, under load."""
    storm = Storm()
    end = threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "network.mlir")
        path.write_text(NETWORK)
        model = glow.compile(path)
    with glow.Host([f"process*{devices}"]) as host:
        host.add("network", model, replicas=devices)
        clients = [
            threading.Thread(target=_ask, args=(host, model, number, storm, end))
            for number in range(2 * devices)
        ]
        for client in clients:
            client.start()
        try:
            _kill_all_the_time(host, storm, seconds, every)
        finally:
            end.set()
            for client in clients:
                client.join(2 * HUNG_SECONDS)
                if client.is_alive():
                    storm.faults.append("a client hangs")
    storm.done.sort()
    return storm


def _ask(
    host: glow.Host,
    model: glow.CompiledModel,
    seed: int,
    storm: Storm,
    end: threading.Event,
) -> None:
    """Ask without a pause, and compare."""
    drawn = np.random.default_rng(seed)
    inputs = [drawn.random((64, 128), np.float32) - 0.5 for _ in range(INPUTS)]
    expected = [model(array) for array in inputs]
    names = {device.name for device in host.devices}
    number = 0
    while not end.is_set():
        number = (number + 1) % INPUTS
        try:
            (found,) = host.run("network", inputs[number]).result(HUNG_SECONDS).values()
        except DeviceError as error:
            storm.failures.append(str(error))
            if error.device not in names or error.device not in str(error):
                storm.faults.append(f"names no device: {error}")
        except TimeoutError:
            storm.faults.append("a request hangs")
            return
        except Exception as error:
            storm.faults.append(f"another error: {error!r}")
        else:
            storm.done.append(time.monotonic())
            if not np.array_equal(found, expected[number]):
                storm.faults.append("a wrong answer")


def _kill_all_the_time(
    host: glow.Host, storm: Storm, seconds: float, every: float
) -> None:
    """Kill a device and see it come back, again and again."""
    until = time.monotonic() + seconds
    number = 0
    time.sleep(every / 2)
    while time.monotonic() + every < until or not storm.kills:
        device = host.devices[number % len(host.devices)]
        number += 1
        pid = device.pid
        storm.kills.append(time.monotonic())
        os.kill(pid, signal.SIGKILL)
        while device.health() is not Health.READY or device.pid == pid:
            if time.monotonic() > storm.kills[-1] + HUNG_SECONDS:
                storm.faults.append(f"'{device.name}' does not come back")
                return
            time.sleep(0.01)
        storm.ready.append(time.monotonic() - storm.kills[-1])
        time.sleep(max(0.0, storm.kills[-1] + every - time.monotonic()))


if __name__ == "__main__":
    sys.exit(main())
