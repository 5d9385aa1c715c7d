"""Pages of libraries: which may be let go, and that they come back as they were."""

import mmap
import sys
from pathlib import Path

import pytest

import glow.lowering.target.library_pages as library_pages
from glow.lowering.target.library_pages import LibraryPages, Mapping, read_mappings

SMAPS = """\
7f00-7f10 r-xp 00001000 fe:00 42                         /lib/libbig.so
Anonymous:             0 kB
Swap:                  0 kB
7f10-7f20 r--p 00002000 fe:00 42                         /lib/libbig.so
Anonymous:             8 kB
7f20-7f30 r--p 00003000 fe:00 42                         /lib/libbig.so
Anonymous:             0 kB
Swap:                  4 kB
7f30-7f40 rw-p 00004000 fe:00 42                         /lib/libbig.so
Anonymous:             0 kB
7f40-7f50 r--p 00005000 fe:00 42                         /lib/lib with spaces.so
7f50-7f60 rw-p 00000000 00:00 0
Anonymous:            12 kB
"""

PAGES = 1024


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A file that stands for a library."""
    path = tmp_path / "libtest.so"
    path.write_bytes(b"\x5a" * (PAGES * mmap.PAGESIZE))
    return path


@pytest.fixture
def mapped(library: Path) -> mmap.mmap:
    """The library, mapped and not touched."""
    rights = mmap.PROT_READ | mmap.PROT_EXEC
    with library.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, rights)


def resident_kilobytes(path: Path) -> int:
    """The pages of a file that this process has in memory."""
    total, counts = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if head := library_pages.HEAD.match(line):
            counts = head[4] == str(path)
        elif counts and line.startswith("Rss:"):
            total += int(line.split()[1])
    return total


def touch(file: mmap.mmap) -> None:
    """Read one byte of every sixteenth page."""
    for page in range(0, PAGES, 16):
        assert file[page * mmap.PAGESIZE] == 0x5A


def windows(mapping: Mapping) -> range:
    """Where the windows of a mapping may begin."""
    return range(mapping.start, mapping.end, library_pages.WINDOW_PAGES * mmap.PAGESIZE)


def test_only_what_shows_the_file_is_clean() -> None:
    clean = {
        (mapping.start, mapping.file.name): mapping.is_clean
        for mapping in read_mappings(SMAPS.splitlines(keepends=True))
    }
    assert clean == {
        (0x7F00, "libbig.so"): True,
        (0x7F10, "libbig.so"): False,
        (0x7F20, "libbig.so"): False,
        (0x7F30, "libbig.so"): False,
        (0x7F40, "lib with spaces.so"): True,
        (0x7F50, ""): False,
    }


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_released_pages_come_back(mapped: mmap.mmap, library: Path) -> None:
    pages = LibraryPages("libtest")
    touch(mapped)
    assert resident_kilobytes(library) > 0
    pages.release()
    assert resident_kilobytes(library) == 0
    touch(mapped)
    assert resident_kilobytes(library) > 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_windows_bound_what_a_touch_brings_in(mapped: mmap.mmap, library: Path) -> None:
    LibraryPages("libtest").divide()
    touch(mapped)
    window = library_pages.WINDOW_PAGES * mmap.PAGESIZE // 1024
    assert 0 < resident_kilobytes(library) <= PAGES // 16 * window


def test_systems_without_lists_of_mappings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library_pages, "MAPS", tmp_path / "missing")
    monkeypatch.setattr(library_pages, "MAX_MAPPINGS", tmp_path / "missing")
    pages = LibraryPages("lib")
    assert not pages.mappings
    pages.release()
    pages.divide()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_few_mappings_are_not_used_up(
    mapped: mmap.mmap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    advised: list[int] = []

    def advise(start: int, size: int, advice: str) -> bool:
        advised.append(start)
        return True

    monkeypatch.setattr(library_pages, "_advise", advise)
    monkeypatch.setattr(library_pages, "MAX_MAPPINGS", tmp_path / "limit")
    pages = LibraryPages("libtest")
    own = {start for mapping in pages.mappings for start in windows(mapping)}
    assert own
    # Threads of other tests may give advice about other libraries at the same time.
    (tmp_path / "limit").write_text("100\n")
    pages.divide()
    assert own.isdisjoint(advised)
    (tmp_path / "limit").write_text("10000\n")
    pages.divide()
    assert not own.isdisjoint(advised)
