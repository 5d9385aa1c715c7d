"""Forms of ONNX operators that ONNX's own node tests leave out, against ONNX Runtime."""

from itertools import product

import numpy as np
import pytest
from support.onnx_models.onnx_testing import (
    check_with_runtime,
    make_model,
    names_of,
    node,
    random,
)

from glow.frontends.onnx import import_model


def test_concat_of_one_operand():
    model = make_model([node("Concat", "x", axis=1)], [("x", [2, 3])])
    check_with_runtime(model, random(2, 3))
    assert names_of(import_model(model)) == []


@pytest.mark.parametrize(
    ("start", "end", "step"),
    [
        (1, 4, 1),
        (0, 5, 2),
        (4, 0, -2),
        (-1, -99, -1),
        (3, -99, -2),
        (2, 2, 1),
        (1, 4, -1),
    ],
)
def test_slice_of_a_constant(start, end, step):
    slice_ = node("Slice", "w", "s", starts=[start], ends=[end])
    weights = {"w": random(5, 3)}
    if step != 1:
        slice_ = node("Slice", "w b e a t", "s")
        numbers = {"b": start, "e": end, "a": 0, "t": step}
        weights |= {name: np.array([number]) for name, number in numbers.items()}
    nodes = [slice_, node("Concat", "x s", axis=0)]
    opset = 9 if step == 1 else 17
    model = make_model(nodes, [("x", [1, 3])], weights=weights, opset=opset)
    check_with_runtime(model, random(1, 3))


def test_split_of_a_constant():
    nodes = [node("Split", "w", "a b", axis=1), node("Sub", "x b")]
    model = make_model(
        nodes, [("x", [2, 3])], ["y", "a"], {"w": random(2, 6)}, opset=13
    )
    check_with_runtime(model, random(2, 3))


@pytest.mark.parametrize(("mean", "inverse"), [*product(["m", ""], ["i", ""])])
def test_statistics_of_layer_normalization(mean, inverse):
    """Those that are read are computed beside the node, others cost nothing."""
    proto = node("LayerNormalization", "x s", axis=1)
    proto.output.extend([mean, inverse])
    outputs = ["y", *filter(None, [mean, inverse])]
    model = make_model([proto], [("x", [2, 3, 4])], outputs, {"s": random(3, 4)})
    check_with_runtime(model, random(2, 3, 4))
    is_read = bool(mean or inverse)
    assert (names_of(import_model(model)) != ["layer_norm"]) == is_read
