"""Some random models with open sizes and shapes of data; `make fuzz` checks more of them."""

from __future__ import annotations

import open_checks
import pytest
from checks import Wrong
from open_checks import check_open_model
from xdsl.dialects.builtin import ModuleOp

from glow.dialects.weight_table import Array
from glow.interpreter import run

SEEDS = range(2000, 2010)


def test_programs_compute_what_the_model_does() -> None:
    assert sum(map(check_open_model, SEEDS)) > 20


def test_a_value_that_is_lost_on_the_way_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a program passes to the next is 0 in the wrong one."""

    def wrong(module: ModuleOp, inputs: list[Array]) -> list[Array]:
        results = run(module, inputs)
        return [one * 0 if one.ndim else one for one in results]

    monkeypatch.setattr(open_checks, "run_step", wrong)
    with pytest.raises(Wrong):
        sum(map(check_open_model, SEEDS))
