"""Recurrent layers as ONNX writes them, against ONNX Runtime, on one thread and on two."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import glow
from glow.compiler import load, lower_to

onnxruntime = pytest.importorskip("onnxruntime")

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
LAYERS: list[tuple[str, dict[str, Any]]] = [
    ("LSTM", {}),
    ("GRU", {}),
    ("GRU", {"linear_before_reset": 1}),
    ("RNN", {}),
    ("RNN", {"activations": ["Relu"]}),
]
SHAPES = [(1, 1, 3, 5), (4, 1, 6, 64), (3, 2, 5, 16), (5, 3, 7, 33), (2, 9, 4, 50)]
"""Steps, batch, inputs and units: one step, units beside whole registers, several tiles."""

Arrays = dict[str, np.ndarray]


def layer(
    kind: str,
    sizes: tuple[int, int, int, int],
    *,
    direction: str = "forward",
    bias: bool = True,
    constant: bool = True,
    **attributes: Any,
) -> tuple[onnx.ModelProto, Arrays]:
    """A model of one layer, and its inputs; `constant`: the weights are in the model."""
    steps, batch, size, units = sizes
    count, columns = 1 + (direction == "bidirectional"), GATES[kind] * units
    random = np.random.default_rng(0)

    def values(*shape: int) -> np.ndarray:
        return random.uniform(-1, 1, shape).astype(np.float32) * units**-0.5

    weights = {"w": values(count, columns, size), "r": values(count, columns, units)}
    if bias:
        weights["b"] = values(count, 2 * columns)
    states = {"h0": values(count, batch, units), "c0": values(count, batch, units)}
    if kind != "LSTM":
        del states["c0"]
    x: Arrays = {"x": values(steps, batch, size)}
    if direction == "bidirectional" and "activations" in attributes:
        attributes["activations"] = attributes["activations"] * 2
    outputs = ["y", "h", "c"][: 1 + len(states)]
    node = helper.make_node(
        kind,
        ["x", "w", "r", "b" if bias else "", "", *states],
        outputs,
        hidden_size=units,
        direction=direction,
        **attributes,
    )
    inputs = x | states if constant else x | states | weights
    graph = helper.make_graph(
        [node],
        "layer",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape)
            for name, value in inputs.items()
        ],
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
            for name in outputs
        ],
        [numpy_helper.from_array(value, name) for name, value in weights.items()]
        if constant
        else [],
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), inputs


def check(
    model: onnx.ModelProto, inputs: Arrays, numerics: str = "default"
) -> list[np.ndarray]:
    """The results of the compiled model, alike on one thread and two; and right."""
    session = onnxruntime.InferenceSession(model.SerializeToString())
    expected = session.run(None, inputs)
    names = [output.name for output in model.graph.output]
    one, two = (
        glow.compile(model, threads=threads, numerics=numerics).run(inputs)
        for threads in (1, 2)
    )
    for name, reference in zip(names, expected, strict=True):
        assert one[name].tobytes() == two[name].tobytes()
        bound = 1e-2 if numerics == "fast" else 2e-6
        assert np.abs(one[name] - reference).max() < bound
    return [one[name] for name in names]


@pytest.mark.parametrize(("kind", "attributes"), LAYERS)
@pytest.mark.parametrize("sizes", SHAPES)
def test_layer(kind: str, attributes: dict[str, Any], sizes: tuple[int, ...]) -> None:
    check(*layer(kind, sizes, **attributes))


@pytest.mark.parametrize(("kind", "attributes"), LAYERS)
@pytest.mark.parametrize("constant", [True, False])
def test_directions(kind: str, attributes: dict[str, Any], constant: bool) -> None:
    sizes = (3, 2, 5, 20)
    check(
        *layer(kind, sizes, direction="bidirectional", constant=constant, **attributes)
    )
    check(
        *layer(
            kind,
            sizes,
            direction="reverse",
            bias=False,
            constant=constant,
            **attributes,
        )
    )


@pytest.mark.parametrize("kind", ["LSTM", "RNN"])
def test_bf16_weights(kind: str) -> None:
    """Weights beyond the second cache are stored as bf16 where the numerics are `fast`."""
    units = 512 if kind == "LSTM" else 1024
    model, inputs = layer(kind, (3, 1, 8, units))
    text = str(lower_to(load(model), "lowered", numerics="fast", target="avx512"))
    assert f"{GATES[kind] * units * units}xbf16" in text
    fast = check(model, inputs, "fast")
    exact = check(model, inputs)
    assert all(a.tobytes() != b.tobytes() for a, b in zip(fast, exact, strict=True))


def test_one_kernel_for_all_steps() -> None:
    model, _ = layer("LSTM", (6, 1, 8, 48))
    loops = str(lower_to(load(model), "loops"))
    assert loops.count("func.func private @recurrence_") == 1
    assert loops.count("func.call @recurrence_") == 2  # the first step, and the loop
