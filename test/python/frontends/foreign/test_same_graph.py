"""One network from JAX, from PyTorch by torch-mlir, and from ONNX has one optimized graph.

Two dense layers with GELU between and softmax behind, [2, 16] to [2, 4]; JAX 0.10 and torch 2.13
with torch-mlir have printed the texts.
"""

from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from glow.dialects import glow as nodes
from glow.dialects.node import NodeOp
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
    """The operations of an optimized graph in the order of the dependences, with attributes.

    Constants, which stand in any order and have other values, are left out.
    """
    context = new_context()
    if isinstance(source, Path):
        module = parse_text(context, source.read_text(), source.name)
    else:
        module = import_model(source)
    for one in (ConvertStablehloToGlowPass(), *graph_passes()):
        one.apply(context, module)
    return [
        (
            op.name,
            [str(value.type) for value in op.inputs],
            {name: str(value) for name, value in op.properties.items()},
            [str(kind) for kind in op.result_types],
        )
        for op in module.walk()
        if isinstance(op, NodeOp) and not isinstance(op, nodes.ConstantOp)
    ]


def test_graphs_are_the_same():
    jax, torch = (optimized(FOLDER / f"{name}_mlp.mlir") for name in ("jax", "torch"))
    from_onnx = optimized(onnx_model())
    assert jax == from_onnx
    assert torch == from_onnx
    assert [name for name, *_ in jax] == [
        "glow.fully_connected",
        "glow.gelu",
        "glow.fully_connected",
        "glow.softmax",
    ]
