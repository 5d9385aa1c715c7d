"""Tables that name what is loaded late agree with what is there."""

import subprocess
import sys
from importlib import import_module

import pytest

from glow.backends.cpu import selection
from glow.frontends.onnx import control_flow
from glow.frontends.onnx.control_flow import sequences

MODULES = """
import sys, tempfile
from onnx import TensorProto, helper
import glow

x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in "xy")
graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
glow.compile(helper.make_model(graph).SerializeToString(), threads=1)
for part in sys.argv[1:]:
    print(sum(name.startswith(part) for name in sys.modules))
"""

MOST = {
    "glow.": 472,
    "glow.backends.cpu.kernels": 28,
    "glow.backends.cpu.selection": 4,
    "glow.frontends.onnx.operators": 3,
    "glow.host": 0,
}
"""Modules that the compilation of one element-wise node loads at most."""


@pytest.mark.parametrize("theme", selection.THEMES)
def test_a_theme_has_its_keys(theme):
    module = import_module(f"{selection.__name__}.{theme}")
    assert list(selection.THEMES[theme]) == list(module.SELECTORS)


def test_sequence_operators():
    assert control_flow.SEQUENCE_OPERATORS == tuple(sequences.HANDLERS)


def test_a_small_network_loads_few_modules(tmp_path, monkeypatch):
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path))
    command = [sys.executable, "-c", MODULES, *MOST]
    output = subprocess.run(command, capture_output=True, text=True, check=True)
    counts = dict(zip(MOST, map(int, output.stdout.split()), strict=True))
    assert all(counts[part] <= most for part, most in MOST.items()), counts
