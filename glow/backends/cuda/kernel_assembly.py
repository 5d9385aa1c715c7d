"""A kernel as PTX, and how it is launched: what caches keep of a kernel of an NVIDIA GPU."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from glow.backends.cuda.tensor_map import TensorMap

Sizes = tuple[int, int, int]
"""Of a grid in blocks, or of a block in threads."""


@dataclass(frozen=True)
class KernelAssembly:
    """A kernel as PTX, the name of its entry, and how it is launched."""

    text: str
    entry: str
    grid: Sizes
    block: Sizes
    work_items: int = 0
    """The last argument of a kernel of loops; others have none."""
    dynamic_bytes: int = 0
    """The shared memory that a launch gives."""
    maps: tuple[TensorMap, ...] = ()
    """What it takes of buffers beside their addresses."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The arguments behind the buffers."""
        return (self.work_items,) if self.work_items else ()

    def stored(self) -> bytes:
        """All of it, for a file."""
        return json.dumps(asdict(self)).encode()


def stored_assembly(data: bytes) -> KernelAssembly:
    """The assembly that `KernelAssembly.stored` gave."""
    fields: dict[str, Any] = json.loads(data)
    grid, block = tuple(fields.pop("grid")), tuple(fields.pop("block"))
    maps = tuple(TensorMap(**each) for each in fields.pop("maps"))
    return KernelAssembly(grid=grid, block=block, maps=maps, **fields)
