"""Products behind values that calls compute: by programs for some rows, beside ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper, parser
from support.onnx_models.found_rows import FOUND

import glow
from glow import compiler
from glow.compilation import StoredSpecializer
from glow.frontends.onnx.loader import load_model
from glow.frontends.onnx.programs.evaluated_rest import RestEvaluator
from glow.specialization.evaluation import MOST_ROWS, parts_of

ROWS = 40

WEIGHTS = {
    "w": (4, 6),
    "b": (6,),
    "v": (5, 6),
    "c": (5,),
    "k": (3, 2, 2, 1),
    "t": (3, 2, 2, 2),
    "one": (1, 4),
    "many": (ROWS, 6),
}


def weight(name):
    seed = list(WEIGHTS).index(name)
    return np.random.default_rng(seed).standard_normal(WEIGHTS[name]).astype(np.float32)


def model_of(body, outputs="float[K, L] y"):
    head = '<ir_version: 9, opset_import: ["" : 18]>'
    signature = f"(float[{ROWS}, 4] x) => ({outputs})"
    model = parser.parse_model(f"{head} test {signature} {{ {FOUND} {body} }}")
    model.graph.initializer.extend(
        numpy_helper.from_array(weight(name), name) for name in WEIGHTS
    )
    return model


def rows_of(count, seed=0):
    x = np.random.default_rng(seed).standard_normal((ROWS, 4)).astype(np.float32)
    x[:, 0] = np.where(np.arange(ROWS) < count, 1, -1) * np.abs(x[:, 0])
    return x


@pytest.fixture
def compiled(monkeypatch):
    """The answers that programs were compiled for, and the inputs of chains' programs."""
    made = {"programs": [], "parts": []}
    step, part = compiler.compile_step, StoredSpecializer.compile_part

    def compile_step(model, options, answers, *rest, **named):
        made["programs"].append(answers)
        return step(model, options, answers, *rest, **named)

    def compile_part(specializer, module):
        found = part(specializer, module)
        made["parts"].append(tuple(one.shape for one in found.inputs))
        return found

    monkeypatch.setattr(compiler, "compile_step", compile_step)
    monkeypatch.setattr(StoredSpecializer, "compile_part", compile_part)
    return made


def check(model, ours, counts):
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    for seed, count in enumerate(counts):
        x = rows_of(count, seed)
        found = ours(x)
        found = found if isinstance(found, tuple) else (found,)
        for one, expected in zip(found, session.run(None, {"x": x}), strict=True):
            np.testing.assert_allclose(one, expected, 1e-4, 1e-5)


BODIES = {
    "gemm": """
        l = Gemm(rows, w, b) m = Relu(l) y = Gemm<transB = 1>(m, v, c)
    """,
    "matmul": "l = MatMul(rows, w) y = Add(b, l)",
    "made": """
        same = Identity(w) bias = Constant<value = float[6] {1, 2, 3, 4, 5, 6}>()
        sum = Cast<to = 1>(bias)
        y = Gemm(rows, same, sum)
    """,
    "conv": """
        shape = Constant<value_ints = [-1, 2, 2, 1]>()
        image = Reshape(rows, shape)
        l = Conv(image, k) m = LeakyRelu(l) n = ConvTranspose(m, t) y = Flatten(n)
    """,
}


@pytest.mark.parametrize("name", BODIES)
def test_programs_for_some_numbers_of_rows(compiled, name):
    model = model_of(BODIES[name])
    ours = glow.compile(model, threads=1)
    check(model, ours, (3, 5, 40, 31, 0, 1, 9))
    first = len(compiled["programs"])
    assert first == 2
    parts = len(compiled["parts"])
    assert {one[0][0] for one in compiled["parts"]} == {1, 4, 8, 32}
    check(model, ours, (33, 39, 0, 8, 5, 32, 36))
    assert len(compiled["programs"]) == first
    assert len(compiled["parts"]) == parts


def test_a_weight_that_is_given_is_none(compiled):
    """An initializer that is an input, too, which the call or somebody else gives."""
    model = model_of("y = Gemm(rows, w, b)")
    model.graph.input.append(
        onnx.helper.make_tensor_value_info("w", onnx.TensorProto.FLOAT, [4, 6])
    )
    other = 2 * weight("w")
    ours = glow.compile(model, threads=1, input_values={"w": other})
    for count in (3, 5, 2):
        x = rows_of(count)
        expected = x[:count] @ other + weight("b")
        np.testing.assert_allclose(ours(x), expected, 1e-4, 1e-5)
    assert not compiled["parts"]


def test_a_vector_has_no_rows(compiled):
    """Its elements are looked up, and no sum is split."""
    model = model_of(
        "row = Constant<value_int = 0>() l = Gather(rows, row) y0 = MatMul(l, w)"
        " z = Reshape(y0, flat) y = Neg(z)",
        "float[K] y",
    )
    check(model, glow.compile(model, threads=1), (3, 5, 2))
    assert not compiled["parts"]


def test_what_others_read_ends_a_chain():
    model = model_of(
        "l = Gemm(rows, w, b) m = Relu(l) y = Gemm<transB = 1>(m, v, c) z = Neg(l)",
        "float[K, L] y, float[K, M] z, float[K, M] m",
    )
    loaded = load_model(model)
    chains = RestEvaluator(loaded).chains.values()
    names = [[loaded.proto.graph.node[i].op_type for i in one.nodes] for one in chains]
    assert names == [["Gemm"], ["Gemm"]]
    check(model, glow.compile(model, threads=1), (3, 5, 2, 17))


@pytest.mark.parametrize(
    "body",
    [
        "y = Gemm<transA = 1>(rows, many)",
        "l = Gemm<transA = 1, transB = 1>(rows, rows) y = Gemm(l, w, b)",
        "l = Gemm(rows, w, bias) bias = Reshape(b, flat) y = Relu(l)",
    ],
)
def test_other_products_are_no_chains(body):
    """One needs all rows, one is of two values, and one has a bias that is computed."""
    chains = RestEvaluator(load_model(model_of(body))).chains.values()
    assert len(chains) == body.count("(l, w, b)")


def test_regions_of_an_image(compiled):
    body = """
        images = Range(none, size, unit)
        none = Constant<value_int = 0>() unit = Constant<value_int = 1>()
        size = Size(places) nothing = Mul(images, none)
        points = Abs(rows)
        pixels = Reshape(x, plane) plane = Constant<value_ints = [1, 2, 8, 10]>()
        l = RoiAlign<output_height = 2, output_width = 2, sampling_ratio = 2>(
            pixels, points, nothing)
        y = Flatten(l)
    """
    model = model_of(body)
    ours = glow.compile(model, threads=1)
    check(model, ours, (3, 5, 40, 0, 7))
    assert {one[1:] for one in compiled["parts"]} == {
        ((size, 4), (size,)) for size in (1, 4, 8, 32)
    }


def test_loops_whose_values_differ_in_shape():
    """A row of each iteration is as long as it says."""
    body = """
        count = Size(places) zero_i = Constant<value_int = 0>() yes = Equal(zero_i, zero_i)
        nothing = Constant<value_floats = [7.0]>()
        y0 = Loop(count, yes, nothing) <body = b (int64 i, bool go, float[n] s)
            => (bool again, float[m] grown) {
                again = Identity(go)
                zero_at = Constant<value_ints = [0]>() minus = Constant<value_ints = [-1]>()
                two = Constant<value_int = 2>() three = Constant<value_int = 3>()
                left = Mod(i, three) end = Add(left, two) ends = Reshape(end, minus)
                row = Gather(rows, i)
                short = Slice(row, zero_at, ends, zero_at)
                grown = Concat<axis = 0>(s, short)
            }>
        shape = Constant<value_ints = [1, -1]>()
        y = Reshape(y0, shape)
    """
    model = model_of(body)
    check(model, glow.compile(model, threads=1), (3, 5, 2, 0))


def test_parts_cover_all_rows():
    for rows in (0, 1, 2, 3, 5, 300, 437, 1024, 1025, 5000):
        for most in (0, 1, 100, 1 << 20):
            parts = list(parts_of(rows, most))
            assert sum(count for _, count, _ in parts) == rows
            assert [first for first, *_ in parts] == [
                sum(count for _, count, _ in parts[:n]) for n in range(len(parts))
            ]
            for _, count, size in parts:
                assert size & (size - 1) == 0
                assert size <= max(1, min(most, MOST_ROWS))
                assert count >= size * 0.75 or rows == 0
    assert list(parts_of(300, 1 << 20)) == [(0, 256, 256), (256, 32, 32), (288, 12, 16)]
