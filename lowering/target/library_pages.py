"""How much of a large library is in memory: what its work needs, and no more.

Loading LLVM runs constructors all over its 150 MB, and Linux maps the 64 KB around each
page that a process touches. So 35 MB are resident before LLVM has done anything, and 65 MB
after a compilation, of which generating code reads 15. Two pieces of advice to the system
change that, but nothing of what the process sees: pages come back from the file's cache
when they are needed.

    loaded                       35 MB
    released                      0
    code generated               42 MB, in windows of 8 KB 24
    released                      0

Only pages that are as they are in the file are let go. Where the system has no
`/proc/self/smaps` or does not take the advice, everything stays as it is.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

MAPS = Path("/proc/self/smaps")
MAX_MAPPINGS = Path("/proc/sys/vm/max_map_count")

HEAD = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ *(.*)")
"""The first line of a mapping: its addresses, permissions and file, if it has one."""
OWN_PAGES = re.compile(r"(?:Anonymous|Swap): +[1-9]")
"""A mapping that has pages which differ from the file."""

WINDOW_PAGES = 2
SHARE_OF_MAPPINGS = 4
"""Windows take no more than this part of the mappings that a process may have."""


@dataclass
class Mapping:
    """Addresses where a process sees a part of a file."""

    start: int
    end: int
    file: Path
    is_clean: bool
    """Whether it shows the file and nothing else, now and later."""
    is_code: bool


class LibraryPages:
    """The code and the constants of a library that is loaded."""

    def __init__(self, name: str) -> None:
        """`name` is how the name of the library's file begins."""
        self.mappings: list[Mapping] = []
        with contextlib.suppress(OSError), MAPS.open(encoding="utf-8") as lines:
            self.mappings = [
                mapping
                for mapping in read_mappings(lines)
                if mapping.is_clean and mapping.file.name.startswith(name)
            ]

    def release(self) -> None:
        """Let go of all pages."""
        for mapping in self.mappings:
            _advise(mapping.start, mapping.end - mapping.start, "MADV_DONTNEED")

    def divide(self) -> None:
        """Have the system map a few pages of code at a time.

        It goes no further than the borders of a mapping, and neighbours that differ are
        mappings of their own: every other window of pages is left out of core dumps,
        where pages of files are not anyway.
        """
        window = WINDOW_PAGES * mmap.PAGESIZE
        code = [mapping for mapping in self.mappings if mapping.is_code]
        size = sum(mapping.end - mapping.start for mapping in code)
        if size // window > _most_mappings() // SHARE_OF_MAPPINGS:
            return
        for mapping in code:
            for start in range(mapping.start, mapping.end - window, 2 * window):
                if not _advise(start, window, "MADV_DONTDUMP"):
                    return


def read_mappings(lines: Iterable[str]) -> Iterator[Mapping]:
    """The mappings of files that the lines of `smaps` tell of."""
    current: Mapping | None = None
    for line in lines:
        if head := HEAD.match(line):
            if current is not None:
                yield current
            start, end = int(head[1], 16), int(head[2], 16)
            rights, file = head[3], Path(head[4])
            current = Mapping(start, end, file, "w" not in rights, "x" in rights)
        elif current is not None and OWN_PAGES.match(line):
            current.is_clean = False
    if current is not None:
        yield current


def _most_mappings() -> int:
    """The number of mappings that a process may have; 0 where that is unknown."""
    try:
        return int(MAX_MAPPINGS.read_text())
    except (OSError, ValueError):
        return 0


def _advise(start: int, size: int, advice: str) -> bool:
    """Whether the system takes advice about addresses; names are those of `mmap`."""
    number = getattr(mmap, advice, None)
    return number is not None and _madvise()(start, size, number) == 0


@cache
def _madvise() -> Callable[[int, int, int], int]:
    """The system's function; it keeps Python's lock, since thousands of calls would each
    wait for it.
    """
    function = ctypes.PyDLL(None).madvise
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return function
