"""Quantized networks of several programs: integers go from one to the next, and no floats."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import numpy_helper, parser
from support.onnx_models.onnxruntime_testing import exact_outputs

import glow
from glow.frontends.onnx import import_step
from glow.frontends.onnx.messages import ModelProto
from glow.frontends.onnx.programs.starts import Step
from glow.specialization import evaluated_rests

ROWS, DEPTH, COLUMNS = 6, 8, 5


def quantized_model(body: str) -> ModelProto:
    """A model of casts: the input `q` and the weights `weights`, both cast, then a body."""
    model = parser.parse_model(
        f"""<ir_version: 9, opset_import: ["" : 18]>
        test (float[{ROWS}, {DEPTH}] x, int64[2] n) => (float[A, B] y)
        {{
            q = QuantizeLinear(x, scale, zero)
            v = DequantizeLinear(q, scale, zero)
            w = DequantizeLinear(weights, scale, zero)
            longest = ReduceMax<keepdims = 0>(n)
            start = Constant<value_int = 0>()
            step = Constant<value_int = 1>()
            {body}
        }}"""
    )
    weights = np.random.default_rng(0).integers(0, 256, (DEPTH, COLUMNS))
    for name, array in (
        ("scale", np.array(0.05, np.float32)),
        ("zero", np.array(120, np.uint8)),
        ("weights", weights.astype(np.uint8)),
    ):
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    return model


TAKE = """
    rows = Range(start, longest, step)
    chosen = Gather(v, rows)
    y = MatMul(chosen, w)
"""
TWICE = """
    rows = Range(start, longest, step)
    chosen = Gather(v, rows)
    least = ReduceMin<keepdims = 1>(n)
    zeros = Constant<value_ints = [0]>()
    part = Slice(chosen, zeros, least)
    y = MatMul(part, w)
"""
WHOLE = """
    rows = Range(start, longest, step)
    numbers = Cast<to = 1>(rows)
    total = ReduceSum<keepdims = 0>(numbers)
    sum = Add(v, total)
    product = MatMul(sum, w)
    y = Concat<axis = 1>(product, v)
"""


def names_of(step: Step, kind: str) -> list[str]:
    """What a program reads or gives."""
    (function,) = step.module.body.block.ops
    return sorted(name.data for name in function.attributes[f"glow.{kind}_names"])


def test_programs_pass_integers_and_no_weights():
    """The second program has the casts that it reads, of weights and of data."""
    shapes = {"x": (ROWS, DEPTH), "n": (2,)}
    options = {"input_shapes": shapes, "input_values": {}}
    first = import_step(quantized_model(TWICE), [], **options)
    assert first.asks == ("longest",)
    assert names_of(first, "output") == ["longest", "q"]
    answers = [{"longest": np.array(4)}]
    second = import_step(quantized_model(TWICE), answers, **options)
    assert names_of(second, "input") == ["n", "q"]
    assert names_of(second, "output") == ["chosen", "least"]
    answers.append({"least": np.array([2])})
    last = import_step(quantized_model(TWICE), answers, **options)
    assert names_of(last, "input") == ["chosen"]
    assert "quant.dcast" in str(last.module)


@pytest.mark.parametrize("evaluated", [True, False])
@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
@pytest.mark.parametrize("body", [TAKE, TWICE, WHOLE])
def test_results_are_those_of_onnxruntime(body, backend, evaluated, monkeypatch):
    """Whether what is behind the values is compiled or evaluated."""
    if not evaluated:
        monkeypatch.setattr(evaluated_rests, "COMPILER_SECONDS", -1)
    model = quantized_model(body)
    compiled = glow.compile(model, backend=backend, threads=1)
    generator = np.random.default_rng(1)
    for n in ([4, 2], [1, 6], [3, 3], [5, 1], [4, 3]):
        x = generator.standard_normal((ROWS, DEPTH)).astype(np.float32)
        inputs = {"x": x, "n": np.array(n)}
        (mine,) = compiled.run(inputs).values()
        (other,) = exact_outputs(model, inputs)
        assert mine.shape == other.shape
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-5)


def test_a_cast_whose_value_is_asked_for_is_passed():
    """What decides the sizes behind it is known there, not cast again."""
    body = """
        bits = Cast<to = 7>(v)
        zeros = Constant<value_ints = [0]>()
        count = ReduceMax<keepdims = 0>(bits)
        rows = Range(start, count, step)
        numbers = Cast<to = 1>(rows)
        total = ReduceSum<keepdims = 0>(numbers)
        product = MatMul(v, w)
        y = Add(product, total)
    """
    model = quantized_model(body)
    x = np.random.default_rng(2).standard_normal((ROWS, DEPTH)).astype(np.float32)
    inputs = {"x": x * 3, "n": np.array([1, 2])}
    (mine,) = glow.compile(model, threads=1).run(inputs).values()
    (other,) = exact_outputs(model, inputs)
    np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-5)
