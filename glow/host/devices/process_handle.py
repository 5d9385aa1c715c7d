"""A device process as its host sees it: from its start to its end, never restarted.

A channel is a connection and a block of shared memory, for one request at a time. All of it
belongs to this process alone: what a process that was killed has left behind, in a block or
on its way, cannot be taken for an answer of the next one.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future
from threading import Lock
from typing import TYPE_CHECKING

from glow.host.devices.process_messages import (
    ANSWER,
    DONE,
    FAILED,
    REQUEST,
    ConnectionLost,
    Frame,
    error_of_frame,
    receive_frame,
    receive_into,
    receive_text,
    send_frame,
)
from glow.host.devices.remote import RemoteNetwork
from glow.host.devices.shared_block import Array, SharedBlock
from glow.host.devices.slot_arrays import (
    Views,
    shapes_as_text,
    shapes_of_text,
)

if TYPE_CHECKING:
    from glow.dialects.errors import GlowError
    from glow.host.devices.model_blob import ModelBlob
    from glow.host.request import Request
    from glow.specialized_model import RunnableModel

START_SECONDS = 60.0
"""How long a process may take until it can load networks."""

END_SECONDS = 5.0
"""How long it may take to end."""

YOUNG_SECONDS = 10.0
"""A process that dies sooner, and has answered nothing, may die of what it loaded."""

WORKER = (sys.executable, "-P", "-m", "glow.host.devices.process_main")


class DeviceNetworkFile(RemoteNetwork):
    """A network that a device has: what its processes load, and who runs it."""

    def __init__(
        self, number: int, model: RunnableModel, slots: int, blob: ModelBlob
    ) -> None:
        super().__init__(number, model, slots)
        self.blob = blob
        self.jobs = 0
        """How many requests for it are here."""
        self.is_unloaded = False


class Job(Future[list[Array]]):
    """The outputs of a request, and what is sent for it."""

    def __init__(
        self, network: DeviceNetworkFile, inputs: Sequence[Array], request: Request
    ) -> None:
        super().__init__()
        self.network = network
        self.inputs = inputs
        self.request = request


class Channel:
    """One slot of a device process."""

    def __init__(self, connection: socket.socket, block: SharedBlock) -> None:
        self.connection = connection
        self.job: Job | None = None
        """What runs; None while it is idle."""
        self._block = block
        self._views: dict[int, Views] = {}
        self._number = 0
        self._open_end = 0
        self._header = memoryview(bytearray(ANSWER.size))

    def send(self, job: Job, threads: int) -> None:
        """Copy a request's inputs into the block, and ask for its outputs.

        Of a process that is gone nothing is said here: who listens to it knows.
        """
        layout, number = job.network.layout, job.network.number
        text = b""
        if layout.shapes is not None:
            views = self._views.get(number)
            if views is None:
                views = self._views[number] = layout.fixed_views(self._block)
            inputs = views[0]
        else:
            text = shapes_as_text(job.inputs)
            shapes = [array.shape for array in job.inputs]
            inputs, self._open_end = layout.open_inputs(self._block, shapes)
        for view, array in zip(inputs, job.inputs, strict=True):
            view[...] = array
        self._number += 1
        head = REQUEST.pack(number, threads, len(text), self._number)
        with contextlib.suppress(OSError):
            self.connection.sendall(head + text)

    def receive(self) -> tuple[Job, list[Array] | GlowError]:
        """The next job that is done, with its outputs; raises ConnectionLost."""
        receive_into(self.connection, self._header)
        status, size, number = ANSWER.unpack(self._header)
        job = self.job
        if job is None or number != self._number or status not in (DONE, FAILED):
            raise ConnectionLost("it sent what is no answer")
        text = receive_text(self.connection, size) if size else b""
        if status == FAILED:
            try:
                return job, error_of_frame(json.loads(text))
            except ValueError as error:
                raise ConnectionLost("it sent what is no answer") from error
        return job, [view.copy() for view in self._outputs(job, text)]

    def _outputs(self, job: Job, text: bytes) -> list[Array]:
        layout = job.network.layout
        if layout.shapes is not None:
            return self._views[job.network.number][1]
        shapes = shapes_of_text(text, len(layout.output_dtypes))
        return layout.open_outputs(self._block, shapes, self._open_end, grow=False)

    def forget(self, network: DeviceNetworkFile) -> None:
        """Let go of the views of a network."""
        self._views.pop(network.number, None)

    def end(self) -> None:
        """End the connection, which whoever listens to it closes."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection and the block, when nobody listens any more."""
        self._views.clear()
        self.connection.close()
        self._block.close()


class WorkerProcess:
    """A device process that has been started."""

    def __init__(
        self, cores: Sequence[int], slots: int, command: Sequence[str] = WORKER
    ) -> None:
        """Raises OSError where no process can be started, or no memory is there."""
        self._sending = Lock()
        self._began = time.monotonic()
        theirs: list[socket.socket] = []
        blocks: list[SharedBlock] = []
        self.channels: list[Channel] = []
        self._control, control = socket.socketpair()
        theirs.append(control)
        try:
            for _ in range(slots):
                mine, other = socket.socketpair()
                blocks.append(SharedBlock())
                theirs.append(other)
                self.channels.append(Channel(mine, blocks[-1]))
            numbers = [
                [s.fileno(), b.descriptor]
                for s, b in zip(theirs[1:], blocks, strict=True)
            ]
            options = {
                "control": control.fileno(),
                "slots": numbers,
                "cores": list(cores),
            }
            self._process = subprocess.Popen(
                [*command, json.dumps(options)],
                stdin=subprocess.DEVNULL,
                pass_fds=[one for pair in numbers for one in pair] + [control.fileno()],
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                },
            )
        except BaseException:
            self._close()
            self.close_channels()
            raise
        finally:
            for one in theirs:
                one.close()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def is_young(self) -> bool:
        """Whether it is so short a time since the start that what it died of may be that."""
        return time.monotonic() - self._began < YOUNG_SECONDS

    def wait_until_ready(self) -> None:
        """Return when it can load networks; raises ConnectionLost where it cannot."""
        self._control.settimeout(START_SECONDS)
        self._answer()
        self._control.settimeout(None)

    def load(self, network: DeviceNetworkFile) -> None:
        """Load a network; raises ConnectionLost, and GlowError where that cannot be done."""
        blob = network.blob
        frame = {"do": "load", "network": network.number, "kind": blob.kind}
        with self._sending:
            send_frame(self._control, frame, [blob.descriptor])
        answer = self._answer()
        if "error" in answer:
            raise error_of_frame(answer["error"])
        if answer.get("network") != network.number:
            raise ConnectionLost("it sent what is no answer")

    def unload(self, network: DeviceNetworkFile) -> None:
        """Let the process let go of a network, which nobody asks for any more."""
        for channel in self.channels:
            channel.forget(network)
        with self._sending, contextlib.suppress(ConnectionLost):
            send_frame(self._control, {"do": "unload", "network": network.number})

    def end(self) -> None:
        """End it; returns when it has ended."""
        self._close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def kill(self) -> str | None:
        """End it at once; tells how it ended, unless that is by this."""
        how = self._ended()
        self._process.kill()
        self._process.wait()
        self._close()
        return how

    def close_channels(self) -> None:
        """Close what nobody has begun to listen to."""
        for channel in self.channels:
            channel.close()

    def _ended(self) -> str | None:
        """How the process ended; None while it runs."""
        try:  # Its connections are closed a moment before it has ended.
            code = self._process.wait(0.2)
        except subprocess.TimeoutExpired:
            return None
        if code >= 0:
            return f"its process ended with code {code}"
        with contextlib.suppress(ValueError):
            return f"its process was killed by {signal.Signals(-code).name}"
        return f"its process was killed by signal {-code}"

    def _answer(self) -> Frame:
        answer, descriptors = receive_frame(self._control)
        for descriptor in descriptors:
            os.close(descriptor)
        return answer

    def _close(self) -> None:
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        self._control.close()
        for channel in self.channels:
            channel.end()
