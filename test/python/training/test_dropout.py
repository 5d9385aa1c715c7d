"""Networks with dropout: imported for training, and the same on every backend."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest
from onnx import numpy_helper

import glow
from glow.dialects import glow as nodes
from glow.dialects.errors import GlowError
from glow.frontends.onnx import import_model

NETWORK = """
  <ir_version: 8, opset_import: ["" : 17]>
  network (float[8, 6] x) => (float[8, 3] y)
  <float[6, 5] w1, float[5] s, float[5] b, float[5] mean, float[5] var, float[5, 3] w2,
   float ratio, bool mode>
  {
    h = MatMul(x, w1)
    n, m1, v1 = BatchNormalization<training_mode = 1>(h, s, b, mean, var)
    a = Relu(n)
    d = Dropout(a, ratio, mode)
    y = MatMul(d, w2)
  }
"""
SHAPES = {"w1": (6, 5), "s": 5, "b": 5, "mean": 5, "var": 5, "w2": (5, 3)}


def network():
    """A model as exporters write it in training mode."""
    model = onnx.parser.parse_model(NETWORK)
    generator = np.random.default_rng(0)
    arrays = {
        name: generator.random(shape).astype(np.float32) + np.float32(0.1)
        for name, shape in SHAPES.items()
    }
    arrays |= {"ratio": np.float32(0.25), "mode": np.bool_(True)}
    del model.graph.initializer[:]
    for name, array in arrays.items():
        tensor = numpy_helper.from_array(np.asarray(array), name)
        model.graph.initializer.append(tensor)
    return model


def test_import_keeps_layers():
    """An import for training has them as nodes; `training-mode` says what they do."""
    module = import_model(network(), training=True)
    found = [op for op in module.walk() if isinstance(op, nodes.DropoutOp)]
    assert [op.attributes_view().float("ratio") for op in found] == [0.25]
    assert sum(isinstance(op, nodes.BatchNormOp) for op in module.walk()) == 1


def test_masks_that_are_read_are_refused():
    text = """
      <ir_version: 8, opset_import: ["" : 17]>
      network (float[8] x) => (float[8] y, bool[8] mask) { y, mask = Dropout(x) }
    """
    with pytest.raises(GlowError, match="the mask of a network to train"):
        import_model(onnx.parser.parse_model(text), training=True)


def trained(**options):
    """Losses of five steps; after them the network drops nothing, and uses the averages."""
    model = network()
    step = glow.TrainStep(
        model, loss="cross_entropy", optimizer=glow.Adam(3e-2), seed=5, **options
    )
    generator = np.random.default_rng(1)
    x = generator.standard_normal((8, 6)).astype(np.float32)
    losses = [float(step(x, np.arange(8) % 3)) for _ in range(5)]
    state = step.state()
    assert state["seed"].tolist() == [5, 5]
    hidden = x @ state["w1"] - state["mean"]
    hidden = hidden / np.sqrt(state["var"] + 1e-5) * state["s"] + state["b"]
    expected = np.maximum(hidden, 0) @ state["w2"]
    np.testing.assert_allclose(step.inference()(x), expected, rtol=1e-4, atol=1e-5)
    return losses


def test_training_is_the_same_everywhere():
    """Masks do not depend on threads, and on both backends are the same."""
    one = trained(threads=1)
    assert trained(threads=2) == one
    np.testing.assert_allclose(one, trained(backend="interpreter"), rtol=1e-5)
    assert len(set(one)) == len(one)
