"""Measures this machine once, in a process of its own beside the first compilation.

The process has what no other wants of a core, so that the compilation takes no longer. It ends by
itself after two seconds of work, or ten in all, and leaves nothing where the machine was busy: then
memory and caches look slower than they are. A mark in the cache folder keeps others from doing the
same, and from trying again within the hour. What all cores do at once takes other cores, too: it
waits until these are free.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

from glow.runtime.caches.cache_folder import OWNER_ONLY, UNFINISHED
from glow.runtime.caches.calibration import calibration_file, settled, store_calibration
from glow.runtime.memory import memory_bytes
from glow.runtime.threads.cores import available_cores

WORK_SECONDS = 2
"""Of each core."""
PATIENCE_SECONDS = 10
AGAIN_SECONDS = 3600
LEAST_MEMORY = 2 << 30
"""Of which a quarter is read."""
BUSY = 0.75
"""Threads that wait for each core, on the average of a minute, from which the machine is busy."""
CROWDED = 1.2
"""Wall time over processor time from which other processes had the core."""
PROBE, PAUSE_SECONDS = 300_000, 0.5
"""Additions that show whether there is a core, and how long to wait for one."""
PYTHON = re.compile(r"python[\d.]*")
"""Other programs may hold an interpreter, too, and do not take a module to run."""
Result = TypeVar("Result")
COMMAND = ("-P", "-m", "glow.runtime.calibration")


@cache
def calibrate_later(path: Path) -> None:
    """Begin to measure, unless that was done, or the machine is no place for it."""
    fits = available_cores() > 1 and (memory_bytes() or 0) >= LEAST_MEMORY
    program = sys.executable or ""
    if (
        not fits
        or not hasattr(os, "SCHED_IDLE")
        or path.exists()
        or not PYTHON.fullmatch(Path(program).name)
    ):
        return
    with contextlib.suppress(OSError, RuntimeError):
        if _mark(path):
            child = _spawn(program)
            threading.Thread(target=_wait_for, args=(child,), daemon=True).start()


def _spawn(program: str) -> int:
    """The process that measures, which has from its start what no other wants of a core."""
    nothing = [
        (os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in range(3)
    ]
    return os.posix_spawn(
        program,
        [program, *COMMAND],
        os.environ,
        file_actions=nothing,
        setsid=True,
        scheduler=(os.SCHED_IDLE, os.sched_param(0)),
    )


def _wait_for(child: int) -> None:
    """Let no ended process stand in lists, unless the program takes care of all its own."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)


def _mark(path: Path) -> bool:
    """Whether this process is the one that measures."""
    mark = _mark_of(path)
    for folder in (path.parent.parent, path.parent):
        folder.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        if time.time() - mark.stat().st_mtime < AGAIN_SECONDS:
            return False
        mark.unlink()
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return False
    return True


def _mark_of(path: Path) -> Path:
    return path.with_name(f"{UNFINISHED}{path.stem}")


def measure_here() -> None:
    """Measure within bounds of time: the work of the process."""
    path = calibration_file()
    if path is None:
        return
    import resource

    os.chdir("/")
    seconds = WORK_SECONDS * available_cores()
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    signal.alarm(PATIENCE_SECONDS)
    measure(path)


def measure(path: Path) -> None:
    """Wait for cores, and store what counts of their figures, unless the machine is busy."""
    from glow.lowering.target.core_file import core_text
    from glow.lowering.target.target import host_target
    from glow.runtime.calibration.figures import Figures

    while not undisturbed(lambda: sum(range(PROBE)))[0]:
        time.sleep(PAUSE_SECONDS)
    target = host_target()
    measuring = Figures(target)
    alone, figures = undisturbed(measuring.of_a_core)
    shared = measuring.of_all_cores_when_free()
    if alone and os.getloadavg()[0] < BUSY * available_cores():
        kept = settled({**figures, **shared}, target.core)
        store_calibration(path, core_text(target.cpu, target.core, kept))
        _mark_of(path).unlink(missing_ok=True)


def undisturbed(work: Callable[[], Result]) -> tuple[bool, Result]:
    """Whether the process had a core all the time, and what the work gives."""
    start, began = time.perf_counter(), time.process_time()
    result = work()
    end, ended = time.perf_counter(), time.process_time()
    return end - start < CROWDED * (ended - began), result
