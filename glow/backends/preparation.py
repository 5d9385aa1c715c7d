"""What goes on around a compilation."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator
from typing import TYPE_CHECKING

from glow.backends.backend import Backend, get_backend
from glow.backends.divided import KNOWN_PARTS
from glow.frontends.mapped_file import files_held
from glow.runtime.threads.switch_interval import frequent_switches

if TYPE_CHECKING:
    from glow.backends.divided import Parts
    from glow.options import CompileOptions


@contextlib.contextmanager
def working(options: CompileOptions, known: Parts) -> Generator[None]:
    """What goes on around a compilation, which has some parts of the network already."""
    backend = get_backend(options.backend)
    token = KNOWN_PARTS.set(known)
    try:
        with frequent_switches(), preparing(backend), files_held():
            yield
    finally:
        KNOWN_PARTS.reset(token)


@contextlib.contextmanager
def preparing(backend: Backend) -> Generator[None]:
    """What a backend's functions need is made ready while the graph is read."""

    def prepare() -> None:
        with contextlib.suppress(Exception):  # Which comes again where it is needed.
            backend.prepare()

    thread = threading.Thread(target=prepare, name="glow-runtime")
    with contextlib.suppress(RuntimeError):  # Where no thread can be started.
        thread.start()
    try:
        yield
    finally:
        if thread.ident is not None:
            thread.join()
