"""Profiles fit the networks that they are made of, whatever passes do to these."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import glow

RANDOM = np.random.default_rng(0)

Parts = tuple[list[onnx.NodeProto], list[onnx.TensorProto]]
"""Nodes from `x` to `y`, and what they read."""


def weights(name: str, *shape: int) -> onnx.TensorProto:
    """Random weights."""
    array = RANDOM.standard_normal(shape).astype(np.float32)
    return numpy_helper.from_array(array, name)


def one_axis() -> Parts:
    """Convolutions of one axis, which are those of planes between reshapes."""
    nodes = [
        helper.make_node("Conv", ["x", "a"], ["p"], name="/0/Conv"),
        helper.make_node("Relu", ["p"], ["q"], name="/1/Relu"),
        helper.make_node("Conv", ["q", "b"], ["r"], name="/2/Conv"),
        helper.make_node("Relu", ["r"], ["s"], name="/3/Relu"),
        helper.make_node("Conv", ["s", "c"], ["t"], name="/4/Conv"),
        helper.make_node("ReduceMax", ["t"], ["y"], name="/5/Max", axes=[2]),
    ]
    shapes = {"a": (8, 3, 1), "b": (16, 8, 1), "c": (12, 16, 1)}
    return nodes, [weights(name, *shape) for name, shape in shapes.items()]


def gated() -> Parts:
    """Channels times a function of themselves, behind a convolution that may absorb it."""
    nodes = [
        helper.make_node("Conv", ["x", "before"], ["h"], name="/h/Conv"),
        helper.make_node("GlobalAveragePool", ["h"], ["m"], name="/0/Mean"),
        helper.make_node("Reshape", ["m", "row"], ["row_of_means"], name="/1/Reshape"),
        helper.make_node(
            "Conv", ["row_of_means", "a"], ["c"], name="/2/Conv", pads=[1, 1]
        ),
        helper.make_node("Sigmoid", ["c"], ["s"], name="/3/Sigmoid"),
        helper.make_node("Reshape", ["s", "image"], ["g"], name="/4/Reshape"),
        helper.make_node("Mul", ["h", "g"], ["z"], name="/5/Mul"),
        helper.make_node("Conv", ["z", "behind"], ["y"], name="/6/Conv"),
    ]
    shapes = [
        numpy_helper.from_array(np.array(shape), name)
        for name, shape in (("row", [1, 1, 8]), ("image", [1, 8, 1, 1]))
    ]
    around = [weights(name, 8, 8, 1, 1) for name in ("before", "behind")]
    return nodes, [weights("a", 1, 1, 3), *around, *shapes]


def padded() -> Parts:
    """A max pool of what is padded with the smallest number there is."""
    pads = numpy_helper.from_array(np.array([0, 0, 1, 1, 0, 0, 1, 1]), "pads")
    least = numpy_helper.from_array(np.array(-np.inf, np.float32), "least")
    nodes = [
        helper.make_node("Conv", ["x", "a"], ["c"], name="/0/Conv"),
        helper.make_node("Pad", ["c", "pads", "least"], ["p"], name="/1/Pad"),
        helper.make_node(
            "MaxPool", ["p"], ["y"], kernel_shape=[3, 3], strides=[2, 2], name="/2/Max"
        ),
    ]
    return nodes, [weights("a", 8, 8, 1, 1), pads, least]


NETWORKS = {one_axis: (1, 3, 20), gated: (1, 8, 5, 5), padded: (1, 8, 7, 7)}


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.__name__)
def test_profiles_fit(network: Callable[[], Parts]) -> None:
    nodes, constants = network()
    shape = NETWORKS[network]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "network", [x], [y], constants)
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8)
    image: npt.NDArray[np.float32] = RANDOM.standard_normal(shape).astype(np.float32)
    profile = glow.profile(model, [{"x": image}])
    results = [
        np.asarray(
            glow.compile(model, threads=1, quantize=one).run({"x": image})["y"],
            np.float32,
        )
        for one in (False, profile)
    ]
    difference = np.abs(results[0] - results[1]).max()
    assert 0 < difference < 0.05 * np.abs(results[0]).max()
