"""Some random programs with variables; `make fuzz` checks more of them."""

from __future__ import annotations

import pytest
import state_checks
from checks import Wrong
from state_checks import check_state


def test_variables_are_those_of_the_interpreter() -> None:
    assert sum(map(check_state, range(8))) > 8 * state_checks.CALLS


def test_another_value_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_checks, "CLOSE", -1.0)
    with pytest.raises(Wrong, match="another result or variable"):
        check_state(0)
