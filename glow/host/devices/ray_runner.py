"""A node of a Ray cluster that measures: what `glow tune --remote=ray://` runs instead of `ssh`.

    glow tune <--pipes--> this process <--Ray--> actor of a node <--pipes--> runner of a board

The actor passes on bytes and has a processor of its node; it ends with this process. A node that
is gone ends this process, and the next one gets an actor elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from typing import cast

from glow.dialects.errors import GlowError, one_line
from glow.host.devices.ray_api import Actor, Ray, ray_errors
from glow.host.devices.ray_cluster import RayCluster

PART_BYTES = 1 << 20
FIRST_SIGNAL = 128


class Relay:
    """The runner on a node, which needs nothing else than Python there.

    This module is the main one, so that Ray sends the class itself; `send` and `receive` are
    called at the same time.
    """

    def __init__(self, command: str) -> None:
        self._errors = tempfile.TemporaryFile()
        self._runner = subprocess.Popen(
            ["sh", "-c", command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )

    def send(self, part: bytes) -> None:
        """Pass on what the runner is asked."""
        stream = self._runner.stdin
        with contextlib.suppress(OSError):  # `receive` tells that it has ended.
            if stream is not None:
                stream.write(part)
                stream.flush()

    def receive(self) -> bytes:
        """The next line of its answers; empty where it has ended."""
        stream = self._runner.stdout
        return b"" if stream is None else stream.readline()

    def ending(self) -> tuple[int, str]:
        """How the runner has ended: its status, and the last line of its errors."""
        status = self._runner.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return status, lines[-1] if lines else ""


def forward(ray: Ray, relay: Actor) -> None:
    """Pass on what this process is asked until nobody asks any more, which ends it."""
    with contextlib.suppress(Exception):
        while part := os.read(0, PART_BYTES):
            ray.get(relay.send.remote(part))
        ray.kill(relay)
    os._exit(0)


def serve(address: str, command: str) -> int:
    """Run a command on a node of a cluster, on this process's input and output."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # For what Ray prints.
    try:
        ray = RayCluster(address).ray
    except GlowError as error:
        print(error.one_line(), file=sys.stderr)
        return 1
    try:
        options: dict[str, object] = {"num_cpus": 1, "max_concurrency": 2}
        relay = ray.remote(Relay).options(**options).remote(command)
        threading.Thread(target=forward, args=(ray, relay), daemon=True).start()
        while line := cast("bytes", ray.get(relay.receive.remote())):
            answers.write(line)
            answers.flush()
        ending = ray.get(relay.ending.remote())
    except ray_errors() as error:
        print(one_line(str(error)), file=sys.stderr)
        return 1
    status, last = cast("tuple[int, str]", ending)
    print(last, file=sys.stderr)
    return status if status >= 0 else FIRST_SIGNAL - status


if __name__ == "__main__":
    os._exit(serve(*sys.argv[1:]))
