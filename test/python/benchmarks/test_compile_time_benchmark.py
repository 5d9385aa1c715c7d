"""`benchmarks/compile_time.py`: the phases of a compilation, and networks of any size."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from benchmarks import compile_time
from benchmarks.networks import TINY_NETWORKS
from benchmarks.networks.scaling import SCALING_NETWORKS


def test_phases_of_a_network(tmp_path: Path) -> None:
    path = tmp_path / "tiny.onnx"
    path.write_bytes(TINY_NETWORKS["mobilenet_v2"]().SerializeToString())
    times = compile_time.measure(path, 1)
    assert set(times.phases) == {"graph", "lowering", "memory"}
    assert all(seconds > 0 for seconds in times.phases.values())
    assert 0 < times.share < 1
    assert times.cpu > 0
    row = [*compile_time.lines([("tiny", times)])][-1]
    assert row.startswith(f"| tiny | {times.total:.2f} |")
    assert row.endswith(f"| {times.share:.0%} |")


def test_network_that_does_not_compile_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.onnx"
    path.write_bytes(b"not a model")
    with pytest.raises(compile_time.CompileError, match="broken") as error:
        compile_time.measure(path, 1)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", SCALING_NETWORKS)
def test_synthetic_networks_have_as_many_nodes(name: str) -> None:
    model = SCALING_NETWORKS[name](20)
    onnx.checker.check_model(model, full_check=True)
    assert abs(len(model.graph.node) - 20) <= 1
