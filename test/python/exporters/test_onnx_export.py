"""Graphs as ONNX models: each node, quantized networks, the tools, and what is refused."""

from collections import Counter

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import checker
from onnxruntime.capi import onnxruntime_pybind11_state as errors
from support.nodes.node_examples import nodes_under_test

import glow
from benchmarks.networks import TINY_NETWORKS, make_inputs
from glow.compiler import load, lower_to
from glow.dialects import glow as nodes
from glow.dialects.errors import GlowError
from glow.dialects.glow.training.optimizers import OptimizerOp
from glow.exporters.onnx import export_model
from glow.exporters.onnx.export import EXPORTS
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.lowering.lower_nodes.lower_nodes import LOWERINGS
from glow.tools.glow import run_glow
from glow.tools.glow_opt import run_glow_opt
from glow.universe import new_context

WITHOUT_FORM = {
    nodes.LuOp, nodes.FusedOp, nodes.LengthsSumOp, nodes.LengthsMaxOp,
     nodes.DynamicMatmulOp, nodes.CompactOp, nodes.SelectBoxesOp,
    nodes.ArgMaxPool2dOp, nodes.RandomUniformOp, nodes.DropoutOp,
    *OptimizerOp.__subclasses__(),
}  # fmt: skip
"""The nodes that no operator of ONNX is, nor a few."""

SOME_FORMS = {
    "glow.mod",
    "glow.shift_left",
    "glow.shift_right",
    "glow.sample",
    "glow.scatter",
}
"""Nodes that ONNX has for some types or attributes."""

NAN_LOST = {"glow.clip", "glow.max_pool2d", "glow.scatter"}
"""Where ONNX Runtime forgets NaN."""

EXAMPLES_PER_NODE = 4

UNKNOWN = (errors.Fail, errors.NotImplemented, errors.RuntimeException)
"""What ONNX Runtime raises for what it has no kernel for."""


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    )
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def runtime_results(model, arrays):
    """What ONNX Runtime computes, None where it has no kernel for the types."""
    try:
        names = [value.name for value in model.graph.input]
        return session_of(model).run(None, dict(zip(names, arrays, strict=True)))
    except (RuntimeError, *UNKNOWN):
        return None


def is_nan_lost(example):
    has_nan = any(a.dtype.kind == "f" and np.isnan(a).any() for a in example.inputs)
    return has_nan and example.node.name in NAN_LOST


def some_examples():
    counts = Counter()
    for example in nodes_under_test():
        counts[example.node] += 1
        if counts[example.node] <= EXAMPLES_PER_NODE and not is_nan_lost(example):
            yield example


def test_every_node_has_a_form_or_is_refused():
    known = {*EXPORTS, *LOWERINGS, *WITHOUT_FORM, nodes.ConstantOp, nodes.SplatOp}
    missing = {node.name for node in nodes.NODES} - {node.name for node in known}
    assert not missing, "give the node a row in glow/exporters/onnx, or a name here"
    assert not WITHOUT_FORM & set(EXPORTS)


def test_examples_of_nodes():
    compared = set()
    for example in some_examples():
        module = example.module()
        try:
            model = export_model(module)
        except GlowError as error:
            text = str(error)
            in_type = "has unsupported type" in text or "has type index" in text
            refused = example.node in WITHOUT_FORM or example.node.name in SOME_FORMS
            assert in_type or refused, f"{example.name}: {text}"
            continue
        found = runtime_results(model, example.inputs)
        if found is None:
            continue
        compared.add(example.node.name)
        expected = run(module, example.inputs)
        for result, wanted in zip(found, expected, strict=True):
            result, wanted = np.asarray(result), np.asarray(wanted)
            assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape), (
                example.name
            )
            wide, other = result.astype(np.float64), wanted.astype(np.float64)
            size = np.max(np.abs(other[np.isfinite(other)]), initial=1e-30)
            assert np.allclose(wide, other, 1e-4, 1e-4 * size, equal_nan=True), (
                example.name
            )
    assert len(compared) > 90


QUANTIZED = """
    <ir_version: 8, opset_import: ["" : 19]>
    network (float[1, 4, 6, 6] x) => (float[1, 5] y)
        <float s = {0.02}, uint8 z = {120}, float sw = {0.01}, int8 zw = {0},
         float ss = {0.00390625}, uint8 zs = {0}>
    {
        xq = QuantizeLinear(x, s, z)        xd = DequantizeLinear(xq, s, z)
        wd = DequantizeLinear(w, sw, zw)
        c = Conv<pads = [1, 1, 1, 1]>(xd, wd)
        r = Relu(c)
        rq = QuantizeLinear(r, s, z)        rd = DequantizeLinear(rq, s, z)
        p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(rd)
        pq = QuantizeLinear(p, s, z)        pd = DequantizeLinear(pq, s, z)
        g = Sigmoid(pd)
        gq = QuantizeLinear(g, ss, zs)      gd = DequantizeLinear(gq, ss, zs)
        f = Flatten(gd)
        vd = DequantizeLinear(v, sw, zw)
        m = MatMul(fd, vd)
        mq = QuantizeLinear(m, s, z)        y = DequantizeLinear(mq, s, z)
    }
"""


def quantized_model():
    text = QUANTIZED.replace("f = Flatten", "fd = Flatten")
    model = onnx.parser.parse_model(text)
    rng = np.random.default_rng(0)
    for name, shape in (("w", (8, 4, 3, 3)), ("v", (72, 5))):
        array = rng.integers(-100, 100, shape).astype(np.int8)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return model


@pytest.mark.parametrize("level", [None, "graph"])
def test_quantized_networks_are_pairs_of_casts(level):
    module = load(quantized_model())
    module = module if level is None else lower_to(module, level)
    model = export_model(module)
    operators = Counter(node.op_type for node in model.graph.node)
    assert operators["QuantizeLinear"] >= 3
    assert operators["Conv"] == operators["MatMul"] == 1
    x = np.random.default_rng(1).standard_normal((1, 4, 6, 6)).astype(np.float32)
    (expected,) = run(module, [x])
    (result,) = runtime_results(model, [x])
    assert np.abs(result - expected).max() <= 0.0201  # a step
    again = glow.compile(model, backend="interpreter")(x)
    np.testing.assert_array_equal(again, expected)


NETWORK = """
func.func @main(%image: tensor<1x3x8x8xf32>) -> (tensor<1x10xf32>, tensor<1x8x8x8xf32>) {
  %weights = glow.splat 0.1 : tensor<8x3x3x3xf32>
  %0 = glow.conv2d %image, %weights pads [1, 1, 1, 1] activation "relu" : tensor<1x8x8x8xf32>
  %1 = glow.avg_pool2d %0 kernel [8, 8] : tensor<1x8x1x1xf32>
  %2 = glow.reshape %1 : tensor<1x8xf32>
  %3 = glow.splat 0.25 : tensor<8x10xf32>
  %4 = glow.splat -1.5 : tensor<10xf32>
  %5 = glow.fully_connected %2, %3, %4 activation "clip" activation_args [-1.0, 1.0] \
    : tensor<1x10xf32>
  func.return %5, %0 : tensor<1x10xf32>, tensor<1x8x8x8xf32>
}
"""


@pytest.mark.parametrize("name", TINY_NETWORKS)
def test_networks(name):
    model = TINY_NETWORKS[name]()
    inputs = make_inputs(model)
    expected = runtime_results(model, inputs.values())
    optimized = export_model(lower_to(load(model), "graph"))
    for result, wanted in zip(
        runtime_results(optimized, inputs.values()), expected, strict=True
    ):
        np.testing.assert_allclose(result, wanted, 1e-4, 1e-5)


def test_the_tools_write_files(tmp_path):
    source = tmp_path / "net.mlir"
    source.write_text(NETWORK)
    first, second = tmp_path / "a.onnx", tmp_path / "b.onnx"
    run_glow(["compile", str(source), "--emit=onnx", "-o", str(first)])
    run_glow_opt([str(source), "-t", "onnx", "-o", str(second)])
    image = np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32)
    expected = glow.compile(source)(image)
    for file in (first, second):
        model = onnx.load(file)
        checker.check_model(model, full_check=True)
        assert [value.name for value in model.graph.output] == ["output0", "output1"]
        for result, wanted in zip(
            runtime_results(model, [image]), expected, strict=True
        ):
            np.testing.assert_allclose(result, wanted, 1e-5, 1e-6)


CONTROL = """
    <ir_version: 8, opset_import: ["" : 17]>
    network (float[3] x, float[5, 3] s, bool c, int64 n) => (float[3] y, float[3] z, float[3] u,
                                                             float[5, 3] v)
    {
        y = If (c) <
            then_branch = t () => (float[3] a) { a = Add(x, x) },
            else_branch = e () => (float[3] b) { b = Neg(x) }>
        k = Constant<value = int64 {4}>()
        tr = Constant<value = bool {1}>()
        z = Loop (k, tr, x) <body = l (int64 i, bool ci, float[3] q) => (bool co, float[3] qo) {
            qo = Add(q, y)
            sum = ReduceSum<keepdims = 0>(qo)
            h = Constant<value = float {2.0}>()
            co = Less(sum, h)
        }>
        w = Loop (n, , x) <body = m (int64 j, bool cj, float[3] r) => (bool cr, float[3] ro) {
            cr = Identity(cj)
            f = Cast<to = 1>(j)
            ro = Add(r, f)
        }>
        u, v = Scan <num_scan_inputs = 1, body = p (float[3] g, float[3] e) =>
                     (float[3] go, float[3] o) { go = Add(g, e)  o = Relu(go) }> (w, s)
    }
"""


def test_branches_and_loops():
    module = load(onnx.parser.parse_model(CONTROL))
    rng = np.random.default_rng(0)
    x, s = (rng.standard_normal(shape).astype(np.float32) for shape in ((3,), (5, 3)))
    for level in (module, lower_to(module, "graph")):
        model = export_model(level)
        operators = Counter(node.op_type for node in model.graph.node)
        assert (operators["If"], operators["Loop"]) == (1, 3)
        for condition in (True, False):
            for count in (0, 3):
                arrays = [x, s, np.array(condition), np.array(count)]
                expected = run(module, arrays)
                for result, wanted in zip(
                    runtime_results(model, arrays), expected, strict=True
                ):
                    np.testing.assert_allclose(result, wanted, 1e-5, 1e-6)


def test_all_that_has_no_form_is_named():
    text = """func.func @main(%x: tensor<4x4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
      %factors, %sign = glow.lu %x : tensor<4x4xf32>, tensor<f32>
      %0 = glow.mod %y, %y : tensor<4xf32>
      %1 = glow.mod %0, %y : tensor<4xf32>
      func.return %1 : tensor<4xf32>
    }"""
    with pytest.raises(GlowError) as raised:
        export_model(parse_text(new_context(), text, "text"))
    assert str(raised.value) == (
        "2 operations have no ONNX form: 'glow.lu', 'glow.mod' (of floats)"
    )
