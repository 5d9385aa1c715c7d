"""Ctrl-C while a console script is loaded: one line, as later.

Imported before all else of the package, since Python would print a traceback of its imports.
"""

import os
import signal
import sys
from types import FrameType

TOOLS = ("glow", "glow-opt")
EXIT_INTERRUPTED = 130
"""128 and the number of the signal, as shells have it."""

_tool = os.path.basename(getattr(sys, "argv", [""])[0])


def _stop(_signal: int, _frame: FrameType | None) -> None:
    os.write(2, f"{_tool}: error: interrupted\n".encode())
    os._exit(EXIT_INTERRUPTED)


def _watch() -> None:
    """End in one line until `loaded` is called, if one of our tools is the program."""
    if _tool in TOOLS and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)


def loaded() -> None:
    """From now on the tool reports an interrupt itself."""
    if signal.getsignal(signal.SIGINT) is _stop:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_watch()
