"""Records of tuning: append-only JSON lines, which are shared by copying them.

    {"version":"0.1.0-2","target":"3f0c52a1b7d9","kernel":"9a1bcafe00112233","family":"MatmulSpec",
     "spec":"MatmulSpec(rows=128, ...)","config":{"rows":8,"blocks":3},"warm":1.1e-05,"cold":...}

A line begins with version, target and kernel, so that a file is searched without reading what
nobody asks for: 100,000 lines take a tenth of a second. Damaged lines, as a process that was
killed leaves them, are skipped with one warning; lines of another version or target are counted.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, cast

from glow import __version__
from glow.dialects.errors import GlowError
from glow.lowering.target.target import Target
from glow.runtime.caches.cache_folder import OWNER_ONLY, open_private

FORMAT = 2
"""Goes up where fields of before mean something else, or are gone."""

VERSION = f"{__version__}-{FORMAT}"

COMPRESSED = ".xz"
"""How files end that are merged, and are not lines yet."""

TEXTS = ("version", "target", "kernel", "family", "spec")
"""Fields of records; others are numbers, lists of them, and the configuration."""

TARGET_DIGITS, KERNEL_DIGITS = 12, 16  # As in `_LINE`.

_LINE = re.compile(
    rb'^\{"version":"([\w.+-]+)","target":"([0-9a-f]{12})","kernel":"([0-9a-f]{16})",.*\}$',
    re.MULTILINE,
)
"""What is looked at of a line until somebody asks for its kernel."""

Fields = Mapping[str, object]
"""A configuration's fields by name."""


@dataclass(frozen=True)
class Record:
    """One configuration of one kernel on one target.

    Times are seconds of a call, with its operands in the caches and without; none of a choice
    that was judged in its network.
    """

    version: str
    target: str
    kernel: str
    family: str
    spec: str
    config: Fields = field(hash=False)
    warm: float | None = None
    cold: float | None = None
    gain: float | None = None
    """Of a choice: the share of its network's time that is saved with all kept with it."""
    features: list[float] | None = field(default=None, hash=False)
    """What a learned model sees of it."""

    def line(self) -> bytes:
        """The record as it is stored."""
        fields = {
            name: value for name, value in asdict(self).items() if value is not None
        }
        return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


@cache
def target_key(target: Target) -> str:
    """What stands for a target: all that kernels are built and chosen by."""
    return hashlib.sha256(repr(target).encode()).hexdigest()[:TARGET_DIGITS]


def kernel_key(spec: str) -> str:
    """What stands for a kernel, by the text of its specification."""
    return hashlib.sha256(spec.encode()).hexdigest()[:KERNEL_DIGITS]


@dataclass
class Records:
    """The records of one version and target; those of a kernel are read when asked for."""

    path: Path
    content: bytes = b""
    starts: dict[bytes, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Where the lines of a kernel begin, in the order of the file."""
    damaged: list[int] = field(default_factory=list[int])
    """The numbers of lines that are no records."""
    other_versions: int = 0
    other_targets: int = 0
    warned: bool = False

    def of(self, kernel: str) -> list[tuple[int, Record]]:
        """The records of a kernel with where their lines begin, the oldest first."""
        found: list[tuple[int, Record]] = []
        for start in self.starts.get(kernel.encode(), ()):
            end = self.content.find(b"\n", start)
            record = _record(self.content[start : None if end < 0 else end])
            if record is None:
                self.damaged.append(self.line_number(start))
            else:
                found.append((start, record))
        self.warn()
        return found

    def line_number(self, start: int) -> int:
        """That of the line that begins there; it takes as long as reading what is before."""
        return self.content.count(b"\n", 0, start) + 1

    def all(self) -> Iterator[Record]:
        """All records of this version and target, the oldest of each kernel first."""
        for kernel in list(self.starts):
            for _, record in self.of(kernel.decode()):
                yield record

    def warn(self) -> None:
        """Warn of damaged lines, once."""
        if self.damaged and not self.warned:
            self.warned = True
            more = f" and {len(self.damaged) - 1} more" if len(self.damaged) > 1 else ""
            warnings.warn(
                f"{self.path}:{self.damaged[0]}: no record of tuning{more}; skipped",
                stacklevel=2,
            )


def _record(line: bytes) -> Record | None:
    """The record of a line; None for a damaged one."""
    try:
        fields = cast("dict[str, Any]", json.loads(line))
        record = Record(**fields)
    except (ValueError, TypeError):
        return None
    return record if all(_fits(*item) for item in fields.items()) else None


def _fits(name: str, value: object) -> bool:
    """Whether a field has its type: other lines were written by nobody here."""
    if name in TEXTS:
        return isinstance(value, str)
    if name == "config":
        return isinstance(value, dict)
    if name == "features" and isinstance(value, list):
        return all(map(_is_number, cast("list[object]", value)))
    return _is_number(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and isfinite(value)


def read_records(
    path: Path, target: Target | str | None, base: Path | None = None
) -> Records:
    """The records of a file for a target, None for all; none of a file that is missing.

    With `base`, a folder of the cache, the file is read only if no other user can have written
    it.
    """
    wanted = target_key(target) if isinstance(target, Target) else target
    return records_in(_content(path, base), path, wanted)


def records_in(content: bytes, path: Path, wanted: str | None) -> Records:
    """The records for a target, or all of this version, in the content of a file."""
    records = Records(path, content)
    version, target = VERSION.encode(), wanted and wanted.encode()
    end, number = 0, 1
    for match in _LINE.finditer(content):
        start, stop = match.span()
        if start != end:
            records.damaged += _filled(content[end:start], number)
            number += content.count(b"\n", end, start)
        end, number = stop + 1, number + 1
        own_version, own_target, kernel = match.groups()
        if own_version != version:
            records.other_versions += 1
        elif target and own_target != target:
            records.other_targets += 1
        else:
            records.starts[kernel].append(start)
    records.damaged += _filled(content[end:], number)
    records.warn()
    return records


def _filled(part: bytes, first: int) -> list[int]:
    """The numbers of the lines that are not empty of a part that begins with the `first` one."""
    lines = enumerate(part.split(b"\n"), first)
    return [number for number, line in lines if line.strip()]


def _content(path: Path, base: Path | None) -> bytes:
    try:
        if base is None:
            return path.read_bytes()
        with open(open_private(path, base), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""
    except OSError as error:
        if base is None:
            raise GlowError(f"{path}: {error.strerror}") from error
        return b""


def append_records(path: Path, records: Iterable[Record]) -> None:
    """Add records to a file, in one write; raises GlowError where it cannot be written."""
    append_lines(path, [record.line() for record in records])


def append_lines(path: Path, lines: Sequence[bytes]) -> None:
    """Add lines to a file. What another process left unfinished becomes a line of its own."""
    if not lines:
        return
    try:
        for folder in (path.parent.parent, path.parent):
            folder.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            with contextlib.suppress(OSError):  # Of file systems that lock nothing.
                fcntl.flock(file, fcntl.LOCK_EX)
            size = os.fstat(descriptor).st_size
            cut = size and os.pread(descriptor, 1, size - 1) != b"\n"
            file.write(b"\n" * bool(cut) + b"".join(lines))
    except OSError as error:
        raise GlowError(f"{path}: {error.strerror}") from error


@dataclass
class Merged:
    """How many lines of other files were new, were there already, and were no records."""

    added: int = 0
    known: int = 0
    damaged: int = 0


def merge_records(measured: Path, chosen: Path, others: Iterable[Path]) -> Merged:
    """Add the records of other files, of all versions and targets, that are not there yet.

    What was kept in a network goes to the `chosen` ones, all else to the `measured`.
    """
    merged = Merged()
    contents = [content_of(other) for other in others]
    known = {
        path: set(_content(path, None).splitlines()) for path in (measured, chosen)
    }
    added: dict[Path, dict[bytes, None]] = {measured: {}, chosen: {}}
    for line in (line for content in contents for line in content.splitlines()):
        record = _record(line) if _LINE.fullmatch(line) else None
        if record is None:
            merged.damaged += bool(line.strip())
            continue
        path = measured if record.gain is None else chosen
        if line in known[path] or line in added[path]:
            merged.known += 1
        else:
            added[path][line] = None
    for path, lines in added.items():
        append_lines(path, [line + b"\n" for line in lines])
        merged.added += len(lines)
    return merged


def content_of(path: Path) -> bytes:
    """The lines of a file of records, compressed or not; raises GlowError where it is none."""
    if not path.is_file():
        raise GlowError(f"{path}: no file with records of tuning")
    if path.suffix != COMPRESSED:
        return _content(path, None)
    import lzma

    try:
        return lzma.decompress(_content(path, None))
    except lzma.LZMAError as error:
        raise GlowError(f"{path}: {error}") from error
