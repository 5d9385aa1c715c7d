"""What the first candidates are worth by records: sums over kernels, and what was not measured."""

from __future__ import annotations

import pytest

from benchmarks.tuning.recorded import Recorded, line, recorded


def test_the_first_few_are_compared_with_the_best_of_all() -> None:
    seconds = [2.0, None, 1.5, 3.0, 3.0, 1.0]
    assert recorded(seconds) == Recorded(best=1.0, chosen=2.0, first=1.5)


@pytest.mark.parametrize("seconds", [[], [None, 1.0]])
def test_a_kernel_whose_choice_was_not_measured_is_unknown(
    seconds: list[float | None],
) -> None:
    assert recorded(seconds) is None


def test_a_row_sums_kernels_and_counts_those_without_records() -> None:
    kernels = [Recorded(1.0, 1.5, 1.01), Recorded(1.0, 1.5, 1.1), None]
    assert line("net", kernels).split() == ["net", "2", "1", "1.500", "50%"]
    assert line("none", [None]).split() == ["none", "0", "1", "1.000", "0%"]
