"""The networks that the benchmarks and the other tests rely on."""

import zlib
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from support.onnx_models.onnxruntime_testing import onnxruntime_outputs

import glow
from benchmarks.networks import (
    LARGE_NETWORKS,
    NETWORKS,
    TINY_NETWORKS,
    TINY_WIDER_NETWORKS,
    evaluate_reference,
    make_inputs,
)
from benchmarks.networks.inputs import Array
from benchmarks.networks.light import FILES
from examples.digits import classify

SMALL = [name for name in NETWORKS if name not in LARGE_NETWORKS]
"""A fair sample of the large ones too."""


@cache
def network(name: str) -> ModelProto:
    """Returns the full-size network `name`, built once."""
    return NETWORKS[name]()


@cache
def outputs(name: str) -> list[Array]:
    """Returns what `network(name)` computes from random inputs.

    By ONNX Runtime: the reference evaluator takes seconds for a network of this size.
    """
    model = network(name)
    return list(onnxruntime_outputs(model, make_inputs(model)).values())


def checksum(model: ModelProto) -> int:
    return zlib.crc32(model.SerializeToString(deterministic=True))


@pytest.mark.parametrize("name", SMALL)
def test_network_is_valid_and_alive(name: str) -> None:
    onnx.checker.check_model(network(name), full_check=True)
    for output in outputs(name):
        assert np.isfinite(output).all()
        assert 1e-4 < output.std() < 10
        assert len(np.unique(output)) > output.size // 2


@pytest.mark.parametrize(
    "name", ["inception_v1", "resnet50", "shufflenet", "squeezenet"]
)
def test_softmax_is_neither_flat_nor_one_hot(name: str) -> None:
    (shares,) = outputs(name)
    assert shares.sum() == pytest.approx(1, abs=1e-5)
    assert 2 / shares.size < shares.max() < 0.5


TINY = {**TINY_NETWORKS, **TINY_WIDER_NETWORKS}


@pytest.mark.parametrize("name", TINY)
def test_tiny_network_is_valid_and_alive(name: str) -> None:
    model = TINY[name]()
    onnx.checker.check_model(model, full_check=True)
    assert model.ByteSize() < 300_000
    for output in evaluate_reference(model, make_inputs(model)):
        assert np.isfinite(output).all()
        assert output.std() > 0.01


@pytest.mark.parametrize("name", TINY_WIDER_NETWORKS)
def test_other_kinds_agree_with_the_reference(name: str) -> None:
    model = TINY_WIDER_NETWORKS[name]()
    inputs = make_inputs(model)
    expected = evaluate_reference(model, inputs)
    for found, right in zip(
        glow.compile(model).run(inputs).values(), expected, strict=True
    ):
        np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("build", [*TINY_NETWORKS.values(), NETWORKS["squeezenet"]])
def test_network_is_the_same_each_time(build: Callable[[], ModelProto]) -> None:
    assert checksum(build()) == checksum(build())


def test_weights_do_not_depend_on_the_process() -> None:
    model = network("squeezenet")
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    first = numpy_helper.to_array(weights["conv1_w_0"]).reshape(-1)[:2]
    np.testing.assert_allclose(first, [-0.321562529, 0.127914011], rtol=1e-6)


@pytest.mark.parametrize("name", sorted(FILES.keys() - LARGE_NETWORKS))
def test_light_network_keeps_its_nodes(name: str) -> None:
    model = network(name)
    kinds = {node.op_type for node in model.graph.node}
    assert "ConstantOfShape" not in kinds
    assert len(model.graph.input) == 1
    read = {name for node in model.graph.node for name in node.input}
    assert {tensor.name for tensor in model.graph.initializer} <= read


def test_inputs_follow_the_seed() -> None:
    model = TINY_NETWORKS["lstm"]()
    first, again, other = (make_inputs(model, seed)["x"] for seed in (1, 1, 2))
    assert first.dtype == np.float32
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_integer_inputs_are_rows_of_the_table() -> None:
    ids = make_inputs(TINY_NETWORKS["bert"]())["ids"]
    assert ids.dtype == np.int64
    assert ids.min() >= 0
    assert 25 < ids.max() < 50


def test_input_without_static_shape_is_refused() -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3])
    graph = helper.make_graph([], "dynamic", [x], [])
    with pytest.raises(ValueError, match="'x' has no static shape"):
        make_inputs(helper.make_model(graph))


def test_reference_normalises_by_the_stored_statistics() -> None:
    """The evaluator alone takes this node, of opset 9, for a training step."""
    x = np.array([1, 2, 6], np.float32).reshape(3, 1)
    stored = {"scale": 1.0, "bias": 0.0, "mean": 2.0, "variance": 4.0}
    model = one_node("BatchNormalization", x.shape, stored, epsilon=0.0)
    (result,) = evaluate_reference(model, {"x": x})
    np.testing.assert_allclose(result, [[-0.5], [0], [2]], atol=1e-6)
    (alone,) = ReferenceEvaluator(model).run(None, {"x": x})
    assert not np.allclose(alone, result)


def test_reference_normalises_every_channel() -> None:
    x = np.array([1, 2, 3, 4], np.float32).reshape(1, 4, 1, 1)
    model = one_node("LRN", x.shape, {}, size=3, alpha=3.0, beta=1.0, bias=1.0)
    (result,) = evaluate_reference(model, {"x": x})
    np.testing.assert_allclose(
        result.reshape(-1), [1 / 6, 2 / 15, 3 / 30, 4 / 26], 1e-6
    )


def one_node(
    op_type: str, shape: Sequence[int], stored: dict[str, float], **attributes: float
) -> ModelProto:
    """Returns a model of opset 9 with one node of operands `x` and `stored` vectors."""
    weights = [
        numpy_helper.from_array(np.array([value], np.float32), name)
        for name, value in stored.items()
    ]
    node = helper.make_node(op_type, ["x", *stored], ["y"])
    node.attribute.extend(helper.make_attribute(*item) for item in attributes.items())
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy"
    ]
    graph = helper.make_graph([node], op_type, values[:1], values[1:], weights)
    opset = helper.make_opsetid("", 9)
    return helper.make_model(graph, opset_imports=[opset], ir_version=8)


def test_digits_network_reaches_its_accuracy() -> None:
    data = (classify.FOLDER / "digits.onnx").read_bytes()
    model = ModelProto.FromString(data)
    onnx.checker.check_model(model, full_check=True)
    with np.load(classify.FOLDER / "held_back.npz") as held_back:
        images, labels = held_back["images"], held_back["labels"]
    scores = [
        evaluate_reference(model, {"image": image})
        for image in classify.normalise(images)
    ]
    guesses = np.argmax(np.reshape(scores, (-1, 10)), 1)
    assert np.mean(guesses == labels) >= 0.98
