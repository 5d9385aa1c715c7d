"""Some kernels in other configurations; `make fuzz` checks more of them."""

from __future__ import annotations

import numpy as np
import pytest
from checks import Wrong
from kernels.config_checks import CANDIDATES, FAMILIES, check_configs

NAMES = ("product", "plain", "batches", "lines")


def seed_of(name: str) -> int:
    return 4 * list(FAMILIES).index(name)


@pytest.mark.parametrize("name", NAMES)
def test_candidates_give_the_same_bits(name: str) -> None:
    assert check_configs(seed_of(name)) == CANDIDATES


def test_other_bits_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "array_equal", lambda *_, **__: False)
    with pytest.raises(Wrong, match="other bits"):
        check_configs(seed_of("product"))
