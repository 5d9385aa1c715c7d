"""Operators that draw random numbers: how they are distributed, and what they depend on."""

import pickle

import numpy as np
import pytest
from onnx import parser
from support.runtime.model_cache_testing import own_folder

import glow
from glow import compiler
from glow.compilation import wait_for_stores
from glow.dialects.errors import GlowError

HEAD = '<ir_version: 9, opset_import: ["" : 18]>'
STATE = [7, 1]


def model_of(signature, body):
    text = f"{HEAD} test {signature} {{ {body} }}"
    return parser.parse_model(text).SerializeToString()


def draw(signature, body, inputs=(), backend="cpu"):
    """What a call gives with generators of one state."""
    model = compiler.compile(model_of(signature, body), backend=backend)
    for state in model.variables.values():
        state[...] = STATE
    results = model.run_in_order([np.asarray(one) for one in inputs])
    assert [state.tolist() for state in model.variables.values()] == [[7, 2]]
    return results[0]


UNIFORM = (
    "() => (float[40, 500] y)",
    "y = RandomUniform<shape = [40, 500], low = 2.0, high = 5.0>()",
)
NORMAL = (
    "(float[40, 500] x) => (float[40, 500] y)",
    "y = RandomNormalLike<mean = 1.0, scale = 2.0>(x)",
)


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_uniform_numbers_fill_their_range(backend):
    y = draw(*UNIFORM, backend=backend)
    counts, _ = np.histogram(y, 10, (2, 5))
    assert y.min() >= 2
    assert y.max() < 5
    assert abs(counts - 2000).max() < 250
    assert abs(np.corrcoef(y)[0, 1]) < 0.15


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_normal_numbers_have_moments(backend):
    y = (draw(*NORMAL, [np.zeros((40, 500), np.float32)], backend) - 1) / 2
    moments = [np.mean(y**power) for power in (1, 2, 3, 4)]
    np.testing.assert_allclose(moments, [0, 1, 0, 3], atol=0.3)
    assert np.isfinite(y).all()


def test_backends_draw_the_same():
    for case, inputs in ((UNIFORM, ()), (NORMAL, [np.zeros((40, 500), np.float32)])):
        one, other = (draw(*case, inputs, each) for each in ("cpu", "interpreter"))
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)


def test_one_is_drawn_as_often_as_an_element_says():
    """Unlike by the body that ONNX has for the operator, which draws zero as often."""
    x = np.repeat(np.array([0, 0.25, 0.5, 1], np.float32), 4000)
    y = draw("(float[16000] x) => (int32[16000] y)", "y = Bernoulli<dtype = 6>(x)", [x])
    assert y.dtype == np.int32
    shares = y.reshape(4, 4000).mean(1)
    np.testing.assert_allclose(shares, [0, 0.25, 0.5, 1], atol=0.04)
    assert shares[0] == 0
    assert shares[3] == 1


def test_classes_are_drawn_by_what_they_are_worth():
    worth = np.array([[0.1, 0.2, 0.7, 0], [4, 0, 0, 4]])
    with np.errstate(divide="ignore"):
        x = np.log(worth).astype(np.float32)
    y = draw(
        "(float[2, 4] x) => (int64[2, 4000] y)",
        "y = Multinomial<sample_size = 4000, dtype = 7>(x)",
        [x],
    )
    shares = np.array([np.bincount(row, minlength=4) / 4000 for row in y])
    np.testing.assert_allclose(shares, worth / worth.sum(1)[:, None], atol=0.04)


@pytest.mark.parametrize(("number", "dtype"), [(1, "f4"), (10, "f2"), (11, "f8")])
def test_elements_have_the_type_that_is_asked_for(number, dtype):
    kind = {1: "float", 10: "float16", 11: "double"}[number]
    y = draw(
        f"() => ({kind}[100] y)", f"y = RandomNormal<shape = [100], dtype = {number}>()"
    )
    assert y.dtype == np.dtype(dtype)
    assert len(set(y.tolist())) > 90


TWO = (
    "(float[9] x) => (float[9] y, float[9] z)",
    "y = RandomUniformLike(x)  z = RandomUniformLike(x)",
)
ZEROS = np.zeros(9, np.float32)


def test_nodes_calls_and_models_draw_others():
    source = model_of(*TWO)
    model, other = (compiler.compile(source) for _ in range(2))
    drawn = [*model(ZEROS), *model(ZEROS), *other(ZEROS)]
    assert len({each.tobytes() for each in drawn}) == 6


def test_a_seed_draws_the_same_in_each_model():
    source = model_of(
        "(float[9] x) => (float[9] y)", "y = RandomNormalLike<seed = 3.0>(x)"
    )
    model, other = (compiler.compile(source) for _ in range(2))
    first, second = model(ZEROS), model(ZEROS)
    assert first.tobytes() != second.tobytes()
    np.testing.assert_array_equal(other(ZEROS), first)
    np.testing.assert_array_equal(other(ZEROS), second)


def test_a_stored_model_draws_others_and_a_pickled_one_goes_on(tmp_path, monkeypatch):
    own_folder(tmp_path, monkeypatch)
    path = tmp_path / "net.onnx"
    path.write_bytes(model_of(*TWO))
    model = glow.compile(path)
    wait_for_stores()
    again = glow.compile(path)
    copy = pickle.loads(pickle.dumps(model))
    drawn = [each(ZEROS)[0] for each in (model, again, copy)]
    assert drawn[0].tobytes() != drawn[1].tobytes()
    np.testing.assert_array_equal(drawn[0], drawn[2])


def test_programs_of_open_sizes_draw_each_by_itself():
    source = model_of(
        "(float[N] x) => (float[N] y)", "z = RandomUniformLike(x)  y = Add(x, z)"
    )
    model = compiler.compile(source, backend="interpreter")
    drawn = [model(np.zeros(size, np.float32)) for size in (3, 4, 3)]
    assert len({each[:3].tobytes() for each in drawn}) == 3


def test_shapes_of_data_are_compiled_beside_random_numbers():
    """What would be evaluated node by node has no state."""
    source = model_of(
        "(float[9] x) => (float[M] y)",
        "i = NonZero(x)  f = Cast<to = 1>(i)  r = RandomUniformLike(f)"
        "  s = Add(f, r)  all = Constant<value_ints = [-1]>()  y = Reshape(s, all)",
    )
    model = compiler.compile(source)
    x = np.array([0, 1, 0, 1, 1, 0, 0, 0, 1], np.float32)
    for _ in range(3):
        np.testing.assert_array_equal(np.floor(model(x)), [1, 3, 4, 8])


def test_loops_draw_nothing():
    body = (
        "count = Constant<value_int = 3>()  keep = Constant<value = bool {1}>()"
        "  y = Loop<body = step (int64 i, bool k, float[9] a) => (bool m, float[9] b)"
        " { m = Identity(k)  r = RandomUniformLike(a)  b = Add(a, r) }>(count, keep, x)"
    )
    with pytest.raises(GlowError, match=r"'RandomUniformLike' \(in a branch or a loop"):
        compiler.compile(model_of("(float[9] x) => (float[9] y)", body))
