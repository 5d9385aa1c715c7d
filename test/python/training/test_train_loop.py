"""`glow.train`: epochs, schedules, data of all kinds, and going on from a checkpoint."""

from __future__ import annotations

import numpy as np
import pytest
from support.training.trained_networks import mlp, samples

import glow
from glow.dialects.errors import GlowError
from glow.tensor_info import TensorInfo
from glow.training.data import ArrayData, Order, data_set
from glow.training.loops import LoopOptions, Training

X = TensorInfo("x", (8, 4), np.dtype(np.float32))
LABELS = TensorInfo("labels", (8,), np.dtype(np.int64))


def train(data, **options):
    options = {"epochs": 4, "batch_size": 8, "threads": 1, "seed": 5} | options
    return glow.train(mlp(), data, optimizer=glow.Adam(0.05), **options)


@pytest.fixture(scope="module")
def data():
    return samples(50)


def test_a_network_learns_and_goes_on_from_a_checkpoint(data, tmp_path):
    """The last batch of two has a program of its own; half a training goes on as a whole."""
    seen = []
    validation = samples(20, seed=9)
    options = {"schedule": "cosine", "warmup": 3, "epochs": 8}
    step = train(data, callback=seen.append, validation=validation, **options)
    ends = [progress for progress in seen if progress.ends_epoch]
    assert step.steps == len(seen) == 8 * 7
    assert [progress.epoch for progress in ends] == list(range(1, 9))
    assert ends[-1].loss < ends[0].loss / 2
    assert ends[-1].validation_loss == pytest.approx(step.loss_of(*validation))
    rates = [progress.rate for progress in seen]
    assert rates[:3] == sorted(rates[:3])
    assert rates[3:] == sorted(rates[3:], reverse=True)
    assert rates[-1] == pytest.approx(0, abs=1e-9)

    path = tmp_path / "half.safetensors"
    half = train(data, callback=lambda progress: progress.step == 25, **options)
    assert half.steps == 25
    half.save(path)
    resumed = train(data, resume=path, **options)
    for name, value in step.state().items():
        assert np.array_equal(value, resumed.state()[name]), name


def test_batches_of_an_iterable():
    x, labels = samples(16)
    batches = [(x[:8], labels[:8]), (x[8:], labels[8:])]
    step = train(batches, epochs=2)
    assert step.steps == 4
    with pytest.raises(GlowError, match="an iterator, which ends after one epoch"):
        glow.train(step, iter(batches), epochs=2)
    assert step.steps == 6
    with pytest.raises(GlowError, match="the data are empty"):
        glow.train(step, [], epochs=1)
    with pytest.raises(GlowError, match="needs to know the number of steps"):
        glow.train(step, iter(batches), schedule="linear")


def test_epochs_shuffle_by_seed_and_number(data):
    def order(seed, number, first=0):
        chosen = ArrayData(data, ["x", "labels"], Order(8, seed=seed))
        return [batch[0] for batch in chosen.epoch(number, first)]

    whole = order(1, 2)
    assert [len(batch) for batch in whole] == [8] * 6 + [2]
    for other in (order(1, 3), order(2, 2)):
        assert not np.array_equal(np.concatenate(other), np.concatenate(whole))
    assert np.array_equal(np.concatenate(order(1, 2, 3)), np.concatenate(whole[3:]))
    found = np.sort(np.concatenate(whole), axis=None)
    assert np.array_equal(found, np.sort(data[0], axis=None))
    full = ArrayData(data, ["x", "labels"], Order(8, drop_last=True, shuffle=False))
    assert np.array_equal(np.concatenate([b[0] for b in full.epoch(0)]), data[0][:48])


def test_files_and_mappings(data, tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, x=data[0][:, None], y=data[1])
    for given in (path, str(path), {"x": data[0], "targets": data[1]}):
        found = data_set(given, [X, LABELS], Order(8))
        assert isinstance(found, ArrayData)
        assert np.array_equal(found.arrays[0], data[0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((np.zeros((3, 4)), np.zeros(2)), "'x' has 3 samples, 'labels' has 2"),
        ((np.zeros((0, 4)), np.zeros(0)), "0 samples make no batch of 8"),
        ((np.zeros(()), np.zeros(2)), "'x' is a number"),
        ((np.zeros((3, 4)),), "1 arrays are given for x, labels"),
        ({"x": np.zeros((3, 4))}, r"no array for the labels \(labels, y, label"),
        ({"y": np.zeros(3)}, "no array for input 'x'; they have y"),
        (5, "data are arrays, an .npz file or batches, not int"),
        ("/missing.npz", "cannot read /missing.npz: no such file"),
    ],
)
def test_wrong_data(given, message):
    with pytest.raises(GlowError, match=message):
        data_set(given, [X, LABELS], Order(8))


def test_wrong_files(tmp_path):
    for name, content in [("a.npz", b"no archive"), ("b.npz", b"")]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(GlowError, match=r"is not an \.npz file of numbers"):
            data_set(tmp_path / name, [X, LABELS], Order(8))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs must be a whole number"),
        ({"batch_size": -1}, "batch_size must be a whole number"),
    ],
)
def test_wrong_options(data, options, message):
    with pytest.raises(GlowError, match=message):
        train(data, **options)


def test_schedules_by_name():
    for shape, expected in [("linear", 0.5), ("cosine", 0.5), ("constant", 1.0)]:
        assert glow.schedule(shape, 100)(50) == pytest.approx(expected)
        assert glow.schedule(shape, 100, warmup=10)(5) == 0.5
    with pytest.raises(GlowError, match="unknown schedule 'foo'"):
        glow.schedule("foo", 10)


def test_a_schedule_may_be_a_function(data):
    seen = []
    step = train(
        data, schedule=lambda number: 1 / number, epochs=1, callback=seen.append
    )
    rates = [0.05 / number for number in range(1, 8)]
    assert [p.rate for p in seen] == pytest.approx(rates)
    assert Training(step, data, LoopOptions(), None).factor(3) == 1.0
