"""What this machine's processor is, as text for keys of caches; read without LLVM."""

from __future__ import annotations

import os
from functools import cache

from glow.lowering.target.cache_sizes import cache_sizes
from glow.lowering.target.target import host_target
from glow.lowering.target.tile_permission import has_tiles
from glow.runtime.caches.calibration import processor


@cache
def machine() -> str:
    """Returns text that is the same only for processors that run the same code."""
    found = processor()
    if not found:
        return repr(host_target())
    sizes = repr(sorted(cache_sizes().items()))
    tiles = ["matrix tiles"] if has_tiles() else []
    return "\n".join([os.uname().machine, found, sizes, *tiles])
