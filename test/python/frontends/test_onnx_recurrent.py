"""Recurrent layers in all of ONNX's forms against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import glow
from glow.compiler import lower_to
from glow.dialects.errors import GlowError
from glow.frontends.onnx import import_model

STEPS, BATCH, INPUTS, UNITS = 5, 3, 4, 6
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}

Arrays = dict[str, np.ndarray]

SMOOTH = ["HardSigmoid", "Softsign", "Affine"]
FORMS: list[tuple[str, dict[str, Any]]] = [
    ("LSTM", {"activations": SMOOTH * 2, "activation_alpha": [0.3, 0.7, 0.1, 0.9],
              "activation_beta": [0.4, 0.1, 0.6, 0.0]}),
    ("LSTM", {"clip": 0.3, "peepholes": True}),
    ("LSTM", {"input_forget": 1, "peepholes": True}),
    ("LSTM", {"activations": ["Elu", "LeakyRelu", "Softplus"] * 2,
              "activation_alpha": [0.5, 0.2, 0.7, 0.1]}),
    ("GRU", {"activations": ["HardSigmoid", "ScaledTanh"] * 2,
             "activation_alpha": [0.3, 0.9, 0.2, 0.8],
             "activation_beta": [0.4, 1.1, 0.5, 0.7]}),
    ("GRU", {"linear_before_reset": 1, "clip": 0.5}),
    ("RNN", {"activations": ["ThresholdedRelu", "Softsign"], "activation_alpha": [0.1]}),
    ("RNN", {"activations": ["Sigmoid", "Relu"], "clip": 0.2}),
]  # fmt: skip


def layer(kind: str, direction: str, **attributes: Any) -> tuple[ModelProto, Arrays]:
    """A model with sequence_lens, and its inputs; all operands are inputs."""
    random = np.random.default_rng(1)

    def values(*shape: int) -> np.ndarray:
        return random.uniform(-1, 1, shape).astype(np.float32)

    count, columns = 1 + (direction == "bidirectional"), GATES[kind] * UNITS
    inputs: Arrays = {
        "x": values(STEPS, BATCH, INPUTS),
        "w": values(count, columns, INPUTS),
        "r": values(count, columns, UNITS),
        "b": values(count, 2 * columns),
        "n": np.array([STEPS] * BATCH, np.int32),
        "h0": values(count, BATCH, UNITS),
    }
    if kind == "LSTM":
        inputs["c0"] = values(count, BATCH, UNITS)
    if attributes.pop("peepholes", False):
        inputs["p"] = values(count, 3 * UNITS)
    for name, per_direction in (("activations", 1),):
        if name in attributes:
            given = attributes[name]
            attributes[name] = given[: len(given) // 2 * count * per_direction]
    outputs = ["y", "h", "c"][: 3 if kind == "LSTM" else 2]
    node = helper.make_node(
        kind,
        list(inputs),
        outputs,
        hidden_size=UNITS,
        direction=direction,
        **attributes,
    )
    graph = helper.make_graph(
        [node],
        "layer",
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
            )
            for name, value in inputs.items()
        ],
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
            for name in outputs
        ],
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), inputs


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(("kind", "attributes"), FORMS)
def test_forms(kind: str, attributes: dict[str, Any], direction: str) -> None:
    """Whole sequences, and sequences that end earlier, all or one of them at once."""
    model, inputs = layer(kind, direction, **attributes)
    peer = onnxruntime.InferenceSession(model.SerializeToString())
    # Random layers of one direction on the interpreter, of two as native code.
    backend = "interpreter" if direction == "reverse" else "cpu"
    ours = glow.compile(model, backend=backend)
    for lengths in ([5, 5, 5], [2, 5, 1], [3, 1, 2], [1, 1, 1]):
        call = inputs | {"n": np.array(lengths, np.int32)}
        found = ours.run(call)
        for name, expected in zip(found, peer.run(None, call), strict=True):
            np.testing.assert_allclose(found[name], expected, 2e-5, 2e-6)


def test_empty_sequence() -> None:
    """Its results are 0, and its last state the first."""
    model, inputs = layer("GRU", "bidirectional")
    for backend in ("interpreter", "cpu"):
        found = glow.compile(model, backend=backend).run(
            inputs | {"n": np.array([0, 2, 0], np.int32)}
        )
        assert not found["y"][:, :, [0, 2]].any()
        np.testing.assert_array_equal(found["h"][:, [0, 2]], inputs["h0"][:, [0, 2]])
        assert (found["h"][:, 1] != inputs["h0"][:, 1]).all()


@pytest.mark.parametrize("lengths", [[STEPS + 1, 1, 1], [1, -1, 1]])
def test_impossible_lengths(lengths: list[int]) -> None:
    model, inputs = layer("RNN", "reverse")
    call = inputs | {"n": np.array(lengths, np.int32)}
    for backend in ("interpreter", "cpu"):
        with pytest.raises(GlowError, match=r"outside of .*axis.*node 'y'"):
            glow.compile(model, backend=backend).run(call)


@pytest.mark.parametrize("attributes", [{}, {"clip": 1.0}])
def test_code_does_not_grow_with_the_sequence(attributes: dict[str, Any]) -> None:
    """One loop, whatever the number of steps is, from the graph to kernels and `main`."""
    sizes: list[tuple[int, int]] = []
    for steps in (40000, 800000):  # Products of either take their rows in blocks.
        model, inputs = layer("LSTM", "forward", **attributes)
        for index, name in reversed(list(enumerate(inputs))):
            if name != "x":
                value = numpy_helper.from_array(inputs[name], name)
                model.graph.initializer.append(value)
                del model.graph.input[index]
        model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = steps
        for tensor in model.graph.initializer:
            if tensor.name == "n":
                whole = np.array([steps] * BATCH, np.int32)
                tensor.CopyFrom(numpy_helper.from_array(whole, "n"))
        module = import_model(model)
        texts = str(module), str(lower_to(module, "loops", target="avx512"))
        sizes.append((texts[0].count("\n"), texts[1].count("\n")))
    (graph, loops), (long_graph, long_loops) = sizes
    assert graph == long_graph
    # The products with the inputs of all steps may leave other rows over.
    assert abs(loops - long_loops) < loops / 50
