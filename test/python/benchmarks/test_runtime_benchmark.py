"""The benchmark of the host on small networks; what times it shows is not tested."""

import argparse
from contextlib import ExitStack

import numpy as np

from benchmarks import runtime
from benchmarks.networks import TINY_NETWORKS


def test_ways_to_call_compute_the_same():
    with ExitStack() as stack:
        calls = runtime.overhead_calls(stack)
        results = {name: call() for name, call in calls.items()}
    assert set(runtime.ADDS_TO) < set(results)
    for name in (runtime.HOST, runtime.TRACED, runtime.PROCESS):
        np.testing.assert_array_equal(results[name]["y"], np.ones((1, 16)))
    np.testing.assert_array_equal(results[runtime.ONE]["y"], results[runtime.TWO]["y"])


def test_tables(monkeypatch, capsys):
    monkeypatch.setattr(runtime, "NETWORKS", TINY_NETWORKS)
    network = next(iter(TINY_NETWORKS))
    options = argparse.Namespace(network=network, rounds=1, seconds=0.01)
    runtime.throughput(options)
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith(network)
    assert rows[0].split()[-1] == "1.00"
    assert len(rows) == 2
