"""One device process is killed under load; `make fuzz` kills thirty."""

from __future__ import annotations

from device_faults import run_storm


def test_a_kill_under_load_harms_nobody_else() -> None:
    storm = run_storm(seconds=0.5, every=0.4, devices=2)
    assert storm.faults == []
    assert len(storm.kills) == 1
    assert storm.done[-1] > storm.kills[0]
