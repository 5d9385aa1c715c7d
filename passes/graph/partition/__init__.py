"""Divides a network between devices: a function for each part, and a `main` that calls them.

| file                  | what                                                          |
|-----------------------|---------------------------------------------------------------|
| `partition.py`        | the pass, and its options                                     |
| `divide.py`           | the way from a module to a divided one                        |
| `heterogeneous.py`, `memory.py`, `balance.py`, `pipeline.py`, `user.py` | a strategy each |
| `saturate.py`         | copies on devices that are left over                          |
| `devices.py`, `options.py` | the devices and operations, as text says them            |
| `graph.py`            | what may be moved, and the bytes that flow between            |
| `problem.py`          | what a strategy chooses from                                  |
| `cost.py`, `memory_use.py`, `support.py` | what nodes take, and who runs them         |
| `cut_order.py`        | stretches of an order, one a device                           |
| `refine.py`           | moves that shrink the bytes that cross                        |
| `parts.py`            | the parts that a choice of devices gives, without a circle    |
| `outline.py`          | writes the functions                                          |
| `assign_backends.py`  | the first of several backends that takes a node               |
| `outline_parts.py`    | the parts of nodes that are assigned                          |
| `calls.py`            | reads a `main` of calls                                       |
| `inline_parts.py`     | the way back: one function again                              |
| `verify_partition.py` | what holds of a divided network                               |
"""

from __future__ import annotations

from glow.passes.lazy_passes import lazy_passes

PASSES = lazy_passes(
    "glow.passes.graph.partition",
    "assign_backends",
    "inline_parts",
    "outline_parts",
    "partition",
    "verify_partition",
)
"""Pass name to factory."""
