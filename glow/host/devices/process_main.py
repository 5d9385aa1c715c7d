"""A device process: loads networks, and runs requests for them, a thread a slot.

    python -m glow.host.devices.process_main '{"control": 3, "slots": [[4, 5]], "cores": []}'

`control` and the first of each slot are connections (`process_messages.py`), the second is
the slot's block of shared memory (`shared_block.py`). It ends when its host does.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from glow.dialects.errors import GlowError
from glow.host.devices.model_blob import read_blob
from glow.host.devices.process_messages import (
    ANSWER,
    DONE,
    FAILED,
    REQUEST,
    ConnectionLost,
    Frame,
    error_as_frame,
    receive_frame,
    receive_into,
    receive_text,
    send_frame,
)
from glow.host.devices.shared_block import SharedBlock
from glow.host.devices.slot_arrays import (
    SlotLayout,
    Views,
    shapes_as_text,
    shapes_of_text,
)

if TYPE_CHECKING:
    from glow.compiled_model import Array
    from glow.specialized_model import RunnableModel

LOOK_SECONDS = 2.0
"""How often it looks whether its host is still its parent."""


class WorkerNetwork:
    """A network that is loaded here."""

    def __init__(self, model: RunnableModel) -> None:
        self.model = model
        self.layout = SlotLayout(model.inputs, model.outputs)


class Slot:
    """Runs the requests of one connection, one after the other."""

    def __init__(
        self, connection: int, block: int, networks: Mapping[int, WorkerNetwork]
    ) -> None:
        self._connection = socket.socket(fileno=connection)
        self._block = SharedBlock(block)
        self._networks = networks
        self._views: dict[int, Views] = {}

    def serve(self) -> None:
        """Answer requests until the host is gone."""
        header = memoryview(bytearray(REQUEST.size))
        try:
            while True:
                receive_into(self._connection, header)
                self._connection.sendall(self._answer(header))
        except (ConnectionLost, OSError):
            return

    def _answer(self, header: memoryview) -> bytes:
        """Run a request; gives the message that says what became of it."""
        number, threads, size, request = REQUEST.unpack(header)
        text = receive_text(self._connection, size) if size else b""
        try:
            status, answer = DONE, self._run(number, threads or None, text)
        except Exception as error:
            status, answer = FAILED, json.dumps(error_as_frame(error)).encode()
        return ANSWER.pack(status, len(answer), request) + answer

    def _run(self, number: int, threads: int | None, text: bytes) -> bytes:
        """Run a network on the block; gives the shapes of outputs where they are open."""
        network = self._networks[number]
        if network.layout.shapes is None:
            return self._run_open(network, threads, text)
        inputs, outputs = self._fixed_views(number, network)
        network.model.run_into(inputs, outputs, threads)
        return b""

    def _fixed_views(self, number: int, network: WorkerNetwork) -> Views:
        views = self._views.get(number)
        if views is None:
            self._views = {n: v for n, v in self._views.items() if n in self._networks}
            views = self._views[number] = network.layout.fixed_views(self._block)
        return views

    def _run_open(
        self, network: WorkerNetwork, threads: int | None, text: bytes
    ) -> bytes:
        layout = network.layout
        shapes = shapes_of_text(text, len(layout.input_dtypes))
        inputs, end = layout.open_inputs(self._block, shapes)
        results: Sequence[Array] = network.model.run_in_order(inputs, threads)
        for result, dtype in zip(results, layout.output_dtypes, strict=True):
            if result.dtype != dtype:
                raise GlowError(f"an output is {result.dtype}, declared as {dtype}")
        found = [result.shape for result in results]
        views = layout.open_outputs(self._block, found, end, grow=True)
        for view, result in zip(views, results, strict=True):
            view[...] = result
        return shapes_as_text(results)


class Worker:
    """The device process."""

    def __init__(self, control: int, slots: Sequence[tuple[int, int]]) -> None:
        self._control = socket.socket(fileno=control)
        self._networks: dict[int, WorkerNetwork] = {}
        self._slots = [Slot(*slot, self._networks) for slot in slots]

    def run(self) -> None:
        """Do what the host says until it is gone."""
        for slot in self._slots:
            threading.Thread(target=slot.serve, daemon=True).start()
        send_frame(self._control, {"ready": os.getpid()})
        parent = os.getppid()
        while os.getppid() == parent:
            if select.select([self._control], [], [], LOOK_SECONDS)[0]:
                self._obey(*receive_frame(self._control))

    def _obey(self, frame: Frame, descriptors: Sequence[int]) -> None:
        """Load or unload a network."""
        number = cast(int, frame["network"])
        if frame["do"] == "unload":
            self._networks.pop(number, None)
            return
        try:
            self._load(number, descriptors[0], cast(str, frame["kind"]))
            send_frame(self._control, {"network": number})
        except Exception as error:
            send_frame(self._control, {"error": error_as_frame(error)})

    def _load(self, number: int, descriptor: int, kind: str) -> None:
        try:
            self._networks[number] = WorkerNetwork(read_blob(descriptor, kind))
        finally:
            os.close(descriptor)


def main(arguments: str) -> None:
    """Run a device process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The host is told, and decides.
    options = json.loads(arguments)
    if options["cores"]:
        os.sched_setaffinity(0, options["cores"])
    try:
        Worker(options["control"], options["slots"]).run()
    except ConnectionLost:
        pass
    sys.stdout.flush()
    os._exit(0)  # Whatever the slots' threads are doing.


if __name__ == "__main__":
    main(sys.argv[1])
