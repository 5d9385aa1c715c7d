"""Losses and layers in training against torch's functions of the same names."""

from __future__ import annotations

import numpy as np
import pytest
from support.training.training_examples import (
    class_loss_examples,
    layer_examples,
    loss_examples,
)

from glow.dialects import glow
from glow.interpreter import run

torch = pytest.importorskip("torch")
F = torch.nn.functional

FUNCTIONS = {
    glow.MseLossOp: F.mse_loss,
    glow.L1LossOp: F.l1_loss,
    glow.HuberLossOp: F.huber_loss,
    glow.BceWithLogitsOp: F.binary_cross_entropy_with_logits,
    glow.KlDivOp: F.kl_div,
    glow.NllLossOp: F.nll_loss,
    glow.CrossEntropyOp: F.cross_entropy,
}


def peers():
    """Examples with what torch computes."""
    for case in (*loss_examples(), *class_loss_examples()):
        operands = [torch.tensor(array) for array in case.inputs]
        names = ["weight"]
        if case.node is glow.BceWithLogitsOp:
            names = ["pos_weight"]
        if issubclass(case.node, glow.ClassLossOp):
            operands[1] = operands[1].long()
        weights = dict(zip(names, operands[2:], strict=False))
        yield case, FUNCTIONS[case.node], operands[:2], {**case.attributes, **weights}


@pytest.mark.filterwarnings("ignore:reduction")
def test_losses():
    for case, function, operands, settings in peers():
        expected = function(*operands, **settings).numpy()
        (result,) = run(case.module(), case.inputs)
        np.testing.assert_allclose(
            result, expected, rtol=1e-5, atol=1e-6, err_msg=case.name
        )


def test_batch_norm():
    for case in layer_examples():
        if case.node is not glow.BatchNormTrainingOp:
            continue
        x, scale, bias, mean, variance = map(torch.tensor, case.inputs)
        settings = {
            "eps": case.attributes.get("epsilon", 1e-5),
            "momentum": case.attributes.get("momentum", 0.1),
        }
        result = F.batch_norm(x, mean, variance, scale, bias, training=True, **settings)
        results = run(case.module(), case.inputs)
        for ours, theirs in zip(results, (result, mean, variance), strict=True):
            np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-5, atol=1e-5)
