"""The near side of `server.py`: a runtime in another process, stopped while others measure."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

SERVER = Path(__file__).with_name("server.py")

Array = np.ndarray


Answer = dict[str, Any]
"""A line from the server; the command says which keys it has."""


def cores_of(threads: int) -> list[int]:
    """Returns the cores that a runtime with this many threads is pinned to."""
    return sorted(os.sched_getaffinity(0))[:threads]


class ServerError(Exception):
    """A runtime that could not load or run a model; carries one line."""


class Server:
    """A runtime that has loaded a model, as a context; stopped except while it answers.

    Thread pools spin for a while after an inference. A stopped process does not, whatever
    runtime it is.
    """

    def __init__(
        self,
        runtime: str,
        model: Path,
        inputs: Path,
        threads: int,
        environment: Mapping[str, str] | None = None,
        python: str = sys.executable,
    ) -> None:
        self.runtime = runtime
        cores = ",".join(map(str, cores_of(threads)))
        self.process = subprocess.Popen(
            [python, SERVER, runtime, model, inputs, str(threads), cores],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        loaded = self._read()
        self.version = loaded["version"]
        self.load_seconds = loaded["load_s"]

    def run(self, count: int) -> list[float]:
        """Returns the milliseconds of `count` inferences."""
        return self._ask(f"run {count}")["milliseconds"]

    def save(self, path: Path) -> tuple[list[Array], float]:
        """Returns the outputs, by way of the file `path`, and the peak memory in MB."""
        peak = self._ask(f"save {path}")["peak_mb"]
        with np.load(path) as file:
            return [file[name] for name in file.files], peak

    def _ask(self, command: str) -> Answer:
        assert self.process.stdin
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self._read()

    def _read(self) -> Answer:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise ServerError(f"{self.runtime} ended with code {self.process.wait()}")
        answer: Answer = json.loads(line)
        if "error" in answer:
            self.process.wait()
            raise ServerError(f"{self.runtime}: {answer['error']}")
        self._stop()
        return answer

    def _stop(self) -> None:
        """Stop the process, and wait until it has stopped."""
        self.process.send_signal(signal.SIGSTOP)
        # WNOWAIT: if it ended instead, `Popen` is to find that out.
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.communicate()
