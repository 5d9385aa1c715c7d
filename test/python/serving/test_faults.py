"""A server with clients that do wrong; `test/fuzz/serving/serving_faults.py` does more of it."""

from serving_faults import run_faults


def test_others_do_not_notice():
    seconds, _ = run_faults(20, 0.2, is_long=False)
    assert len(seconds) > 1
