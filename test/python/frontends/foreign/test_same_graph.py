"""One network from JAX, from PyTorch by torch-mlir, and from ONNX has one optimized graph.

The first are two dense layers with GELU between and softmax behind, [2, 16] to [2, 4], whose texts
JAX 0.10 and torch 2.13 with torch-mlir have printed; the others are those of `same_networks.py`.
"""

from collections import Counter
from hashlib import sha256
from itertools import dropwhile
from pathlib import Path

import numpy as np
import onnx
import same_networks
from onnx import helper, numpy_helper

import glow
from glow.dialects import glow as nodes
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.frontends.mlir import parse_text
from glow.frontends.onnx import import_model
from glow.frontends.stablehlo.convert_stablehlo_to_glow import (
    ConvertStablehloToGlowPass,
)
from glow.passes.graph.pipeline import graph_passes
from glow.universe import new_context

FOLDER = Path(__file__).parent / "same"


def onnx_model():
    """The network as PyTorch exports it to ONNX."""
    rng = np.random.default_rng(5)
    shapes = {"w1": (32, 16), "b1": (32,), "w2": (4, 32), "b2": (4,)}
    weights = {
        name: rng.standard_normal(shape).astype(np.float32)
        for name, shape in shapes.items()
    }
    weights |= {
        "root": np.float32(2**0.5),
        "one": np.float32(1),
        "half": np.float32(0.5),
    }
    layers = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["a"], transB=1),
        helper.make_node("Div", ["a", "root"], ["b"]),
        helper.make_node("Erf", ["b"], ["c"]),
        helper.make_node("Add", ["c", "one"], ["d"]),
        helper.make_node("Mul", ["a", "d"], ["e"]),
        helper.make_node("Mul", ["e", "half"], ["f"]),
        helper.make_node("Gemm", ["f", "w2", "b2"], ["g"], transB=1),
        helper.make_node("Softmax", ["g"], ["y"], axis=-1),
    ]
    x, y = (
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in (("x", [2, 16]), ("y", [2, 4]))
    )
    tensors = [numpy_helper.from_array(np.asarray(a), n) for n, a in weights.items()]
    graph = helper.make_graph(layers, "mlp", [x], [y], tensors)
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def optimized(source):
    """The names of an optimized graph's operations, and each with what it is computed of.

    These terms have no order, as independent operations have none. Constants, which stand in any
    order and hold other values, are their types alone, without axes of size 1 in front.
    """
    context = new_context()
    if isinstance(source, Path):
        module = parse_text(context, source.read_text(), source.name)
    else:
        module = import_model(source)
    for one in (ConvertStablehloToGlowPass(), *graph_passes()):
        one.apply(context, module)
    terms, names = {}, []
    for op in module.walk():
        if isinstance(op, nodes.ConstantOp | nodes.SplatOp):
            value = op.results[0]
            shape = [*dropwhile((1).__eq__, shape_of(value))]
            terms[value] = f"constant {shape} {element_of(value)}"
        elif isinstance(op, NodeOp):
            names.append(op.name)
            attributes = sorted((name, str(at)) for name, at in op.properties.items())
            parts = [terms.get(value, str(value.type)) for value in op.inputs]
            for index, result in enumerate(op.results):
                text = f"{op.name} {attributes} {parts} {index} {result.type}"
                terms[result] = sha256(text.encode()).hexdigest()
    constants = {text for text in terms.values() if text.startswith("constant")}
    return names, Counter(text for text in terms.values() if text not in constants)


def test_graphs_are_the_same():
    jax, torch = (optimized(FOLDER / f"{name}_mlp.mlir") for name in ("jax", "torch"))
    from_onnx = optimized(onnx_model())
    assert jax == from_onnx
    assert torch == from_onnx
    assert jax[0] == [
        "glow.fully_connected",
        "glow.gelu",
        "glow.fully_connected",
        "glow.softmax",
    ]


def results(source, inputs):
    """What a network gives on the reference backend, as one tuple."""
    found = glow.compile(source, backend="interpreter")(*inputs)
    return found if isinstance(found, tuple) else (found,)


def check(name, tools, from_onnx, *inputs):
    """Tools' texts of a network have ONNX's graph, and its results: weights are alike too."""
    (wanted, terms), expected = optimized(from_onnx), results(from_onnx, inputs)
    for tool in tools:
        path = FOLDER / f"{tool}_{name}.mlir"
        found, found_terms = optimized(path)
        assert Counter(found) == Counter(wanted), tool
        assert found_terms == terms, tool
        for one, other in zip(results(path, inputs), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def example(*shape):
    """Seeded numbers."""
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


def test_residual_network():
    model = same_networks.residual()
    check("residual", ("jax", "torch"), model, example(*same_networks.IMAGE))


def test_group_norm_of_channels_that_come_last():
    check("grouped", ("jax",), same_networks.grouped(), example(*same_networks.IMAGE))


def test_encoder_layer():
    x = example(*same_networks.TOKENS)
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], bool)
    model = same_networks.encoder()
    check("encoder", ("jax", "torch"), model, x, mask)


def test_recurrent_layer_and_pieces():
    check("pieces", ("jax",), same_networks.pieces(), example(*same_networks.SERIES))
