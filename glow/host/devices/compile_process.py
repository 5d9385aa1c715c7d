"""Compiles a program for new sizes in a process of its own, through the cache of models.

A compiler in this process would hold up the requests of sizes that are known: it is Python, and
takes turns with whoever answers them. The other process leaves its program in the cache, where
this one finds it. It runs when nobody else wants the core (`SCHED_IDLE`): beside a process that is
only nicer, a thread that wakes to answer may wait for milliseconds until its turn is over. Where
the cores are never free, a second process with a low priority takes over, since nobody but root
may give the first one more. What cannot go this way (a model that is no file, no cache, another
backend) is compiled here, as anywhere.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from glow.compilation import StoredSpecializer, wait_for_stores
from glow.runtime.caches.model_cache import ModelCache
from glow.runtime.threads.priority import IDLE, NICE
from glow.specialized_model import SpecializedModel

START = """
from glow.runtime.threads.priority import leave_cores
leave_cores("{way}")
from {module} import main
main()
"""
"""What the process does: it leaves the cores before it imports the compiler."""

PATIENCE_SECONDS = 1.0
"""After these a process has had cores for a part of the time, or it never will."""

STARVED = 0.1
"""Less than this part of the time."""

PIPE_BYTES = 1 << 16
"""What a pipe takes although nobody reads it."""

POLL_SECONDS = 0.02
"""Between two looks at whether the program is wanted."""

Shape = tuple[int, ...]


def compile_apart(
    model: SpecializedModel,
    shapes: Sequence[Shape],
    is_wanted: Callable[[], bool] = lambda: True,
) -> bool:
    """Have the program for shapes compiled; whether it is in the cache then.

    The process is killed when it is not wanted any more.
    """
    specializer = model.specializer
    if not isinstance(specializer, StoredSpecializer):
        return False
    names = [info.name for info in model.inputs]
    sizes = dict(zip(names, model.program_shapes(shapes), strict=True))
    source = specializer.source.model
    if not isinstance(source, str | os.PathLike):
        return False
    _, found = specializer.find_program(sizes, ())
    if found is None:
        return False
    path = ModelCache().path(found.key)
    if path.exists():
        return True
    with contextlib.suppress(OSError, pickle.PickleError):
        _run(pickle.dumps((specializer, sizes)), is_wanted)
    return path.exists()


def _run(task: bytes, is_wanted: Callable[[], bool]) -> None:
    """Run the process to its end, as long as somebody waits for it."""
    if len(task) > PIPE_BYTES or _run_as(IDLE, task, is_wanted):
        _run_as(NICE, task, is_wanted)


def _run_as(way: str, task: bytes, is_wanted: Callable[[], bool]) -> bool:
    """The same, unless it gets no core; whether that is so."""
    child = subprocess.Popen(
        [sys.executable, "-c", START.format(way=way, module=__name__)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert child.stdin is not None
        with child.stdin as pipe:
            pipe.write(task)
        begin = time.monotonic()
        while is_wanted():
            time.sleep(POLL_SECONDS)  # `wait` would look much more often.
            if child.poll() is not None:
                return False
            waited = time.monotonic() - begin
            if way == IDLE and waited > PATIENCE_SECONDS:
                if core_seconds(child.pid) < STARVED * waited:
                    return True
        return False
    finally:
        child.kill()
        child.wait()


def core_seconds(process: int) -> float:
    """The time that a process has had cores for; endless where nobody tells."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return math.inf


def main() -> None:
    """Compile what standard input tells, and store it."""
    specializer, sizes = pickle.load(sys.stdin.buffer)
    specializer.make(sizes, ())
    wait_for_stores()
