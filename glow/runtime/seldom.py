"""Work that may wait, done at most once in a while: at once, or when the while is over.

What is left behind is cleaned up soon, however often something is left, and a program that
compiles hundreds of small networks does not clean up after each.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Seldom:
    """Calls a function once for all requests of some seconds."""

    def __init__(self, function: Callable[[], None], seconds: float) -> None:
        self._function = function
        self._seconds = seconds
        self._last: float | None = None
        """When the function was called, by the monotonic clock."""
        self._timer: threading.Timer | None = None

    def __call__(self) -> None:
        """Call the function now, or `seconds` after its last call.

        Two threads may do so at once, which costs a call too many. A forked process has
        no timer of its parent's, and starts its own.
        """
        if self._timer is not None and self._timer.is_alive():
            return
        passed = self._seconds
        if self._last is not None:
            passed = time.monotonic() - self._last
        if passed >= self._seconds:
            self._call()
            return
        self._timer = threading.Timer(self._seconds - passed, self._call)
        self._timer.daemon = True
        self._timer.start()

    def _call(self) -> None:
        self._last = time.monotonic()
        self._function()
