"""Progress on stderr, for what takes longer than a second only."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

BAR_WIDTH = 30
PATIENCE = 1.0
"""Seconds after which a user wants to know what is going on."""


@dataclass
class Stopwatch:
    """The time that a step took; 0 while it runs."""

    seconds: float = 0.0


@contextmanager
def step(what: str) -> Generator[Stopwatch]:
    """Time the block; say `what ...` once it runs for longer than a second."""
    stopwatch = Stopwatch()
    notice = threading.Timer(PATIENCE, report, [f"{what} ..."])
    notice.daemon = True
    started = time.perf_counter()
    notice.start()
    try:
        yield stopwatch
    finally:
        notice.cancel()
        stopwatch.seconds = time.perf_counter() - started
    if stopwatch.seconds > PATIENCE:
        report(f"{what}: {stopwatch.seconds:.1f} s")


def report(line: str) -> None:
    """Print a line to stderr at once."""
    sys.stderr.write(f"{line}\n")  # At once: another thread may report too.
    sys.stderr.flush()


def show_progress(what: str, done: int, total: int | None) -> None:
    """Draw how much is done over what was drawn before."""
    if total is None:
        text = f"{done} batches"
    else:
        filled = BAR_WIDTH * done // total
        text = f"[{'#' * filled}{'.' * (BAR_WIDTH - filled)}] {done}/{total}"
    end = "\n" if done == total else ""
    print(f"\r{what} {text}", end=end, file=sys.stderr, flush=True)
