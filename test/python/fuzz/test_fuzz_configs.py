"""Some kernels in other configurations; `make fuzz` checks all of 40 kernels of each family."""

from __future__ import annotations

import numpy as np
import pytest
from checks import Wrong
from kernels.config_checks import FAMILIES, check_configs

MOST = 3
"""Candidates of a kernel."""

NAMES = ("product", "plain", "batches", "lines")


def seed_of(name: str) -> int:
    return 4 * list(FAMILIES).index(name)


@pytest.mark.parametrize("name", NAMES)
def test_candidates_give_the_same_bits(name: str) -> None:
    assert check_configs(seed_of(name), MOST) == MOST


def test_other_bits_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "array_equal", lambda *_, **__: False)
    with pytest.raises(Wrong, match="other bits"):
        check_configs(seed_of("product"), MOST)
