"""What a network may have otherwise, and only its own time can judge: a row a choice.

| choice         | levels                                                    | results         |
|----------------|-----------------------------------------------------------|-----------------|
| winograd       | the cost model's tile, 0 for direct sums                  | by `numerics`   |
| int8_winograd  | the same of bytes                                         | the same bits   |
| strassen       | its levels, 0 for direct sums                             | by `numerics`   |
| space_to_depth | 1 for a strided convolution behind space-to-depth         | by `numerics`   |
| blocks         | 1 for a convolution on channel blocks, 0 for a plain one  | sums in another |
| plain_input    | 1 for one that reads a plain image, 0 for packing it      | order           |
| batch          | the parts in which the images run, 0 for the whole batch  | the same bits   |
| bf16           | 1 for a product of bf16, 0 for one of f32                 | by `precision`  |
| bf16_weights   | 1 for weights that are stored so                          | by `numerics`   |

The cost model says a level, and whoever asks names the `other` one, if it is allowed where he asks:
within `numerics`, `precision` and the budget of weights. To add a choice: a row of `TEXTS`, and
`choose_level` where the compiler decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import cast


@dataclass(frozen=True)
class LevelConfig:
    """Which way: levels of Strassen's, tile of Winograd's, parts of a batch, 0 for none."""

    level: int = 0


@dataclass(frozen=True)
class AlgorithmSpec:
    """A layer or network that may be computed in two ways.

    Unlike register tiles the choice may change the last bits.
    """

    algorithm: str
    shape: tuple[object, ...]
    level: int
    """That the cost model chooses."""
    config: LevelConfig | None = None
    other: int = field(default=0, repr=False)
    """The level that may stand instead; it follows from the rest, and names no record."""

    @property
    def operations(self) -> int:
        """The additions and multiplications that depend on the choice."""
        first = self.shape[0]
        if isinstance(first, int):  # The sizes of a product.
            return 2 * prod(cast("tuple[int, ...]", self.shape))
        return int(getattr(first, "operations", 0))


TEXTS: Mapping[str, tuple[str, str]] = {
    "winograd": ("no winograd", "winograd"),
    "int8_winograd": ("no winograd of bytes", "winograd of bytes"),
    "strassen": ("no strassen", "strassen"),
    "space_to_depth": ("no space-to-depth", "space-to-depth"),
    "blocks": ("plain", "in blocks"),
    "plain_input": ("packed input", "plain input"),
    "batch": ("whole batch", "batch in parts"),
    "bf16": ("f32", "bf16"),
    "bf16_weights": ("weights of f32", "weights of bf16"),
}
"""What level 0 is called, and another one."""


def algorithm_text(spec: AlgorithmSpec, level: int) -> str:
    """What is tried, in words."""
    return TEXTS[spec.algorithm][level > 0]
