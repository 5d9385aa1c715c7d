"""How candidates are cut, put in order and checked, whatever the family."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, TypeVar

from glow.backends.cpu.tuning.families import wrong_config
from glow.lowering.target.target import Target

SEGMENTS = (1, 2, 4)

CUTS = 4
"""In how many ways a run of pixels is cut into tiles of equal size, for each width of them."""

UNLIKE = 3
"""How many tiles come behind the model's choice, before the same with other segments, with another
order or without weights that are fetched ahead."""

Config = TypeVar("Config")


def fitting(spec: Any, target: Target, configs: Iterable[Config]) -> list[Config]:
    """Those that the target and the shapes allow."""
    return [each for each in configs if wrong_config(spec, each, target) is None]


def equal_cuts(run: int, most: int) -> list[int]:
    """The sizes up to `most` of tiles that cover a run in equal parts, in few of them first."""
    if run < 1:
        return [1]
    least = -(-run // max(1, min(run, most)))
    return list(dict.fromkeys(-(-run // count) for count in range(least, least + CUTS)))


def in_turns(groups: Iterable[Sequence[Config]]) -> Iterator[Config]:
    """The first of each group, then the second ones, and so on: candidates that differ much come
    early.
    """
    for turn in zip_longest(*groups):
        yield from (config for config in turn if config is not None)
