"""The kernel profile of a small network; times are not tested."""

from pathlib import Path

import pytest

from benchmarks.networks import TINY_NETWORKS
from benchmarks.profile_kernels import (
    Network,
    compile_program,
    grouped,
    profile,
    table,
    unrolled,
)
from glow.lowering.target import host_target


@pytest.mark.parametrize("name", list(TINY_NETWORKS))
def test_rows_cover_the_network(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(TINY_NETWORKS[name]().SerializeToString())
    target = host_target()
    program = compile_program(path, target)
    rows = profile(program, Network(program, target), 2)
    assert len(rows) == len(list(unrolled(program.steps))) > 2
    groups = grouped(rows)
    assert sum(row.calls for row in groups) == len(rows)
    assert [row.label for row in groups if row.operations]
    lines = list(table(groups))
    assert len(lines) == len(groups) + 2
    assert "100.0%" in lines[-1]
