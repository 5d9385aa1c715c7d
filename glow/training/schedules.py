"""Rates by the number of a step, which begins with 1."""

from __future__ import annotations

import math
from collections.abc import Callable

from glow.dialects.errors import GlowError

Schedule = Callable[[int], float]
"""The factor of the optimizer's rate at a step."""

SHAPES: dict[str, Callable[[float], float]] = {
    "constant": lambda part: 1.0,
    "linear": lambda part: 1.0 - part,
    "cosine": lambda part: (1.0 + math.cos(math.pi * part)) / 2.0,
}
"""The factor by the part of all steps that is over."""


def schedule(shape: str, steps: int, warmup: int = 0) -> Schedule:
    """A schedule over so many steps: `constant`, `linear` (to zero) or `cosine` (to zero).

    The first `warmup` steps rise linearly to it. Loshchilov and Hutter 2017, "SGDR: Stochastic
    gradient descent with warm restarts", equation 5, for the cosine. Raises GlowError for an
    unknown shape.
    """
    if shape not in SHAPES:
        raise GlowError(
            f"unknown schedule '{shape}'", hint=f"one of {', '.join(SHAPES)}"
        )
    factor = SHAPES[shape]

    def at(step: int) -> float:
        if step <= warmup:
            return step / warmup
        return factor(min(1.0, (step - warmup) / max(1, steps - warmup)))

    return at
