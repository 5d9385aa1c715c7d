"""Weights that show bytes of a file let go of its memory and stay what they are."""

import mmap
from pathlib import Path

import numpy as np
import pytest

import glow.backends.cpu.native_function as native_function
from glow.dialects.weight_table import DeferredArray, WeightTable, release_pages


def resident_kilobytes(path: Path) -> int:
    """The pages of a file that this process has in memory (Linux)."""
    total, counts = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split()[0]:
            counts = line.endswith(str(path))
        elif counts and line.startswith("Rss:"):
            total += int(line.split()[1])
    return total


def test_released_pages_are_read_again(tmp_path: Path) -> None:
    content = np.arange(1 << 22, dtype=np.float32)
    path = tmp_path / "weights"
    path.write_bytes(content.tobytes())
    with path.open("rb") as file:
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    array = np.frombuffer(view[8:-8], np.float32)
    assert array.sum() > 0
    assert resident_kilobytes(path) > 0
    release_pages(array)
    assert resident_kilobytes(path) < 1024
    np.testing.assert_array_equal(array, content[2:-2])


def test_arrays_of_their_own_stay() -> None:
    array = np.ones(1 << 20, np.float32)
    release_pages(array)
    assert array.all()


def test_a_copied_file_is_in_memory_once(tmp_path: Path) -> None:
    content = np.arange(1 << 23, dtype=np.float32).reshape(1 << 13, 1 << 10)
    path = tmp_path / "weights"
    path.write_bytes(content.tobytes())
    with path.open("rb") as file:
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    source, target = np.frombuffer(view, np.float32), np.empty_like(content)
    native_function.copy_letting_go(target, source.reshape(content.shape))
    assert resident_kilobytes(path) < 16 * 1024
    np.testing.assert_array_equal(target, content)


@pytest.mark.parametrize(
    "source",
    [
        np.array(3.0),
        np.zeros((0, 4)),
        np.zeros((4, 0)),
        np.arange(1000.0),
        np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1),
        np.broadcast_to(np.arange(5.0), (7, 5)),
    ],
    ids=lambda source: "x".join(map(str, source.shape)) or "scalar",
)
def test_copies_of_any_layout(
    source: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native_function, "PIECE_BYTES", 64)
    target = np.full(source.shape, -1.0)
    native_function.copy_letting_go(target, source)
    np.testing.assert_array_equal(target, source)


def test_deferred_arrays_are_made_when_looked_up() -> None:
    made: list[int] = []

    def write(out: np.ndarray) -> None:
        made.append(1)
        out[...] = 7

    table = WeightTable()
    table.defer("w", DeferredArray((3,), np.dtype(np.float32), write))
    other = table.copy()
    assert len(table) == 1
    assert not made
    assert table["w"].tolist() == table["w"].tolist() == [7, 7, 7]
    assert made == [1]
    other.clear()
    assert made == [1]
    assert "w" in table
    assert "w" not in other
