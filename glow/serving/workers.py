"""Several processes that serve the same models on the same ports, each on cores of its own.

    glow serve resnet50.onnx --processes 4

One listening socket is inherited by all: whoever is free accepts, and connections that wait
for a worker which dies are another's. gRPC opens its own sockets, which the system divides
(`SO_REUSEPORT`). The first worker is ready before the others start, so that they find its
compiled models in the cache. A worker that dies is replaced.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from glow.dialects.errors import GlowError

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

SHORT_LIFE = 5.0
"""A worker that dies within so many seconds is replaced only after as many."""

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True)
class Worker:
    """What one of the processes is."""

    index: int
    cores: Sequence[int]
    listening: socket.socket
    """Of HTTP."""
    grpc_port: int | None
    folder: Path
    """Where workers leave their figures for each other."""


Work: TypeAlias = Callable[[Worker, Callable[[], None]], int]
"""Serves until a signal, says when it is ready, and gives the exit status; it is pickled."""


def share_cores(count: int) -> Sequence[Sequence[int]]:
    """The cores of each of so many workers: neighbours, or one of several workers each."""
    if not hasattr(os, "sched_getaffinity"):
        return [()] * count
    cores = sorted(os.sched_getaffinity(0))
    if count > len(cores):
        return [(cores[index % len(cores)],) for index in range(count)]
    bounds = [index * len(cores) // count for index in range(count + 1)]
    return [cores[bounds[i] : bounds[i + 1]] for i in range(count)]


class Supervisor:
    """Starts workers, replaces those that die, and ends them at a signal."""

    def __init__(self, workers: Sequence[Worker], work: Work) -> None:
        self.workers = workers
        self.work = work
        self.is_ending = False
        self._processes: dict[int, SpawnProcess] = {}
        self._pipes: dict[int, Connection] = {}
        """A worker ends when its pipe does, even where nobody could tell it to."""
        self._starts: dict[int, float] = {}

    def run(self, on_ready: Callable[[], None]) -> None:
        """Keep all workers running until a signal; GlowError if one cannot begin."""
        with self._signals():
            try:
                for group in (self.workers[:1], self.workers[1:]):
                    for worker in group:
                        self._start(worker)
                    for worker in group:
                        self._await(worker)
                if not self.is_ending:
                    on_ready()
                self._watch()
            finally:
                self._end()

    def _start(self, worker: Worker) -> None:
        if self.is_ending:
            return
        ours, theirs = cast("tuple[Connection, Connection]", multiprocessing.Pipe())
        context = multiprocessing.get_context("spawn")
        name = f"glow-worker-{worker.index}"
        process = context.Process(
            target=_main, args=(self.work, worker, theirs), name=name
        )
        process.start()
        theirs.close()
        self._processes[worker.index] = process
        self._pipes[worker.index] = ours
        self._starts[worker.index] = time.monotonic()
        if self.is_ending:  # The signal came before there was anybody to tell.
            process.terminate()

    def _await(self, worker: Worker) -> None:
        """Wait until a worker is ready; its own error is on stderr already."""
        if (pipe := self._pipes.get(worker.index)) is None:
            return
        try:
            pipe.recv()
        except EOFError:
            if not self.is_ending:
                raise GlowError(
                    f"worker {worker.index} ended before it was ready"
                ) from None

    def _watch(self) -> None:
        """Replace workers until all have ended at a signal."""
        while self._processes:
            sentinels = {
                process.sentinel: index for index, process in self._processes.items()
            }
            for sentinel in wait(list(sentinels)):
                self._replace(self.workers[sentinels[int(str(sentinel))]])

    def _replace(self, worker: Worker) -> None:
        self._processes.pop(worker.index).join()
        self._pipes.pop(worker.index).close()
        age = time.monotonic() - self._starts[worker.index]
        if age < SHORT_LIFE and not self.is_ending:
            time.sleep(SHORT_LIFE / 10 if age > 1 else SHORT_LIFE)
        self._start(worker)

    @contextmanager
    def _signals(self) -> Generator[None]:
        before = {number: signal.signal(number, self._handle) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _handle(self, number: int, frame: object) -> None:
        """Let workers drain; at the second signal, end them at once."""
        for process in list(self._processes.values()):
            if self.is_ending:
                process.kill()
            else:
                process.terminate()
        self.is_ending = True

    def _end(self) -> None:
        self.is_ending = True
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.join()


def _main(work: Work, worker: Worker, pipe: Connection) -> None:
    """What a worker does: serve on its cores until a signal, or the supervisor's end."""
    os.setpgrp()  # Ctrl-C is the supervisor's, who tells its workers.
    if worker.cores:
        os.sched_setaffinity(0, worker.cores)
    threading.Thread(target=_end_with, args=(pipe,), daemon=True).start()
    raise SystemExit(work(worker, lambda: pipe.send(None)))


def _end_with(pipe: Connection) -> None:
    """End this process as by a signal when the other end of the pipe is closed."""
    try:
        pipe.recv()
    except (EOFError, OSError):
        os.kill(os.getpid(), signal.SIGTERM)
