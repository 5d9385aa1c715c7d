"""Divides a network between devices: a function for each part, and a `main` that calls them.

| file               | what                                                             |
|--------------------|------------------------------------------------------------------|
| `devices.py`       | the devices, as text says them                                   |
| `graph.py`         | what may be moved, and the bytes that flow between               |
| `parts.py`         | the parts that a choice of devices gives, without a cycle        |
| `user.py`          | the choice by a map from names of nodes                          |
| `outline.py`       | writes the functions                                             |
| `inline_parts.py`  | the way back: one function again                                 |
| `calls.py`         | reads a `main` of calls                                          |
| `partition.py`     | the pass                                                         |
| `verify_partition.py` | what holds of a divided network                               |
"""

from __future__ import annotations

from glow.passes.lazy_passes import lazy_passes

PASSES = lazy_passes(
    "glow.passes.graph.partition", "inline_parts", "partition", "verify_partition"
)
"""Pass name to factory."""
