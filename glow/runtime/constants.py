"""Constants that programs share: each content is in memory once.

Programs of one network for several sizes hold mostly the same packed weights. A program that was
compiled to share finds each large constant, a piece, by a table behind that of its arguments. Its
segment has room for all of them; where another program that lives has the same bytes, the table
says where those are, and the pages of this segment go back to the system:

    program for 1 row     [ w1 | w2 | w3 ]
    program for 2 rows    [ .. | .. | w3']    w1 and w2 are the other program's

Whoever borrows keeps the lender's segment alive. What an array has borrowed is remembered as long
as the array lives: its own bytes are gone, whoever makes a segment of it again.
"""

from __future__ import annotations

import ctypes
import hashlib
import mmap
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from threading import Lock

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

SHARED_BYTES = 1 << 16
"""Constants of so many bytes are pieces: less would hardly be seen."""

Piece = tuple[int, int]
"""Where it is in the segment of its program, and its size in bytes."""


@dataclass(eq=False)
class Segment:
    """The constants of a program that shares, and where its pieces are."""

    array: Bytes
    pieces: Sequence[Piece]
    digests: Sequence[bytes]
    lenders: dict[int, tuple[Segment, int]] = field(
        default_factory=dict[int, "tuple[Segment, int]"]
    )
    """By the number of a piece that is borrowed: whose it is, and its number there."""

    def address(self, number: int) -> int:
        """Where a piece is in memory."""
        owner, position = self.lenders.get(number, (self, number))
        return owner.array.ctypes.data + owner.pieces[position][0]

    def distances(self) -> list[int]:
        """How far from the start of the segment each piece is."""
        start = self.array.ctypes.data
        numbers = range(len(self.pieces))
        return [self.address(number) - start for number in numbers]

    def part(self, number: int) -> Bytes:
        """The bytes of a piece."""
        owner, position = self.lenders.get(number, (self, number))
        offset, size = owner.pieces[position]
        return owner.array[offset : offset + size]

    def complete(self) -> Bytes:
        """The whole segment, as one that borrows nothing has it."""
        if not self.lenders:
            return self.array
        whole = self.array.copy()
        for number in self.lenders:
            offset, size = self.pieces[number]
            whole[offset : offset + size] = self.part(number)
        return whole

    @property
    def own_bytes(self) -> int:
        """The bytes that are not borrowed."""
        borrowed = sum(self.pieces[number][1] for number in self.lenders)
        return self.array.nbytes - borrowed


def bytes_of(segments: Iterable[Segment]) -> int:
    """The bytes that segments take together, those of lenders that no program has any more
    among them.
    """
    found = set(segments)
    waiting = list(found)
    while waiting:
        owners = {owner for owner, _ in waiting.pop().lenders.values()}
        waiting += owners - found
        found |= owners
    return sum(segment.own_bytes for segment in found)


_lock = Lock()
_known: weakref.WeakValueDictionary[bytes, _Lent] = weakref.WeakValueDictionary()
"""The pieces of all segments that are alive, by content."""


@dataclass(eq=False)
class _Lent:
    """A piece that others may borrow; its segment keeps it alive."""

    segment: weakref.ref[Segment]
    number: int


_lent: weakref.WeakKeyDictionary[Segment, list[_Lent]] = weakref.WeakKeyDictionary()


@dataclass(eq=False)
class _Borrower:
    """What the memory of an array has borrowed."""

    memory: weakref.ref[object]
    """Whose addresses are those of the array as long as it lives."""
    pieces: Sequence[Piece]
    digests: Sequence[bytes]
    lenders: dict[int, tuple[Segment, int]]


_borrowers: dict[int, _Borrower] = {}
"""By the address of the array."""


def shared_segment(
    array: Bytes, pieces: Sequence[Piece], digests: Sequence[bytes] = ()
) -> Segment:
    """A segment whose pieces are borrowed from programs that have the same; takes the array.

    `digests` are the hashes of the pieces, where they are known.
    """
    segment = _as_noted(array, pieces)
    if segment is None:
        if len(digests) != len(pieces):
            digests = [_digest(array[start : start + size]) for start, size in pieces]
        segment = Segment(array, pieces, digests)
    before = set(segment.lenders)
    _borrow(segment)
    _remember(segment)
    for number in segment.lenders.keys() - before:
        _give_back(array, *pieces[number])
    return segment


def _as_noted(array: Bytes, pieces: Sequence[Piece]) -> Segment | None:
    """The segment of an array that has borrowed before."""
    with _lock:
        earlier = _borrowers.get(array.ctypes.data)
    if earlier is None or earlier.memory() is not _memory(array):
        return None
    assert list(earlier.pieces) == list(pieces)
    return Segment(array, pieces, earlier.digests, dict(earlier.lenders))


def borrow_ahead(
    array: Bytes, pieces: Sequence[Piece], digests: Sequence[bytes]
) -> Sequence[Piece]:
    """The pieces of a future segment that others have, so that nobody needs to fill them in."""
    segment = Segment(array, pieces, digests)
    with _lock:
        for number, digest in enumerate(digests):
            found = _known.get(digest)
            owner = found and found.segment()
            if found is not None and owner is not None:
                segment.lenders[number] = (owner, found.number)
    _remember(segment)
    return [pieces[number] for number in segment.lenders]


def _borrow(segment: Segment) -> None:
    """Find out who has the pieces of a segment, and let others know what it has alone."""
    array = segment.array
    with _lock:
        for number, digest in enumerate(segment.digests):
            if number in segment.lenders:
                continue
            found = _known.get(digest)
            owner = found and found.segment()
            if found is None or owner is None:
                lent = _Lent(weakref.ref(segment), number)
                _known[digest] = lent
                _lent.setdefault(segment, []).append(lent)
            elif owner.array.ctypes.data != array.ctypes.data:
                segment.lenders[number] = (owner, found.number)


def _remember(segment: Segment) -> None:
    """Note what an array has borrowed, if anything, until its memory goes."""
    if not segment.lenders:
        return
    address, memory = segment.array.ctypes.data, _memory(segment.array)

    def forget(gone: weakref.ref[object]) -> None:
        if (noted := _borrowers.get(address)) is not None and noted.memory is gone:
            del _borrowers[address]

    reference = weakref.ref(memory, forget)
    noted = _Borrower(reference, segment.pieces, segment.digests, segment.lenders)
    with _lock:
        _borrowers[address] = noted


def _memory(array: Bytes) -> object:
    """What lives as long as the memory of an array, and may be referred to weakly."""
    owner: object = array
    while (base := getattr(owner, "base", getattr(owner, "obj", None))) is not None:
        if not type(base).__weakrefoffset__:
            break
        owner = base
    return owner


def _digest(part: Bytes) -> bytes:
    return hashlib.sha256(part.data).digest()


def _give_back(array: Bytes, offset: int, size: int) -> None:
    """Let go of the pages of a part of private memory, which nobody reads any more."""
    start = array.ctypes.data + offset
    first = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
    end = (start + size) // mmap.PAGESIZE * mmap.PAGESIZE
    advise = getattr(ctypes.CDLL(None), "madvise", None)
    if end <= first or advise is None or not hasattr(mmap, "MADV_DONTNEED"):
        return
    advise(ctypes.c_void_p(first), ctypes.c_size_t(end - first), mmap.MADV_DONTNEED)
