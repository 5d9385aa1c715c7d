"""Losses of trainings, step by step, against PyTorch's from the same weights and batches."""

from __future__ import annotations

import numpy as np
import pytest
from places import ROOT
from support.training.trained_networks import recurrent

import glow
from benchmarks.networks import trained

torch = pytest.importorskip("torch")
from support.training import torch_onnx  # noqa: E402

OPTIMIZERS = {
    "sgd": (
        glow.SGD(0.1, momentum=0.9, nesterov=True, weight_decay=1e-3),
        lambda p: torch.optim.SGD(p, 0.1, 0.9, 0, 1e-3, True),
    ),
    "adam": (glow.Adam(3e-3), lambda p: torch.optim.Adam(p, 3e-3)),
    "adamw": (glow.AdamW(3e-3), lambda p: torch.optim.AdamW(p, 3e-3)),
}


def digits(batch):
    with np.load(ROOT / "examples" / "digits" / "held_back.npz") as stored:
        images = stored["images"][:, None].astype(np.float32) / 16
        labels = stored["labels"].astype(np.int64)
    while True:
        for first in range(0, len(images) - batch + 1, batch):
            yield images[first : first + batch], labels[first : first + batch]


def letters(batch, sequence):
    """A text whose next letter follows from the two before it."""
    text = np.zeros(batch * sequence * 40 + 1, np.int64)
    for place in range(2, len(text)):
        text[place] = (text[place - 1] + 2 * text[place - 2] + place % 3) % 7
    size = batch * sequence
    for first in range(0, len(text) - size, size):
        x = text[first : first + size].reshape(batch, sequence)
        yield x, text[first + 1 : first + size + 1]


# Where rounding decides whether a ReLU lets a gradient through, convolutions go apart.
CASES = {
    "mlp": (lambda: trained.digits_mlp(30), lambda: digits(30), "sgd", 1e-3),
    "cnn": (lambda: trained.digits_cnn(30), lambda: digits(30), "adam", 2e-2),
    "lstm": (lambda: recurrent("LSTM", 4, 8), lambda: letters(4, 8), "adamw", 1e-2),
}


def their_losses(model, batches, make):
    parameters = torch_onnx.parameters_of(model, torch.float32)
    statistics = [name for name in parameters if "running" in name]
    for name in statistics:
        parameters[name].requires_grad_(False)
    optimizer = make([p for p in parameters.values() if p.requires_grad])
    losses = []
    for x, labels in batches:
        optimizer.zero_grad()
        logits = torch_onnx.run(model, {"x": torch.from_numpy(x)}, parameters)
        loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(labels))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("name", CASES)
def test_losses_are_those_of_torch(name):
    make_model, make_batches, optimizer, tolerance = CASES[name]
    ours, theirs = OPTIMIZERS[optimizer]
    model, steps = make_model(), 40
    batches = [batch for batch, _ in zip(make_batches(), range(steps), strict=False)]
    step = glow.TrainStep(model, optimizer=ours, threads=1)
    losses = [step(*batch) for batch in batches]
    expected = their_losses(model, batches, theirs)
    assert losses[-1] < losses[0] * 0.9
    np.testing.assert_allclose(losses, expected, rtol=tolerance)
