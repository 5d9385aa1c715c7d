"""Files block by block on several threads: hashing, and reading with checksums.

Hashing reads through small buffers: a mapped file would count as this process's memory.
What works in the background passes a function `rest`, which is called after each piece.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import zlib
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise
from typing import BinaryIO

BLOCK = 4 << 20
"""What one thread takes at a time; large enough that faults of fresh memory are few."""
PIECE = 1 << 20
"""What is read at a time to be hashed: it stays in the second-level cache."""
WORKERS = 2

Rest = Callable[[], None]


def no_rest() -> None:
    """Goes on at once."""


def in_parallel(
    function: Callable[[int], str | int], count: int, workers: int = WORKERS
) -> list[str | int]:
    """The results for 0 to `count` in order, computed by some threads."""
    if min(count, workers) <= 1:
        return [function(number) for number in range(count)]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(workers, "glow-blocks") as pool:
        return list(pool.map(function, range(count)))


def file_digest(
    path: str | os.PathLike[str], workers: int = WORKERS, rest: Rest = no_rest
) -> str:
    """The hash of a file's size and of the hashes of its blocks.

    Raises OSError, also for a pipe, whose content could be read only once.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
        size = status.st_size

        def block_digest(number: int) -> str:
            return _hash_range(descriptor, number * BLOCK, rest)

        blocks = in_parallel(block_digest, -(-size // BLOCK), workers)
    finally:
        os.close(descriptor)
    return hashlib.sha256(f"{size} {blocks}".encode()).hexdigest()


MISSING = "missing"
"""Stands for the hash of a file that is not there."""


def digest_or_missing(
    path: str | os.PathLike[str], workers: int = WORKERS, rest: Rest = no_rest
) -> str:
    """The hash of a file, or `MISSING`; raises OSError for one that cannot be read."""
    try:
        return file_digest(path, workers, rest)
    except FileNotFoundError:
        return MISSING


def _hash_range(descriptor: int, start: int, rest: Rest) -> str:
    digest = hashlib.sha256()
    piece = memoryview(bytearray(PIECE))
    for position in range(start, start + BLOCK, PIECE):
        read = os.preadv(descriptor, [piece], position)
        digest.update(piece[:read])
        if read == 0:
            break
        rest()
    return digest.hexdigest()


def block_ranges(size: int, cuts: Iterable[int] = ()) -> list[tuple[int, int]]:
    """Where the blocks of some bytes begin and end; they end at cuts too."""
    ends = {*range(0, size, BLOCK), *(cut for cut in cuts if 0 < cut < size), size}
    return list(pairwise(sorted(ends)))


def checksums(
    data: memoryview, rest: Rest = no_rest, cuts: Iterable[int] = ()
) -> list[int]:
    """A checksum of each block of some bytes."""
    found: list[int] = []
    for start, end in block_ranges(len(data), cuts):
        found.append(zlib.crc32(data[start:end]))
        rest()
    return found


def write_pieces(file: BinaryIO, data: memoryview, rest: Rest = no_rest) -> None:
    """Writes bytes piece by piece; raises OSError."""
    for start in range(0, len(data), PIECE):
        file.write(data[start : start + PIECE])
        rest()


def read_checked(
    descriptor: int,
    position: int,
    data: memoryview,
    expected: Sequence[int],
    pieces: Sequence[tuple[int, int]] = (),
    unread: Collection[tuple[int, int]] = (),
) -> bool:
    """Fills `data` from a file; tells whether all blocks have their checksums.

    `pieces` are starts and sizes of what blocks do not cross; those of `unread` stay as they
    are.
    """
    ranges = block_ranges(len(data), ends_of(pieces))
    if len(ranges) != len(expected):
        return False
    skipped = sorted(unread)
    starts = [start for start, _ in skipped]

    def is_skipped(start: int) -> bool:
        place = bisect_right(starts, start) - 1
        return place >= 0 and start < sum(skipped[place])

    wanted = [number for number, (low, _) in enumerate(ranges) if not is_skipped(low)]

    def read_block(number: int) -> int:
        low, high = ranges[wanted[number]]
        block = data[low:high]
        read = os.preadv(descriptor, [block], position + low)
        return zlib.crc32(block[:read])

    size = sum(ranges[number][1] - ranges[number][0] for number in wanted)
    sums = in_parallel(read_block, len(wanted), WORKERS if size > BLOCK else 1)
    return sums == [expected[number] for number in wanted]


def ends_of(pieces: Iterable[tuple[int, int]]) -> list[int]:
    """Where pieces, of starts and sizes, begin and end."""
    return [end for start, size in pieces for end in (start, start + size)]
