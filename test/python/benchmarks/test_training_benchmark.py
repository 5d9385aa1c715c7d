"""`benchmarks/training.py`: its table says what was measured, and networks take their batches."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest

from benchmarks.networks import trained
from benchmarks.record import Run
from benchmarks.training import Compilation, Row, table, write

SMALL = {
    "digits_mlp": lambda: trained.digits_mlp(2),
    "digits_cnn": lambda: trained.digits_cnn(2),
    "resnet18": lambda: trained.resnet18(2, 32),
    "transformer": lambda: trained.transformer(2, trained.Decoder(layers=1)),
}


def row(**changes):
    fields = {
        "network": "digits_mlp",
        "threads": 1,
        "state": None,
        "milliseconds": {"glow": 1.0, "torch": 4.0, "torch.compile": 3.0},
        "spread": {"glow": 0.01, "torch": 0.02, "torch.compile": 0.03},
        "peak_megabytes": {"glow": 90.0, "torch": 700.0, "torch.compile": 800.0},
        "losses": {"glow": [2.0, 1.0], "torch": [2.0, 1.001], "torch.compile": [2, 1]},
        "load_seconds": {"glow": 1.0, "torch": 0.0, "torch.compile": 9.0},
        "compilation": Compilation(3.0, 1.5, 102, 100),
    }
    return Row(**(fields | changes))


def test_ratios_and_differences():
    assert row().ratio(["torch"]) == 4
    assert row().ratio(["torch", "torch.compile"]) == 3
    assert row().ratio([]) is None
    assert row().difference == pytest.approx(0.0005, rel=1e-3)
    assert row(losses={"glow": [float("nan")], "torch": [1.0]}).difference != 0


def test_the_table():
    head, _, line = table([row()])
    assert head.count("|") == line.count("|")
    for cell in ("1.000 ±1%", "4.00", "3.00", "0.00 / 0.00 = 1.020", "3.0 / 1.5 = 2.0"):
        assert cell in line
    alone = row(milliseconds={"glow": 1.0}, losses={"glow": [1.0]}, compilation=None)
    assert "| – | – | – | – |" in [*table([alone])][-1]


def test_the_file(tmp_path):
    path = tmp_path / "results.json"
    write(
        path, Run("abc", "python benchmarks/training.py", {}), {"digits_mlp": [row()]}
    )
    content = json.loads(path.read_text())
    assert content["run"]["commit"] == "abc"
    assert content["networks"]["digits_mlp"][0]["milliseconds"]["torch"] == 4.0


@pytest.mark.parametrize("name", SMALL)
def test_networks_take_their_batches(name):
    model = SMALL[name]()
    onnx.checker.check_model(model)
    x, labels = trained.make_batch(model)
    (logits,) = model.graph.output
    rows, classes = (d.dim_value for d in logits.type.tensor_type.shape.dim)
    assert labels.shape == (rows,)
    assert labels.max() < classes
    assert np.array_equal(trained.make_batch(model)[0], x)
