"""The benchmark of bundles for WebAssembly, without its peer."""

import shutil

import pytest

from benchmarks import bundles_web
from benchmarks.bundles_web import __main__ as benchmark

pytest.importorskip("ziglang")


@pytest.mark.skipif(shutil.which("node") is None, reason="node is missing")
def test_a_row_for_each_network(monkeypatch, capsys) -> None:
    command = [bundles_web.__name__, "--no-peer", "--networks", "anomaly_detector"]
    monkeypatch.setattr("sys.argv", [*command, "--rounds=1", "--seconds=0.001"])
    benchmark.main()
    header, rule, line = capsys.readouterr().out.strip().splitlines()
    assert header.startswith("| network | f32 us | int8 us |")
    assert rule.count("|") == header.count("|")
    name, *times = [cell.strip() for cell in line.strip("|").split("|")]
    assert name == "anomaly_detector"
    assert all(float(time) > 0 for time in times)


def test_a_table_says_how_far_the_peer_is() -> None:
    times = {"f32": 2.0, "int8": 1.0, benchmark.PEER: 8.0}
    outputs = {"f32": [1.0, 4.0], "int8": [1.0, 4.0], benchmark.PEER: [1.0, 5.0]}
    results = [{"name": "net", "microseconds": times, "outputs": outputs}]
    line = benchmark.table(results, [{"f32": 15000, "int8": 9000}])[-1]
    assert line == "| net | 2.0 | 1.0 | 0.50 | 15.0 | 9.0 | 8.0 | 0.25 | 2e-01 |"
