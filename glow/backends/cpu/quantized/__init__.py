"""Nodes on integers that the CPU has kernels for.

| file            | nodes                                                   |
|-----------------|---------------------------------------------------------|
| `embeddings.py` | gathers from tables with a scale for each row           |
| `dynamic.py`    | what is quantized at run time                           |
| `requantize.py` | what ends in bytes: sums, products, casts               |
"""

from __future__ import annotations

from xdsl.ir import Operation

from glow.backends.backend import Rewrite
from glow.backends.cpu.quantized import block_weights, dynamic, embeddings, requantize

REWRITES: dict[type[Operation], Rewrite] = {
    **requantize.REWRITES,
    **dynamic.REWRITES,
    **embeddings.REWRITES,
    **block_weights.REWRITES,
}
"""Each returns whether it replaced the node, or it may stay."""
