"""Few programs for many sizes: what is padded, what is cut, and what is refused."""

import pickle

import numpy as np
import onnx
import pytest
from onnx import parser
from support.runtime.model_cache_testing import own_folder

import glow
from benchmarks.networks import bert
from glow import compiler
from glow.bucketing.bucketed_model import BucketedModel
from glow.compilation import wait_for_stores
from glow.dialects.errors import GlowError
from glow.host.host import Host
from glow.tools.glow import run_glow


def model_of(signature, body):
    """A model in ONNX's text form."""
    head = '<ir_version: 9, opset_import: ["" : 18]>'
    model = parser.parse_model(f"{head} test {signature} {{ {body} }}")
    return model.SerializeToString()


ROWS = model_of(
    "(float[N, 3] x, float[1, 3] b) => (float[N, 3] y, float[3, N] t)",
    "y = Add(x, b)  t = Transpose<perm = [1, 0]>(y)",
)


@pytest.fixture(scope="module")
def encoder():
    """A BERT of two layers with a mask."""
    return bert.build_open(bert.TINY)


def words(count, length):
    random = np.random.default_rng(length)
    mask = np.ones((count, length), np.int64)
    mask[0, -1] = length == 1
    return random.integers(0, 50, (count, length)), mask


def test_an_encoder_at_buckets_is_the_one_without(encoder):
    buckets = {"length": [12, 6], "batch": [2]}
    model = compiler.compile(encoder, buckets=buckets, threads=1)
    assert isinstance(model, BucketedModel)
    free = compiler.compile(encoder, backend="interpreter")
    for count, length in ((1, 5), (2, 6), (2, 1), (1, 11)):
        inputs = words(count, length)
        found, wanted = model(*inputs), free(*inputs)
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)
    assert len(model.programs()) == 2
    with pytest.raises(
        GlowError, match=r"length = 13 is beyond the largest bucket, 12"
    ):
        model(*words(1, 13))


def test_every_way_to_call_pads_and_cuts():
    model = compiler.compile(ROWS, backend="interpreter", buckets={"N": [4, 8]})
    x, b = np.arange(9, dtype=np.float32).reshape(3, 3), np.ones((1, 3), np.float32)
    wanted = x + b
    copy = pickle.loads(pickle.dumps(model))
    for each in (model, copy):
        y, t = each(x, b=b)
        np.testing.assert_array_equal(y, wanted)
        np.testing.assert_array_equal(t, wanted.T)
        np.testing.assert_array_equal(each.run({"x": x, "b": b})["t"], wanted.T)
    y, t = np.empty((3, 3), np.float32), np.empty((3, 3), np.float32)
    model.run_into({"x": x, "b": b}, {"t": t, "y": y})
    np.testing.assert_array_equal(t, wanted.T)
    with pytest.raises(GlowError, match=r"output 't' must have shape \[3, 3\]"):
        model.run_into([x, b], [y, t[:, :2]])


def test_programs_are_those_of_buckets():
    model = compiler.compile(ROWS, backend="interpreter", buckets={"N": [4, 8]})
    model.warm([{"N": 3}])
    model.warm([{"N": 5}])
    assert model.is_ready([(8, 3), (1, 3)])
    assert model.is_ready([(6, 3), (1, 3)])
    assert len(model.programs()) == 2
    model.forget([(7, 3), (1, 3)])
    assert not model.is_ready([(8, 3), (1, 3)])


REFUSED = {
    "other contents": (
        "(float[N, 3] x) => (float[N, 3] y)",
        "s = Shape(x)  n = Gather<axis = 0>(s, axes)  square = Mul(n, n)"
        "  f = Cast<to = 1>(square)  y = Div(x, f)",
        "has other contents for other sizes",
    ),
    "a square": (
        "(float[N, 3] x) => (float[M] y)",
        "w = Transpose<perm = [1, 0]>(x)  z = MatMul(x, w)  "
        "all = Constant<value_ints = [-1]>()  y = Reshape(z, all)",
        "glow.reshape tears apart or merges axis 1",
    ),
    "repeated": (
        "(float[1, 1, N, 3] x) => (float[1, 1, M, 3] y)",
        "pads = Constant<value_ints = [0, 0, 1, 0, 0, 0, 1, 0]>()"
        '  y = Pad<mode = "wrap">(x, pads)',
        "glow.pad repeats elements of axis 2",
    ),
}
WEIGHTS = " <int64[1] axes = {0}, float[1, 1, 3, 1] kernel = {1, 2, 3}>"


@pytest.mark.parametrize("name", REFUSED)
def test_networks_whose_results_change_are_refused(name):
    signature, body, message = REFUSED[name]
    model = model_of(signature + WEIGHTS, body)
    with pytest.raises(GlowError) as caught:
        compiler.compile(model, buckets={"N": [4, 8]})
    assert message in caught.value.one_line()
    assert "'N' has no buckets" in caught.value.one_line()


ALLOWED = {
    "convolution of a batch": (
        "(float[N, 1, 5, 3] x) => (float[N, 1, 3, 3] y)",
        "c = Conv<kernel_shape = [3, 1]>(x, kernel)  r = Relu(c)"
        "  y = MaxPool<kernel_shape = [1, 1]>(r)",
    ),
    "mean of rows": ("(float[N, 3] x) => (float[N, 1] y)", "y = ReduceMean(x, last)"),
    "maximum": (
        "(float[N, 3] x, float[N, 1] keep) => (float[1, 3] y)",
        "less = Sub(keep, one)  low = Mul(less, big)  z = Add(x, low)"
        "  y = ReduceMax(z, axes)",
    ),
    "first row": (
        "(float[N, 3] x) => (float[1, 3] y, float[1, 3] z)",
        "y = Gather<axis = 0>(x, axes)  z = Slice(x, axes, ones, axes)",
    ),
    "last row": (
        "(float[N, 3] x) => (float[1, 3] y)",
        "y = Gather<axis = 0>(x, last)",
    ),
    "sums behind each": (
        "(float[N, 3] x) => (float[N, 3] y)",
        "y = CumSum<reverse = 1>(x, zero)",
    ),
    "a new row": (
        "(float[N, 3] x, float[1, 3] b) => (float[M, 3] y)",
        "y = Concat<axis = 0>(x, b)",
    ),
    "rows before": (
        "(float[N, 3] x, float[1, 3] b) => (float[M, 3] y)",
        "y = Concat<axis = 0>(b, x)",
    ),
    "layer norm by hand": (
        "(float[N, 3] x) => (float[N, 3] y)",
        "m = ReduceMean(x, last)  d = Sub(x, m)  q = Pow(d, two)  v = ReduceMean(q, last)"
        "  e = Add(v, small)  r = Sqrt(e)  y = Div(d, r)",
    ),
    "sums before each": (
        "(float[N, 3] x) => (float[N, 3] y)",
        "y = CumSum(x, zero)",
    ),
    "sorted rows": (
        "(float[N, 3] x) => (float[N, 1] y, int64[N, 1] i, int64[N] j)",
        "y, i = TopK(x, ones)  j = ArgMax<axis = 1, keepdims = 0>(x)",
    ),
    "merged axes": (
        "(float[2, N, 4] x) => (float[2, N, 4] y)",
        "r = Reshape(x, rows)  w = Transpose<perm = [1, 0]>(square)  z = Gemm(r, w)"
        "  s = Shape(x)  y = Reshape(z, s)",
    ),
    "joined columns": (
        "(float[N, 3] x) => (float[N, 6] y)",
        "z = Neg(x)  y = Concat<axis = 1>(x, z)",
    ),
    "repeated": (
        "(float[N, 3] x, float[1, 3] b) => (float[N, 3] y)",
        "s = Shape(x)  e = Expand(b, s)  y = Mul(x, e)",
    ),
    "words of a table": (
        "(int64[2, N] ids, bool[2, N] mask) => (float[2, 4] y)",
        "e = Gather<axis = 0>(square, ids)  u = Unsqueeze(mask, last)"
        "  z = Where(u, e, nothing)  y = ReduceSum<keepdims = 0>(z, ones)",
    ),
    "recurrence of a batch": (
        "(float[5, N, 3] x) => (float[5, 1, N, 1] y, float[1, N, 1] last_y)",
        "y, last_y = RNN<hidden_size = 1>(x, steps, step)",
    ),
}
TABLES = (
    " <int64[1] axes = {0}, int64[1] last = {-1}, int64[1] ones = {1}, int64 zero = {0},"
    " int64[2] rows = {-1, 4}, float two = {2}, float small = {1e-5}, float one = {1},"
    " float big = {1e9}, float nothing = {0}, float[1, 1, 3, 1] kernel = {1, 2, 3},"
    " float[1, 1, 3] steps = {0.5, 0.1, -0.3}, float[1, 1, 1] step = {0.5},"
    " float[4, 4] square = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}>"
)


def example(info, count, random):
    """An input with so many rows; masks keep the first."""
    shape = [count if size == "N" else size for size in info.shape]
    is_mask = info.name in ("keep", "mask")
    numbers = random.integers(0, 2 if is_mask else 4, shape)
    if info.name == "x":
        numbers = random.standard_normal(shape)
    if info.name == "keep":
        numbers[0] = 1
    return numbers.astype(info.dtype)


@pytest.mark.parametrize("name", ALLOWED)
def test_networks_whose_results_do_not_change(name):
    signature, body = ALLOWED[name]
    source = model_of(signature + TABLES, body)
    model = compiler.compile(source, backend="interpreter", buckets={"N": [5]})
    free = compiler.compile(source, backend="interpreter")
    random = np.random.default_rng(0)
    for count in (1, 3, 5):
        inputs = [example(info, count, random) for info in model.inputs]
        found, wanted = model.run_in_order(inputs), free.run_in_order(inputs)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)
    assert len(model.programs()) == 1


@pytest.mark.parametrize(
    ("buckets", "message"),
    [
        ({"M": [4]}, "no open size is named 'M'; N"),
        ({"N": [0]}, "buckets of 'N' must be whole numbers, 1 or more, not"),
        ({"N": []}, "buckets of 'N' must be whole numbers"),
        ({"N": 4}, "buckets of 'N' must be whole numbers"),
        ({"N": ["4"]}, "buckets of 'N' must be whole numbers"),
        ([4], "buckets gives sizes by name, not list"),
    ],
)
def test_buckets_that_are_none(buckets, message):
    with pytest.raises(GlowError) as caught:
        compiler.compile(ROWS, buckets=buckets)
    assert message in caught.value.one_line()


def test_a_closed_model_has_no_buckets():
    closed = model_of("(float[2, 3] x) => (float[2, 3] y)", "y = Neg(x)")
    with pytest.raises(GlowError, match="'N': the model has none"):
        compiler.compile(closed, buckets={"N": [4]})


def test_sizes_without_buckets_may_be_fixed():
    model = model_of("(float[N, M] x) => (float[N, M] y)", "y = Neg(x)")
    found = compiler.compile(model, input_shapes={"M": 3, "N": 2}, buckets={"N": [4]})
    assert found.inputs[0].shape == ("N", 3)
    assert found(np.ones((3, 3), np.float32)).shape == (3, 3)


def test_a_later_word_does_not_see_padding():
    """A causal mask that is a constant for each length."""
    attention = model_of(
        "(float[N, 4] x) => (float[N, 4] y)"
        " <int64[1] zero = {0}, float none = {0}, float low = {-1e9}>",
        "s = Shape<start = 0, end = 1>(x)  n = Squeeze(s)  one = Constant<value_int = 1>()"
        "  start = Constant<value_int = 0>()  r = Range(start, n, one)"
        "  last = Constant<value_ints = [-1]>()  q = Unsqueeze(r, last)"
        "  k = Unsqueeze(r, zero)  later = Greater(k, q)  m = Where(later, low, none)"
        "  w = Transpose<perm = [1, 0]>(x)  z = MatMul(x, w)  h = Add(z, m)"
        "  p = Softmax<axis = -1>(h)  y = MatMul(p, x)",
    )
    model = compiler.compile(attention, backend="interpreter", buckets={"N": [5]})
    free = compiler.compile(attention, backend="interpreter")
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    np.testing.assert_allclose(model(x), free(x), rtol=0, atol=1e-6)


def test_a_known_model_keeps_its_buckets(tmp_path, monkeypatch):
    own_folder(tmp_path, monkeypatch)
    path = tmp_path / "rows.onnx"
    path.write_bytes(ROWS)
    first = glow.compile(path, buckets={"N": [4, 8]})
    wait_for_stores()
    monkeypatch.setattr(compiler, "compile_model", None)
    again = glow.compile(path, buckets={"N": [8, 4]})
    assert again.signature == first.signature
    assert again.signature.padding.cuts == (((0, "N"),), ((1, "N"),))


def test_a_host_serves_sizes_between_buckets(tmp_path):
    path = tmp_path / "rows.onnx"
    path.write_bytes(ROWS)
    b = np.zeros((1, 3), np.float32)
    with Host(["cpu"]) as host:
        host.add("rows", str(path), buckets={"N": [4]}, batching="off")
        for count in (3, 4):
            x = np.full((count, 3), count, np.float32)
            result = host.run("rows", [x, b]).result(60)
            np.testing.assert_array_equal(result["y"], x)
        with pytest.raises(GlowError, match="beyond the largest bucket"):
            host.run("rows", [np.zeros((5, 3), np.float32), b]).result(60)


def test_commands_take_buckets(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.load_from_string(ROWS), "rows.onnx")
    shapes = ["rows.onnx", "--buckets=N=4,8", "--shape=N=3"]
    run_glow(["compile", *shapes, "--emit=graph"])
    assert "func.func @main(%x: tensor<4x3xf32>" in capsys.readouterr().out
    run_glow(["run", *shapes, "--backend=interpreter"])
    assert "output 'y': 3x3 float32" in capsys.readouterr().out
    for arguments, message in (
        (["--buckets=N=a"], "--buckets N=a is not a list of sizes such as 16,32,64"),
        (["--buckets=N=4", "--shape=N=9"], "N = 9 is beyond the largest bucket, 4"),
        (["--buckets=N=4"], "the size N of input 'x' is not given"),
    ):
        with pytest.raises(GlowError) as caught:
            run_glow(["run", "rows.onnx", "--backend=interpreter", *arguments])
        assert message in caught.value.one_line()


def test_a_quantized_network_is_not_masked():
    softmax = model_of("(float[N, 3] x) => (float[N, 3] y)", "y = Softmax<axis = 0>(x)")
    compiler.compile(softmax, buckets={"N": [8]})
    with pytest.raises(GlowError, match="normalizes over what is not masked"):
        compiler.compile(softmax, buckets={"N": [8]}, quantize=True)
