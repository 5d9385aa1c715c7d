"""A kernel as OpenCL C: what caches keep of a kernel of an OpenCL device."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class KernelSource:
    """A kernel as text, the name of its entry, and how many work items it has."""

    text: str
    entry: str
    work_items: int

    def stored(self) -> bytes:
        """All of it, for a file."""
        return json.dumps(asdict(self)).encode()


def stored_source(data: bytes) -> KernelSource:
    """The source that `KernelSource.stored` gave."""
    return KernelSource(**json.loads(data))
