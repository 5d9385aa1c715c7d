"""The rows of `benchmarks/partitions.py`."""

import sys

import onnx
import pytest
from places import ROOT

from glow.options import CompileOptions

sys.path.insert(0, str(ROOT))
from benchmarks import partitions
from benchmarks.partitions import Row, measure
from benchmarks.rounds import fastest

EXACT = CompileOptions(threads=1, numerics="exact")


def test_shares_and_what_they_are_off() -> None:
    row = Row("net", "balance", [1.0, 1.0], [3.0, 2.0], 1024, 4.5, False)
    assert row.off == pytest.approx(0.25)
    assert str(row).split() == [
        "net", "2", "balance", "50.0%/50.0%", "60.0%/40.0%", "25.0%", "1,024",
        "4500.00", "1.50", "NO",
    ]  # fmt: skip


def test_calls_take_turns() -> None:
    called: list[str] = []
    times = fastest([lambda: called.append("a"), lambda: called.append("b")], 3)
    assert called == ["a", "b"] * 3
    assert len(times) == 2


def test_parts_are_compared_with_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    digits = ROOT / "examples" / "digits" / "digits.onnx"
    monkeypatch.setitem(partitions.NETWORKS, "digits", lambda: onnx.load(digits))
    row = measure("digits", 2, "balance", EXACT, 1)
    assert row.is_equal
    assert len(row.estimated) == len(row.measured) == 2
    assert row.crossing_bytes == 4096
