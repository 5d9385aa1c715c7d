"""Attention is one kernel, whichever way an exporter spells it."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import glow
from glow.compiler import load, lower_to
from glow.signature import main_function

WORDS, HEADS, DEPTH = 7, 2, 4
LOWEST = np.finfo(np.float32).min
SCALE = DEPTH**-0.5
CAUSAL = np.tril(np.ones((1, 1, WORDS, WORDS), bool))


class Network:
    """Nodes of an ONNX graph, and constants by name."""

    def __init__(self) -> None:
        self.nodes = []
        self.constants = []

    def constant(self, array) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, kind: str, *inputs, **attributes) -> str:
        name = f"n{len(self.nodes)}"
        inputs = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def heads(self, name: str, permutation=(0, 2, 1, 3)) -> str:
        shape = np.array([1, WORDS, HEADS, DEPTH])
        return self.node(
            "Transpose", self.node("Reshape", name, shape), perm=permutation
        )

    def model(self, result: str):
        shape = [1, WORDS, HEADS * DEPTH]
        moved = self.node("Transpose", result, perm=[0, 2, 1, 3])
        last = self.node("Reshape", moved, np.array(shape))
        infos = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name in ("q", "k", "v", last)
        ]
        graph = helper.make_graph(
            self.nodes, "attention", infos[:3], infos[3:], self.constants
        )
        opsets = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def roots(net: Network) -> str:
    """The root of the scale on both sides, as PyTorch's exporters write it."""
    root = np.float32(SCALE**0.5)
    keys = net.node("Transpose", net.heads("k"), perm=[0, 1, 3, 2])
    queries = net.node("Mul", net.heads("q"), root)
    return net.node("MatMul", queries, net.node("Mul", keys, root))


def computed_roots(net: Network) -> str:
    """The same, with a root that the graph computes."""
    share = net.node("Div", np.float32(1), net.node("Sqrt", np.float32(DEPTH)))
    root = net.node("Sqrt", share)
    keys = net.node("Transpose", net.heads("k"), perm=[0, 1, 3, 2])
    queries = net.node("Mul", net.heads("q"), root)
    return net.node("MatMul", queries, net.node("Mul", keys, root))


def scaled_queries(net: Network) -> str:
    keys = net.heads("k", (0, 2, 3, 1))
    return net.node("MatMul", net.node("Mul", net.heads("q"), np.float32(SCALE)), keys)


def merged_keys(net: Network) -> str:
    """Heads are merged for the transpose, as PyTorch's exporter has it for open sizes."""
    root = np.float32(SCALE**0.5)
    merged = net.node("Reshape", net.heads("k"), np.array([-1, WORDS, DEPTH]))
    turned = net.node("Transpose", merged, perm=[0, 2, 1])
    keys = net.node("Reshape", turned, np.array([1, HEADS, DEPTH, WORDS]))
    queries = net.node("Mul", net.heads("q"), root)
    return net.node("MatMul", queries, net.node("Mul", keys, root))


def scaled_keys(net: Network) -> str:
    keys = net.node("Mul", net.heads("k", (0, 2, 3, 1)), np.float32(SCALE))
    return net.node("MatMul", net.heads("q"), keys)


def divided_scores(net: Network) -> str:
    scores = net.node("MatMul", net.heads("q"), net.heads("k", (0, 2, 3, 1)))
    return net.node("Div", scores, np.float32(1 / SCALE))


def causal_sum(net: Network) -> str:
    mask = np.where(CAUSAL, np.float32(0), np.float32(-np.inf))
    return net.node("Add", roots(net), mask)


def bias(net: Network) -> str:
    """A number for each pair of words and head, as windows or relative places have."""
    numbers = np.random.default_rng(0).standard_normal((1, HEADS, WORDS, WORDS))
    return net.node("Add", scaled_queries(net), numbers.astype(np.float32))


def windows(net: Network) -> str:
    """A bias for each pair of words, and a mask by window under an axis of its own."""
    biased = bias(net)
    rng = np.random.default_rng(2)
    mask = np.where(rng.random((1, 1, 1, WORDS, WORDS)) < 0.3, -100.0, 0.0)
    apart = net.node("Reshape", biased, np.array([1, 1, HEADS, WORDS, WORDS]))
    masked = net.node("Add", apart, mask.astype(np.float32))
    return net.node("Reshape", masked, np.array([-1, HEADS, WORDS, WORDS]))


def relative(net: Network) -> str:
    """Relative places taken from a table, for all heads, and unscaled products."""
    rng = np.random.default_rng(3)
    table = rng.standard_normal((4, HEADS)).astype(np.float32)
    places = net.node("Gather", table, rng.integers(0, 4, (WORDS, WORDS)), axis=0)
    turned = net.node("Transpose", places, perm=[2, 0, 1])
    biases = net.node("Unsqueeze", turned, np.array([0]))
    products = net.node("MatMul", net.heads("q"), net.heads("k", (0, 2, 3, 1)))
    return net.node("Add", products, biases)


def causal_and_padded(net: Network) -> str:
    """A constant of GPT-2, then a number for each key."""
    keys = np.zeros((1, 1, 1, WORDS), np.float32)
    keys[..., -2:] = LOWEST
    masked = net.node("Where", CAUSAL, divided_scores(net), np.float32(LOWEST))
    return net.node("Add", masked, keys)


def computed_causal(net: Network) -> str:
    """Places are compared in the graph."""
    places = net.node("Range", np.int64(0), np.int64(WORDS), np.int64(1))
    rows = net.node("Unsqueeze", places, np.array([1]))
    later = net.node("Less", rows, places)
    return net.node("Where", later, np.float32(LOWEST), roots(net))


def selected(net: Network) -> str:
    return net.node("Where", CAUSAL, divided_scores(net), np.float32(-1e9))


def filled(net: Network) -> str:
    return net.node("Where", ~CAUSAL, np.float32(LOWEST), scaled_keys(net))


def hidden_rows(net: Network) -> str:
    """Some queries see no key at all."""
    mask = np.where(CAUSAL, np.float32(0), np.float32(-np.inf))
    mask[:, :, :2] = -np.inf
    return net.node("Add", scaled_queries(net), mask)


@pytest.mark.parametrize(
    "scores",
    [
        roots,
        computed_roots,
        scaled_queries,
        merged_keys,
        scaled_keys,
        divided_scores,
        causal_sum,
        bias,
        selected,
        filled,
        windows,
        relative,
        causal_and_padded,
        computed_causal,
    ],
)
def test_one_kernel(scores):
    net = Network()
    shares = net.node("Softmax", scores(net), axis=-1)
    check_one_kernel(net.model(net.node("MatMul", shares, net.heads("v"))))


@pytest.mark.parametrize("mask", [None, CAUSAL])
@pytest.mark.parametrize("kind", ["Expand", "Tile"])
def test_shared_heads(kind, mask):
    """Two heads read the same keys and values, as `repeat_kv` of Hugging Face has it."""
    net = Network()

    def repeat(name: str) -> str:
        part = net.node("Slice", name, *(np.array([n]) for n in (0, DEPTH, 2)))
        apart = net.node("Reshape", part, np.array([1, WORDS, 1, DEPTH]))
        heads = net.node("Transpose", apart, perm=[0, 2, 1, 3])
        one = net.node("Unsqueeze", heads, np.array([2]))
        times = [1, 1, HEADS, WORDS, DEPTH] if kind == "Expand" else [1, 1, HEADS, 1, 1]
        wide = net.node(kind, one, np.array(times))
        return net.node("Reshape", wide, np.array([1, HEADS, WORDS, DEPTH]))

    keys = net.node("Transpose", repeat("k"), perm=[0, 1, 3, 2])
    scores = net.node("MatMul", net.heads("q"), keys)
    if mask is not None:
        scores = net.node("Where", mask, scores, np.float32(LOWEST))
    shares = net.node("Softmax", scores, axis=-1)
    model = net.model(net.node("MatMul", shares, repeat("v")))
    check_one_kernel(model, "glow.slice", "glow.transpose")


@pytest.mark.parametrize("scores", [scaled_queries, hidden_rows])
def test_nan_guard(scores):
    """Weights that are 0 where they are NaN, as PyTorch's exporter writes them."""
    net = Network()
    shares = net.node("Softmax", scores(net), axis=-1)
    shares = net.node("Where", net.node("IsNaN", shares), np.float32(0), shares)
    check_one_kernel(net.model(net.node("MatMul", shares, net.heads("v"))))


def check_one_kernel(model, *others):
    rng = np.random.default_rng(1)
    shape = (1, WORDS, HEADS * DEPTH)
    inputs = {name: rng.standard_normal(shape, np.float32) for name in "qkv"}
    (expected,) = ReferenceEvaluator(model).run(None, inputs)

    compiled = glow.compile(model)

    np.testing.assert_allclose(compiled(**inputs), expected, rtol=1e-5, atol=1e-6)
    kinds = lowered_kinds(model)
    assert "cpu.attention" in kinds
    assert kinds <= {
        "cpu.attention",
        "glow.constant",
        "glow.reshape",
        "func.return",
        *others,
    }


def lowered_kinds(model) -> set[str]:
    module = load(model.SerializeToString())
    lower_to(module, "lowered")
    return {op.name for op in main_function(module).body.ops}
