"""Taps of a kernel from its transformed weights: each is a combination of a few of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
from xdsl.ir import SSAValue

from glow.lowering.loop_builder.builder import LoopBuilder


def used_positions(transform: np.ndarray) -> list[int]:
    """The positions of which taps are made."""
    pairs = [k for k in range(1, transform.shape[1] - 1) if transform[:, k].any()]
    both = sorted({k + (k % 2 == 0) * -1 + side for k in pairs for side in (0, 1)})
    return [0, *both, transform.shape[1] - 1]


def recovered_taps(
    b: LoopBuilder, transform: np.ndarray, value: Callable[[int], SSAValue]
) -> list[SSAValue]:
    """The taps of a row or column from its values at the points.

    Sums and differences come first, so that a tap of zero is zero.
    """
    terms: dict[int, SSAValue] = {k: value(k) for k in (0, transform.shape[1] - 1)}
    for k in range(1, transform.shape[1] - 1):
        if transform[:, k].any():
            combine = b.addf if k % 2 else b.subf
            first = k if k % 2 else k - 1
            terms[k] = combine(value(first), value(first + 1))
    return [
        reduce(
            b.addf,
            [
                b.mulf(b.like(scale, terms[k]), terms[k])
                for k, scale in enumerate(map(float, row))
                if scale
            ],
        )
        for row in transform
    ]
