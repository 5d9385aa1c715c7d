"""`glow train`: a checkpoint, a network, lines of progress, and one line for each mistake."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from support.training.trained_networks import mlp, samples

import glow
from glow.diagnostics import run_reporting
from glow.tools.glow import run_glow
from glow.tools.train_command import Reporter
from glow.training.loops import Progress


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("train")
    (path / "net.onnx").write_bytes(mlp().SerializeToString())
    x, labels = samples(40)
    np.savez(path / "data.npz", x=x, labels=labels.astype(np.uint8))
    np.savez(path / "wrong.npz", x=x, labels=labels + 1)
    np.savez(path / "nan.npz", x=np.where(x > 1, np.nan, x), labels=labels)
    return path


def run(folder, *arguments, data="data.npz"):
    line = ["train", str(folder / "net.onnx"), "--data", str(folder / data)]
    line += ["--batch", "8", "--threads", "1", *map(str, arguments)]
    return run_reporting("glow", lambda: run_glow(line), debug=False)


def test_it_trains_saves_exports_and_goes_on(folder, capsys):
    saved, network = folder / "run.safetensors", folder / "trained.onnx"
    options = "--optimizer", "sgd", "--rate", "0.3", "--momentum", "0.9", "--seed", 3
    assert run(folder, "--epochs", 2, *options, "--save", saved) == 0
    goes_on = "--epochs", 4, *options, "--resume", saved, "--export", network
    assert run(folder, *goes_on) == 0
    lines = capsys.readouterr().err.splitlines()
    assert f"{saved}: 10 steps" in lines
    ends = [line for line in lines if line.startswith("epoch 4/4, step 20: loss ")]
    assert len(ends) == 1
    assert "rate 0.3, " in ends[0]
    step = glow.train(
        mlp(),
        samples(40),
        optimizer=glow.SGD(0.3, momentum=0.9),
        epochs=4,
        batch_size=8,
        seed=3,
        threads=1,
    )
    x = samples(1)[0]
    expected = step.inference()(np.repeat(x, 8, 0))[:1]
    np.testing.assert_allclose(glow.compile(network)(x), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--loss", "foo"], "unknown loss 'foo'; one of cross_entropy"),
        (["--optimizer", "foo"], "unknown optimizer 'foo'; one of sgd"),
        (["--optimizer", "adam", "--momentum", "1"], "adam has no --momentum"),
        (["--rate", "-1"], "argument --rate: expected a number"),
        (["--schedule", "foo"], "unknown schedule 'foo'"),
        (["--resume", "/missing"], "cannot read /missing: no such file or directory"),
        (["--save", "/missing/x"], "cannot write into /missing"),
        (["--backend", "foo"], "unknown backend 'foo'"),
    ],
)
def test_mistakes_are_one_line(folder, capsys, arguments, message):
    assert run(folder, *arguments) != 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("glow: error: ")
    assert message in lines[-1]
    assert "Traceback" not in "".join(lines)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("wrong.npz", "label 3 is out of range: the network has 3 classes"),
        ("nan.npz", "step 1: the loss is nan, and input 'x' holds NaN"),
        ("net.onnx", "net.onnx is not an .npz file of numbers"),
        ("missing.npz", "missing.npz: no such file"),
    ],
)
def test_wrong_data_are_one_line(folder, capsys, data, message):
    saved = folder / "no.safetensors"
    options = "--check-finite", "--no-shuffle", "--save", saved
    assert run(folder, *options, data=data) == 1
    assert message in capsys.readouterr().err.splitlines()[-1]
    assert not saved.exists()


def test_an_interrupt_ends_behind_the_step(folder, capsys, monkeypatch):
    """The state is saved, and the exit status is that of an interrupt."""
    before = Reporter.__call__

    def interrupted(self, progress: Progress) -> bool:
        if progress.step == 7:
            signal.raise_signal(signal.SIGINT)
        return before(self, progress)

    monkeypatch.setattr(Reporter, "__call__", interrupted)
    saved = folder / "stopped.safetensors"
    assert run(folder, "--epochs", 100, "--save", saved) == 130
    lines = capsys.readouterr().err.splitlines()
    assert lines[-2:] == [f"{saved}: 7 steps", "interrupted after step 7"]
