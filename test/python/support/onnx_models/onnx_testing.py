"""What the tests of the ONNX importer share: small models, comparison, error lines."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from xdsl.dialects.func import FuncOp

from glow.compiler import compile
from glow.dialects.errors import GlowError
from glow.dialects.glow import ConstantOp, SplatOp
from glow.dialects.node import NodeOp
from glow.frontends.onnx import import_model
from glow.interpreter import run

FLOAT = TensorProto.FLOAT


def make_model(
    nodes, inputs, outputs=("y",), weights=None, opset=17, functions=(), **opsets
):
    """A model of nodes; inputs and outputs are names or `name: shape` entries."""

    def info(entry):
        name, shape = entry if isinstance(entry, tuple) else (entry, None)
        return helper.make_tensor_value_info(name, FLOAT, shape)

    graph = helper.make_graph(
        nodes,
        "test",
        [info(entry) for entry in inputs],
        [info(entry) for entry in outputs],
        [numpy_helper.from_array(a, name) for name, a in (weights or {}).items()],
    )
    imports = [helper.make_opsetid("", opset)]
    imports += [helper.make_opsetid(domain, v) for domain, v in opsets.items()]
    return helper.make_model(graph, opset_imports=imports, functions=functions)


def node(op_type, inputs, outputs="y", **attributes):
    """A node; inputs and outputs are names in one string."""
    return helper.make_node(op_type, inputs.split(), outputs.split(), **attributes)


def main_of(module):
    """The module's only function."""
    (function,) = module.body.block.ops
    assert isinstance(function, FuncOp)
    return function


def nodes_of(module):
    """The nodes in order, constants left out."""
    return [
        op
        for op in module.walk()
        if isinstance(op, NodeOp) and not isinstance(op, ConstantOp | SplatOp)
    ]


def names_of(module):
    """The mnemonics of the nodes in order."""
    return [op.name.removeprefix("glow.") for op in nodes_of(module)]


def random(*shape):
    """A seeded array."""
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def check(model, *inputs, rtol=1e-5):
    """Import, and compare with the reference; returns the module."""
    module = import_model(model)
    module.verify()
    names = [value.name for value in model.graph.input]
    expected = ReferenceEvaluator(model).run(
        None, dict(zip(names, inputs, strict=True))
    )
    for result, wanted in zip(run(module, inputs), expected, strict=True):
        assert result.dtype == wanted.dtype
        np.testing.assert_allclose(result, wanted, rtol=rtol, atol=1e-5)
    return module


def check_with_runtime(model, *inputs, rtol=1e-5, atol=1e-6):
    """Interpret, compile and run, and compare both with ONNX Runtime.

    Unlike the reference, it has the same semantics for every opset; returns its results.
    """
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    )
    model.ir_version = 10
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [value.name for value in model.graph.input]
    expected = session.run(None, dict(zip(names, inputs, strict=True)))
    module = import_model(model)
    module.verify()
    compiled = compile(module, threads=1)(*inputs)
    compiled = compiled if isinstance(compiled, tuple) else (compiled,)
    for results in (run(module, inputs), compiled):
        for result, wanted in zip(results, expected, strict=True):
            assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
            np.testing.assert_allclose(result, wanted, rtol=rtol, atol=atol)
    return expected


def error_of(model, **options):
    """The one line with which the import fails."""
    with pytest.raises(GlowError) as caught:
        import_model(model, **options)
    line = caught.value.one_line()
    assert "\n" not in line
    return line
