"""A thread of low priority for what nobody waits for: measurements of batches."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue

from glow.runtime.threads.priority import LOW_PRIORITY

Work = Callable[[], None]


class Background:
    """Runs one piece of work after the other; its thread starts with the first."""

    def __init__(self) -> None:
        self._works: SimpleQueue[Work | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._is_closed = False

    def later(self, work: Work) -> None:
        """Have something done."""
        with self._lock:
            if self._is_closed:
                return
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="glow-background", daemon=True
                )
                self._thread.start()
        self._works.put(work)

    def close(self) -> None:
        """End the thread after what it does now; the rest is left undone."""
        with self._lock:
            self._is_closed = True
        self._works.put(None)
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOW_PRIORITY)
        while (work := self._works.get()) is not None and not self._is_closed:
            with contextlib.suppress(Exception):  # The next one may do better.
                work()
