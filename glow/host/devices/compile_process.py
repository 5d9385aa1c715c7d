"""Compiles a program for new sizes in a process of its own, through the cache of models.

A compiler in this process would hold up the requests of sizes that are known: it is Python, and
takes turns with whoever answers them. The other process has a low priority, and leaves its
program in the cache, where this one finds it. What cannot go this way (a model that is no file,
no cache, another backend) is compiled here, as anywhere.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence

from glow.compilation import StoredSpecializer, find_source, wait_for_stores
from glow.runtime.caches.model_cache import ModelCache
from glow.specialized_model import SpecializedModel

LOW_PRIORITY = 10
"""Of what compiles, as `nice` counts."""

POLL_SECONDS = 0.05
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
    found = find_source(source, specializer.options_for(sizes), ())
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
    child = subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert child.stdin is not None
        with child.stdin as pipe:
            pipe.write(task)
        while is_wanted():
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(POLL_SECONDS)
                break
    finally:
        child.kill()
        child.wait()


def main() -> None:
    """Compile what standard input tells, and store it."""
    with contextlib.suppress(OSError, AttributeError):
        os.nice(LOW_PRIORITY)
    specializer, sizes = pickle.load(sys.stdin.buffer)
    specializer.make(sizes, ())
    wait_for_stores()


if __name__ == "__main__":
    main()
