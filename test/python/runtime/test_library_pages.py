"""Pages of libraries: which may be let go, and that they come back as they were."""

import mmap
import sys
from pathlib import Path

import pytest

import glow.lowering.target.library_pages as library_pages
from glow.lowering.target.library_pages import LibraryPages, read_mappings

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
def mapped(tmp_path: Path) -> mmap.mmap:
    """A file that stands for a library, mapped and not touched."""
    path = tmp_path / "libtest.so"
    path.write_bytes(b"\x5a" * (PAGES * mmap.PAGESIZE))
    rights = mmap.PROT_READ | mmap.PROT_EXEC
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, rights)


def file_kilobytes() -> int:
    """The file pages of this process that are in memory."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("RssFile"))


def touched_kilobytes(file: mmap.mmap) -> int:
    """What is in memory after one byte of sixteen pages each was read."""
    before = file_kilobytes()
    for page in range(0, PAGES, 16):
        assert file[page * mmap.PAGESIZE] == 0x5A
    return file_kilobytes() - before


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
def test_released_pages_come_back(mapped: mmap.mmap) -> None:
    pages = LibraryPages("libtest")
    assert touched_kilobytes(mapped) > 0
    before = file_kilobytes()
    pages.release()
    assert file_kilobytes() < before
    assert touched_kilobytes(mapped) > 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_windows_bound_what_a_touch_brings_in(mapped: mmap.mmap) -> None:
    LibraryPages("libtest").divide()
    window = library_pages.WINDOW_PAGES * mmap.PAGESIZE // 1024
    assert 0 < touched_kilobytes(mapped) <= (PAGES // 16 + 1) * window


def test_systems_without_lists_of_mappings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library_pages, "MAPS", tmp_path / "missing")
    monkeypatch.setattr(library_pages, "MAX_MAPPINGS", tmp_path / "missing")
    pages = LibraryPages("lib")
    assert not pages.mappings
    pages.release()
    pages.divide()


def test_few_mappings_are_not_used_up(
    mapped: mmap.mmap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    advised: list[int] = []
    monkeypatch.setattr(
        library_pages, "_advise", lambda start, size, advice: advised.append(start)
    )
    monkeypatch.setattr(library_pages, "MAX_MAPPINGS", tmp_path / "limit")
    (tmp_path / "limit").write_text("100\n")
    LibraryPages("libtest").divide()
    assert not advised
