"""What the tests of the cache of models share: a small network, its file, its results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import glow
from glow.compilation import wait_for_stores
from glow.runtime.caches.model_cache import LIMIT_VARIABLE

X = np.linspace(-1, 1, 8 * 64, dtype=np.float32).reshape(8, 64)

WEIGHTS = np.random.default_rng(0).standard_normal((64, 32)).astype(np.float32)


def network(
    weights: np.ndarray = WEIGHTS, batch: int | str = 8, outputs: int = 32
) -> onnx.ModelProto:
    """A product with weights, and an activation."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("Relu", ["p"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 64])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, outputs])
    initializer = numpy_helper.from_array(weights, "w")
    return helper.make_model(helper.make_graph(nodes, "net", [x], [y], [initializer]))


def expected(weights: np.ndarray = WEIGHTS, x: np.ndarray = X) -> np.ndarray:
    """What the network computes."""
    return np.maximum(x.astype(np.float64) @ weights, 0)


def save(path: Path, weights: np.ndarray = WEIGHTS) -> Path:
    """The network's file."""
    path.write_bytes(network(weights).SerializeToString())
    return path


def run(model: Any, **options: Any) -> np.ndarray:
    """What a model computes once it is compiled and stored."""
    result = glow.compile(model, **options)(X)
    wait_for_stores()
    assert isinstance(result, np.ndarray)
    return result


def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Turns the cache on, in a folder of the test; returns the empty folder of models."""
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv(LIMIT_VARIABLE, raising=False)
    return tmp_path / "cache" / "models"
