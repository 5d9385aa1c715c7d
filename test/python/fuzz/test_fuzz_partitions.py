"""Some random graphs that are divided; `make fuzz` checks more of them."""

from __future__ import annotations

import partition_checks
import pytest
from checks import Wrong
from partition_checks import check_partition

SEEDS = range(9)


def test_parts_compute_what_the_whole_does() -> None:
    assert sum(map(check_partition, SEEDS)) > 3 * len(SEEDS)


def test_another_result_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = partition_checks.results

    def of_zeros(module, inputs, kept=None):
        """A part that reads zeros in place of what it takes."""
        inputs = [array * 0 for array in inputs] if kept is not None else inputs
        return whole(module, inputs, kept)

    monkeypatch.setattr(partition_checks, "results", of_zeros)
    with pytest.raises(Wrong, match="seed 0: any:"):
        sum(map(check_partition, SEEDS))
