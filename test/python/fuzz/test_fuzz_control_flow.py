"""Some random models with branches and loops; `make fuzz` checks more of them."""

from __future__ import annotations

import control_checks
import pytest
from checks import Wrong
from control_checks import check_control_model

SEEDS = range(4)


def test_results_are_those_of_onnx_runtime() -> None:
    assert sum(map(check_control_model, SEEDS)) == 4 * len(SEEDS)


def test_another_result_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_checks, "CLOSE", -1.0)
    with pytest.raises(Wrong, match="another result"):
        check_control_model(SEEDS[0])
