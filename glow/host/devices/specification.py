"""Devices as text: `cpu`, `cpu:2GiB`, `cpu@0-3`, `process*2`, `ray://head:10001`.

    kind [*count] [@cores] [:memory]

A kind is `process`, `ray`, or the name of a backend, whose networks run in this process.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from glow.backends.backend import DEFAULT_BACKEND
from glow.dialects.errors import GlowError
from glow.runtime.threads.cores import available_cores

UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
         "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}  # fmt: skip

_TEXT = re.compile(
    r"(?P<kind>[A-Za-z_][\w-]*)(?:\*(?P<count>\d+))?"
    r"(?:@(?P<cores>[\d,-]+))?(?::(?P<memory>[\d.]+\s*\w*))?"
)
_BYTES = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")


@dataclass(frozen=True)
class DeviceSpecification:
    """One device of a host."""

    kind: str
    """`process`, `ray`, or a backend's name."""
    memory_bytes: int | None = None
    """What networks may take; None for what the machine has."""
    cores: tuple[int, ...] = ()
    """The cores that its threads are pinned to; none for all, and no pinning."""
    address: str | None = None
    """Where a cluster is: `ray://head:10001`."""

    @property
    def backend(self) -> str:
        """The backend that networks for it are compiled with."""
        return DEFAULT_BACKEND if self.kind in ("process", "ray") else self.kind


def parse_specifications(text: str) -> list[DeviceSpecification]:
    """The devices that a text stands for: several with a count.

    Raises GlowError for text that is no device.
    """
    text = text.strip()
    if text.startswith("ray://"):
        return [DeviceSpecification("ray", address=text)]
    found = _TEXT.fullmatch(text)
    if found is None:
        raise GlowError(
            f"'{text}' is no device", hint="for example cpu, cpu:2GiB, process*2"
        )
    count = int(found["count"] or 1)
    if not 1 <= count <= 1024:
        raise GlowError(f"'{text}' is {count} devices", hint="from 1 to 1024")
    cores = tuple(parse_cores(found["cores"])) if found["cores"] else ()
    memory = parse_bytes(found["memory"]) if found["memory"] else None
    one = DeviceSpecification(found["kind"], memory, cores)
    if found["kind"] == "process" and count > 1:
        return [replace(one, cores=part) for part in core_shares(cores, count)]
    return [one] * count


def core_shares(cores: Sequence[int], count: int) -> list[tuple[int, ...]]:
    """The cores of each of several processes, one at least; of all cores where none are given.

    None for each where a quota says how much time there is, not which cores.
    """
    if not cores:
        if not hasattr(os, "sched_getaffinity"):
            return [()] * count
        cores = sorted(os.sched_getaffinity(0))
        if available_cores() < len(cores):
            return [()] * count
    there = len(cores)
    if count > there:
        return [(cores[number % there],) for number in range(count)]
    bounds = [there * number // count for number in range(count + 1)]
    return [tuple(cores[a:b]) for a, b in itertools.pairwise(bounds)]


def parse_bytes(text: str) -> int:
    """`2GiB`, `512 MB` or `4096` in bytes; raises GlowError for anything else."""
    found = _BYTES.fullmatch(text.strip())
    if found is None or found[2] not in UNITS:
        raise GlowError(f"'{text}' is no size of memory", hint="for example 2GiB")
    return int(float(found[1]) * UNITS[found[2]])


def parse_cores(text: str) -> Iterator[int]:
    """`0-2,5` as numbers; raises GlowError for anything else."""
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise GlowError(f"'{text}' is no list of cores", hint="for example 0-3")
        yield from range(int(first), int(last if dash else first) + 1)
