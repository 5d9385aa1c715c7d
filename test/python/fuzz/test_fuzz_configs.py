"""Some kernels in other configurations; `make fuzz` checks all of more than 40 kernels a family."""

from __future__ import annotations

import numpy as np
import pytest
from checks import Wrong
from kernels.config_checks import FAMILIES, SEED_STEP, check_configs

MOST = 3
"""Candidates of a kernel."""

NAMES = ("product", "plain", "batches", "lines", "quantized")


def check(name: str) -> int:
    """The comparisons of the first kernel of a family that this machine has candidates for."""
    first, step = SEED_STEP * list(FAMILIES).index(name), SEED_STEP * len(FAMILIES)
    found = (check_configs(seed, MOST) for seed in range(first, first + 4 * step, step))
    return next(filter(None, found), 0)


@pytest.mark.parametrize("name", NAMES)
def test_candidates_give_the_same_bits(name: str) -> None:
    assert 0 < check(name) <= MOST


def test_other_bits_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "array_equal", lambda *_, **__: False)
    with pytest.raises(Wrong, match="other bits"):
        check("product")
