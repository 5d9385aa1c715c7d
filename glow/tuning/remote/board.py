"""The connection to a board that measures: `ssh`, a Python there, and `runner.py` in it.

A node of a Ray cluster is reached by `ray_runner.py` in the place of `ssh`.

A board may die of what it measures: an instruction that it does not have, too little memory. Then
it is asked again, for one program at a time; the one that it dies of again is given up, and who
asked is told. When it cannot be reached any more, that is an error.
"""

from __future__ import annotations

import contextlib
import json
import math
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from glow.dialects.errors import GlowError
from glow.tuning.measure import Times

if TYPE_CHECKING:
    from glow.lowering.target.target import Target
    from glow.tuning.search import Job

SCHEME, RAY_SCHEME = "ssh", "ray"
RAY_RUNNER = "glow.host.devices.ray_runner"
PYTHON = "python3"
BOOTSTRAP = "import sys; exec(sys.stdin.buffer.read({size}), globals())"
ANSWER_SECONDS = 120.0
"""The longest that a board may think about one request."""
END_SECONDS = 5.0
LOST = Times(math.inf, math.inf)
"""The times of a program that cannot be measured."""


@dataclass(frozen=True)
class Program:
    """Libraries, buffers, and the calls of one run: (library, symbol, buffers, integers)."""

    libraries: Sequence[bytes]
    buffers: Sequence[tuple[str, int | bytes]]
    """(`floats`, size): small numbers; (`zeros`, size); (`content`, bytes)."""
    calls: Sequence[tuple[int, str, Sequence[int], Sequence[int]]]

    def request(self, name: str) -> tuple[Mapping[str, object], Sequence[bytes]]:
        """What the runner is sent."""
        contents = [each for _, each in self.buffers if isinstance(each, bytes)]
        sizes = [
            (kind, len(each) if isinstance(each, bytes) else each)
            for kind, each in self.buffers
        ]
        header = {
            "load": name,
            "libraries": [len(library) for library in self.libraries],
            "buffers": sizes,
            "calls": self.calls,
        }
        return header, [*self.libraries, *contents]


class BoardError(Exception):
    """The runner has ended, or does not answer."""


def runner_command(address: str) -> list[str]:
    """The command that runs another one at an address; raises GlowError."""
    if not address.startswith(f"{RAY_SCHEME}://"):
        return ssh_command(address)
    if find_spec("ray") is None:
        raise GlowError(f"{address} needs Ray", hint="pip install 'glow-xdsl[ray]'")
    return [sys.executable, "-m", RAY_RUNNER, address]


def ssh_command(address: str) -> list[str]:
    """The command that runs Python at `ssh://[user@]host[:port]`; raises GlowError."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = parts = None
    if (
        parts is None
        or parts.scheme != SCHEME
        or not host
        or host.startswith("-")
        or parts.path.strip("/")
    ):
        raise GlowError(
            f"'{address}' is no board",
            hint="--remote ssh://[user@]host[:port] or ray://head:port",
        )
    command = ["ssh", "-o", "BatchMode=yes"]
    command += ["-p", str(port)] if port else []
    return [*command, f"{parts.username}@{host}" if parts.username else host]


@dataclass
class Board:
    """A machine that measures; `tell` gets a line for each program that is given up."""

    address: str
    tell: Callable[[str], None]
    machine: str = ""
    """Its architecture, as its system calls it."""
    _runner: subprocess.Popen[bytes] | None = None
    _loaded: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        self._errors = tempfile.TemporaryFile()
        self._command = runner_command(self.address)
        try:
            self._start()
        except BoardError as error:
            raise GlowError(f"{self.address}: {error}") from None

    def close(self) -> None:
        """End the runner."""
        runner, self._runner = self._runner, None
        self._loaded = set()
        if runner is not None:
            runner.kill()
            _close(runner)

    def measure(
        self, programs: Mapping[str, Program], turns: int, cache_bytes: int
    ) -> list[Times]:
        """The times of programs, which run in turns; LOST for those that the board dies of."""
        try:
            return self._measured(programs, turns, cache_bytes)
        except BoardError as error:
            problem = error
        if len(programs) > 1:
            one_by_one = ({name: program} for name, program in programs.items())
            return [self.measure(one, turns, cache_bytes)[0] for one in one_by_one]
        (name,) = programs
        self.tell(f"{self.address}: {name} is left out: {problem}")
        return [LOST]

    def _measured(
        self, programs: Mapping[str, Program], turns: int, cache_bytes: int
    ) -> list[Times]:
        if self._runner is None:
            self._restart()
        for name, program in programs.items():
            if name not in self._loaded:
                self._ask(*program.request(name))
                self._loaded.add(name)
        question = {"measure": list(programs), "turns": turns, "cache": cache_bytes}
        answer = self._ask(question)
        times = cast("Sequence[tuple[float, float]]", answer["times"])
        return [Times(warm, cold) for warm, cold in times]

    def forget(self) -> None:
        """Let go of all programs."""
        if self._loaded:
            self._loaded = set()
            try:
                self._ask({"forget": True})
            except BoardError:
                return

    # The connection

    def _restart(self) -> None:
        try:
            self._start()
        except BoardError as error:
            raise GlowError(
                f"{self.address}: {error}",
                hint="what was measured is kept; --resume goes on with it",
            ) from None

    def _start(self) -> None:
        source = "".join(_sources()).encode()
        command = f"{PYTHON} -u -c '{BOOTSTRAP.format(size=len(source))}'"
        try:
            self._errors.seek(0)
            self._errors.truncate()
            self._runner = subprocess.Popen(
                [*self._command, command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
            )
        except OSError as error:
            raise BoardError(
                f"cannot run {self._command[0]}: {error.strerror}"
            ) from error
        self._loaded = set()
        self.machine = str(self._exchange([source])["machine"])

    def _ask(
        self, header: Mapping[str, object], contents: Sequence[bytes] = ()
    ) -> Mapping[str, Any]:
        return self._exchange([json.dumps(header).encode() + b"\n", *contents])

    def _exchange(self, parts: Sequence[bytes]) -> Mapping[str, Any]:
        """Send bytes and read the line that answers them; raises BoardError."""
        runner = self._runner
        if runner is None or runner.stdin is None or runner.stdout is None:
            raise BoardError("there is no connection")
        try:
            for part in parts:
                runner.stdin.write(part)
            runner.stdin.flush()
            answer: object = json.loads(_line(runner.stdout))
        except (OSError, ValueError, EOFError) as error:
            raise BoardError(self._end(error)) from None
        if not isinstance(answer, dict):
            raise BoardError(self._end(ValueError()))
        if "error" in answer:
            raise BoardError(str(cast("Mapping[str, object]", answer)["error"]))
        return cast("Mapping[str, Any]", answer)

    def _end(self, error: Exception) -> str:
        """End the runner; why it did not answer."""
        runner, self._runner = self._runner, None
        self._loaded = set()
        assert runner is not None
        is_late = isinstance(error, TimeoutError)
        if is_late:
            runner.kill()
        _close(runner)
        if is_late:
            return f"no answer for {ANSWER_SECONDS:g} s"
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        said = f": {lines[-1]}" if lines else ""
        return f"the runner has ended ({runner.returncode}){said}"


def _close(runner: subprocess.Popen[bytes]) -> None:
    """Wait for a runner to end, which it does with its input."""
    for stream in (runner.stdin, runner.stdout):
        with contextlib.suppress(OSError):
            if stream is not None:
                stream.close()
    try:
        runner.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        runner.kill()
        runner.wait()


def _line(stream: Any) -> bytes:
    """A line of an unbuffered answer; raises TimeoutError where it takes too long."""
    end, line = time.monotonic() + ANSWER_SECONDS, b""
    while not line.endswith(b"\n"):
        left = end - time.monotonic()
        if left <= 0 or not select.select([stream], [], [], left)[0]:
            raise TimeoutError
        part = stream.read1(1 << 16)
        if not part:
            raise EOFError("the connection has ended") from None
        line += part
    return line


def _sources() -> Iterator[str]:
    """The code of the runner, as one module."""
    first = "from __future__ import annotations\n"
    yield first
    folder = files("glow.tuning")
    for place in (folder / "measure.py", folder / "remote" / "runner.py"):
        yield place.read_text(encoding="utf-8").replace(first, "")
    yield "\nserve(Meter)\n"


@dataclass(frozen=True)
class Bench:
    """A board, and what makes programs for it."""

    board: Board
    library: Callable[[str, Target], bytes]
    """The shared library of LLVM IR for a target."""
    network: Callable[[Job], Program]
    """A run of a network."""
