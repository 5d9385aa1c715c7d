"""A part of a network of several backends, as the cache of models knows it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NetworkPart:
    """What runs a part, and the values that it takes from others and gives to them."""

    name: str
    """`part0_npu`."""
    device: str
    """Where it runs, for people: `npu:0`."""
    backend: str
    takes: tuple[str, ...]
    gives: tuple[str, ...]
