"""Programs that mask what inputs are padded with: convolutions, means, layers over steps."""

import pickle

import numpy as np
import pytest
from onnx import parser
from support.runtime.model_cache_testing import own_folder

import glow
from glow import compiler
from glow.compilation import wait_for_stores
from glow.dialects.errors import GlowError
from glow.tools.glow import run_glow

HEAD = '<ir_version: 9, opset_import: ["" : 23]>'
WEIGHTS = (
    " <float[4, 3, 3, 3] w = {%s}, float[4, 4, 2, 3] v = {%s}, int64[1] columns = {3},"
    " float[3, 4, 2, 2] up = {%s}, int64[1] last = {-1}, int64[2] plane = {2, 3},"
    " int64[1] one = {1}, int64[1] most = {9000}, int64[8] around = {0, 0, 0, 1, 0, 0, 0, 2},"
    " float seven = {7}, float[4] twice = {1, 1, 1, 2},"
    " int64[4] kernel = {4, 1, 3, 3}, float[4] four = {1, 2, 3, 4},"
    " float[2, 8, 3] lw = {%s}, float[2, 8, 2] lr = {%s}, float[2, 16] lb = {%s},"
    " float[1, 6, 3] gw = {%s}, float[1, 6, 2] gr = {%s}>"
)


def numbers(count, seed):
    random = np.random.default_rng(seed)
    return ", ".join(f"{one:.3f}" for one in random.standard_normal(count) / 2)


TABLES = WEIGHTS % tuple(
    numbers(count, seed)
    for seed, count in enumerate((108, 96, 48, 48, 32, 32, 18, 12), 3)
)
IMAGE = "(float[1, 3, 5, N] x)"
ROWS = "(float[N, 1, 3] x)"
CONV = "c = Conv<pads = [1, 1, 1, 1]>(x, w)  s = Sigmoid(c)  "

MASKED = {
    "convolutions": (
        f"{IMAGE} => (float[1, 4, 5, M] y, float[1, 4, 5, P] z)",
        CONV + "y = Conv<pads = [0, 1, 1, 1], strides = [1, 2]>(s, v)"
        "  t = Relu(y)  z = Conv<pads = [1, 2, 0, 2], dilations = [1, 2]>(t, v)",
    ),
    "maximum of windows": (
        f"{IMAGE} => (float[1, 4, 3, M] y)",
        CONV + "n = Neg(s)  y = MaxPool<kernel_shape = [3, 3], strides = [2, 2],"
        " pads = [1, 1, 1, 1]>(n)",
    ),
    "means of windows": (
        f"{IMAGE} => (float[1, 4, 4, M] y, float[1, 4, 3, P] z)",
        CONV + "y = AveragePool<kernel_shape = [2, 2], strides = [1, 2]>(s)"
        "  z = AveragePool<kernel_shape = [3, 3], pads = [0, 1, 0, 1],"
        " count_include_pad = 1>(s)",
    ),
    "squeeze and excitation": (
        f"{IMAGE} => (float[1, 4, 5, N] y, float[1, 4, 1, 1] p)",
        CONV
        + "m = ReduceMean(s, plane)  p = GlobalMaxPool(s)  g = GlobalAveragePool(c)"
        "  h = Add(m, g)  y = Mul(s, h)",
    ),
    "a mean to rank 0": (
        "(float[N] x) => (float y, float[1] z)",
        "y = ReduceMean<keepdims = 0>(x)  z = ReduceMean(x)",
    ),
    "extremes": (
        f"{IMAGE} => (float[1, 4, 5] y, float[1, 4, 5] z, float[1, 4, 5] p)",
        CONV + "y = ReduceMax<keepdims = 0>(s, last)  n = Neg(s)"
        "  z = ReduceMin<keepdims = 0>(n, last)  p = ReduceProd<keepdims = 0>(s, last)",
    ),
    "places of extremes": (
        f"{IMAGE} => (int64[1, 4, 5] y, int64[1, 4, 5] z, float[1, 4, 5, 1] t)",
        CONV + "n = Neg(s)  y = ArgMax<axis = 3, keepdims = 0>(n)"
        "  z = ArgMin<axis = 3, keepdims = 0>(s)  t, i = TopK(n, one)",
    ),
    "attention": (
        f"{ROWS} => (float[1, N, 3] y)",
        "a = Transpose<perm = [1, 0, 2]>(x)  k = Transpose<perm = [0, 2, 1]>(a)"
        "  scores = MatMul(a, k)  p = Softmax<axis = -1>(scores)  y = MatMul(p, a)",
    ),
    "attention as one node": (
        f"{ROWS} => (float[1, 1, N, 3] y, float[1, 1, N, 3] z)",
        "a = Transpose<perm = [1, 0, 2]>(x)  axes = Constant<value_ints = [0]>()"
        "  h = Unsqueeze(a, axes)  e = Exp(h)  y = Attention(h, e, e)"
        "  z = Attention<is_causal = 1>(h, e, e)",
    ),
    "sums of rows": (
        f"{ROWS} => (float[1, 3, 3] y, float[N, 1, 3] z)",
        "r = Exp(x)  a = Transpose<perm = [1, 2, 0]>(r)  b = Transpose<perm = [1, 0, 2]>(r)"
        "  y = MatMul(a, b)  zero = Constant<value_int = 0>()"
        "  z = CumSum<reverse = 1>(r, zero)",
    ),
    "all but the first": (
        f"{IMAGE} => (float[1, 3, 5, M] y, float[1, 3, 5, P] z)",
        "y = Slice(x, one, most, columns)  two = Constant<value_ints = [2]>()"
        "  z = Slice(x, one, most, columns, two)",
    ),
    "all but the last": (
        f"{IMAGE} => (float[1, 3, 5, M] y)",
        "zero = Constant<value_ints = [0]>()  y = Slice(x, zero, last, columns)",
    ),
    "padded with a number": (
        f"{IMAGE} => (float[1, 3, 5, M] y)",
        "e = Exp(x)  y = Pad(e, around, seven)",
    ),
    "enlarged": (
        f"{IMAGE} => (float[1, 3, 5, M] y, float[1, 3, 5, P] z)",
        'y = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric",'
        ' nearest_mode = "floor">(x, , twice)'
        "  c = Conv<pads = [1, 1, 1, 1]>(x, w)  t = ConvTranspose<strides = [1, 2]>(x, up)"
        "  h = Constant<value_ints = [0]>()  f = Constant<value_ints = [5]>()"
        "  two = Constant<value_ints = [2]>()  u = Slice(t, h, f, two)  k ="
        " Constant<value_ints = [3]>()  v0 = Slice(u, h, k, one)  z = Add(v0, y)",
    ),
    "enlarged by neighbours": (
        f"{IMAGE} => (float[1, 3, 5, M] y, float[1, 3, 5, P] z)",
        'e = Exp(x)  y = Resize<mode = "linear">(e, , twice)'
        '  z = Resize<mode = "cubic">(e, , twice)',
    ),
    "the last elements": (
        f"{IMAGE} => (float[1, 3, 5] y, float[1, 3, 3, 2] z, float[1, 3, 5, 1] e)",
        "end = Constant<value_int = -1>()  c = Sigmoid(x)  y = Gather<axis = 3>(c, end)"
        "  from = Constant<value_ints = [1, -3]>()  to = Constant<value_ints = [4, -1]>()"
        "  axes = Constant<value_ints = [2, 3]>()  z = Slice(c, from, to, axes)"
        "  rest = Slice(x, one, most, columns)  e = Slice(rest, last, most, columns)",
    ),
    "shuffled pixels": (
        f"{IMAGE} => (float[1, 1, 10, M] y, float[1, 4, 10, P] z)",
        CONV + 'y = DepthToSpace<blocksize = 2, mode = "CRD">(s)  w1 ='
        " ConstantOfShape<value = float[1] {0.2}>(kernel)"
        "  z = Conv<pads = [1, 1, 1, 1]>(y, w1)",
    ),
    "cut before a window": (
        f"{IMAGE} => (float[1, 4, 5, M] y, float[1, 1, 5, P] z)",
        "from = Constant<value_ints = [1]>()  to = Constant<value_ints = [-2]>()"
        "  s = Slice(x, from, to, columns)  y = Conv<pads = [1, 1, 1, 1]>(s, w)"
        "  ends = Constant<value_ints = [0, 0, 0, 2, 0, 0, 0, -1]>()  p = Pad(x, ends)"
        "  m = GlobalAveragePool(p)  q = Mul(p, m)  z = ReduceSum(q, one)",
    ),
    "parts of every third": (
        f"{IMAGE} => (float[1, 3, 5, M] y, float[1, 3, 5, P] z)",
        "by = Constant<value_ints = [3]>()  y = Slice(x, one, most, columns, by)"
        "  two = Constant<value_ints = [2]>()"
        "  from = Constant<value_ints = [-3]>()  z = Slice(x, from, most, columns, two)",
    ),
    "enlarged logarithms": (
        f"{IMAGE} => (float[1, 3, 5, M] y)",
        "l = LogSoftmax<axis = 3>(x)"
        '  y = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric",'
        ' nearest_mode = "floor">(l, , twice)',
    ),
    "maximum, then attention": (
        "(float[1, 1, 4, N] x) => (float[1, 1, 4, M] y)",
        "m = MaxPool<kernel_shape = [1, 4], strides = [1, 2], pads = [0, 0, 0, 2]>(x)"
        "  q = Transpose<perm = [0, 1, 3, 2]>(m)  k = Tanh(m)  s = MatMul(q, k)"
        "  p = Softmax<axis = -1>(s)  a = MatMul(p, q)"
        "  y = Transpose<perm = [0, 1, 3, 2]>(a)",
    ),
    "the edge repeated": (
        f"{IMAGE} => (float[1, 3, 5, M] y)",
        'e = Exp(x)  y = Pad<mode = "edge">(e, around)',
    ),
    "transposed": (
        f"{IMAGE} => (float[1, 4, 6, M] y)",
        "e = Exp(x)  y = ConvTranspose<strides = [1, 2], pads = [0, 0, 0, 1]>(e, up)",
    ),
    "normalized images": (
        f"{IMAGE} => (float[1, 4, 5, N] y, float[1, 4, 5, N] z, float[1, 4, 5, N] n)",
        CONV + "y = InstanceNormalization(s, four, four)"
        "  z = GroupNormalization<num_groups = 2>(s, four, four)"
        "  n = LpNormalization<axis = 3>(s)",
    ),
    "merged with others": (
        f"{IMAGE} => (float[1, 20] y)",
        CONV + "shape = Constant<value_ints = [1, 20, -1]>()  r = Reshape(s, shape)"
        "  y = ReduceMean<keepdims = 0>(r, last)",
    ),
    "both directions of an LSTM": (
        f"{ROWS} => (float[N, 2, 1, 2] y, float[2, 1, 2] h, float[2, 1, 2] c)",
        'y, h, c = LSTM<hidden_size = 2, direction = "bidirectional">(x, lw, lr, lb)',
    ),
    "an LSTM in order": (
        f"{ROWS} => (float[N, 1, 1, 2] y)",
        "zero = Constant<value_ints = [0]>()  w1 = Slice(lw, zero, one, zero)"
        "  r1 = Slice(lr, zero, one, zero)  e = Exp(x)"
        "  y, h = LSTM<hidden_size = 2>(e, w1, r1)",
    ),
    "a GRU from the end": (
        f"{ROWS} => (float[N, 1, 1, 2] y, float[1, 1, 2] h)",
        'e = Exp(x)  y, h = GRU<hidden_size = 2, direction = "reverse">(e, gw, gr)',
    ),
    "a GRU in order": (
        f"{ROWS} => (float[1, 1, 2] h)",
        "y, h = GRU<hidden_size = 2>(x, gw, gr)",
    ),
}


def model_of(name):
    signature, body = MASKED[name]
    text = f"{HEAD} test {signature}{TABLES} {{ {body} }}"
    return parser.parse_model(text).SerializeToString()


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("name", MASKED)
def test_results_are_those_without_padding(name, backend):
    source = model_of(name)
    model = compiler.compile(source, backend=backend, buckets={"N": [9, 12]})
    free = compiler.compile(source, backend="interpreter", specializations=32)
    random = np.random.default_rng(1)
    for count in (12, 11, 9, 8, 5, 4):
        (info,) = model.inputs
        shape = [count if size == "N" else size for size in info.shape]
        x = random.standard_normal(shape).astype(np.float32)
        found, wanted = model.run_in_order([x]), free.run_in_order([x])
        for one, other in zip(found, wanted, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=2e-6, atol=2e-6)
    assert len(model.programs()) == 2


@pytest.mark.parametrize("kind", ["int64", "int32", "double", "float16", "bfloat16"])
def test_elements_may_be_of_any_type(kind):
    text = (
        f"{HEAD} test ({kind}[3, N] x) => ({kind}[3, 1] y, {kind}[3, N] z)"
        " <int64[1] last = {1}, int64 axis = {1}> { high = ReduceMax(x, last)"
        "  low = ReduceMin(x, last)  y = Sub(high, low)  s = Cast<to = 7>(x)"
        f"  c = CumSum<reverse = 1>(s, axis)  z = CastLike(c, x) }}"
    )
    source = parser.parse_model(text).SerializeToString()
    model = compiler.compile(source, backend="cpu", buckets={"N": [9]})
    free = compiler.compile(source, backend="interpreter")
    for count in (9, 5, 2):
        numbers = np.random.default_rng(count).integers(20, 90, (3, count))
        for sign in (1, -1):
            x = (sign * numbers).astype(model.inputs[0].dtype)
            for one, other in zip(model(x), free(x), strict=True):
                np.testing.assert_array_equal(one, other)


def test_results_may_hold_a_part_of_the_size():
    model = compiler.compile(
        model_of("convolutions"), backend="interpreter", buckets={"N": [12]}
    )
    (halves,), *_ = model.signature.padding.thinned
    assert [halves.size(n) for n in (12, 11, 10, 9)] == [6, 6, 5, 5]
    assert model.signature.padding.sizes["N"].masked_from == (6,)


HALVED = (
    "(float[1, 3, 6, N] x, float[1, 3, 6, N] b) => (float[1, 3, 6, N] y)",
    "p = MaxPool<kernel_shape = [3, 2], strides = [1, 2], pads = [1, 0, 1, 0]>(x)"
    '  u = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric",'
    ' nearest_mode = "floor">(p, , twice)  z = Add(u, b)'
    "  c = Conv<pads = [1, 1, 1, 1]>(z, w)  m = ReduceMax(c, plane)  o ="
    " Constant<value_ints = [0]>()  k = Constant<value_ints = [3]>()"
    "  s = Slice(m, o, k, one)  y = Add(z, s)",
)


def test_a_network_that_halves_takes_even_sizes():
    """What it would refuse has no program; what no bucket is a multiple away from has its own."""
    signature, body = HALVED
    text = f"{HEAD} test {signature}{TABLES} {{ {body} }}"
    source = parser.parse_model(text).SerializeToString()
    model = compiler.compile(source, backend="interpreter", buckets={"N": [12]})
    free = compiler.compile(source, backend="interpreter")
    assert model.signature.padding.sizes["N"].step == 2
    for count in (12, 10, 4):
        x, b = np.random.default_rng(count).standard_normal(
            (2, 1, 3, 6, count), np.float32
        )
        np.testing.assert_allclose(model(x, b), free(x, b), rtol=0, atol=1e-5)
    assert len(model.programs()) == 1
    x = np.zeros((1, 3, 6, 7), np.float32)
    with pytest.raises(GlowError, match="do not broadcast"):
        model(x, x)


def test_two_sizes_are_masked():
    text = (
        f"{HEAD} test (float[1, 3, H, W] x) => (float[1, 4, H, W] y, float[1, 4] m)"
        f"{TABLES} {{ {CONV} k = Conv<pads = [1, 1, 0, 1]>(s, v)  g = GlobalAveragePool(k)"
        "  y = Mul(s, g)  m = ReduceMean<keepdims = 0>(k, plane) }"
    )
    source = parser.parse_model(text).SerializeToString()
    buckets = {"H": [6, 8], "W": [9]}
    model = compiler.compile(source, backend="interpreter", buckets=buckets)
    free = compiler.compile(source, backend="interpreter")
    for height, width in ((8, 9), (5, 4), (7, 9), (6, 8)):
        shape = 1, 3, height, width
        x = np.random.default_rng(height).standard_normal(shape, np.float32)
        for one, other in zip(model(x), free(x), strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=2e-6)
    assert len(model.programs()) == 2


def test_a_known_model_keeps_its_masks(tmp_path, monkeypatch):
    own_folder(tmp_path, monkeypatch)
    path = tmp_path / "net.onnx"
    path.write_bytes(model_of("squeeze and excitation"))
    x = np.random.default_rng(0).standard_normal((1, 3, 5, 7), np.float32)
    first = glow.compile(path, buckets={"N": [9]})
    wanted = first(x)
    wait_for_stores()
    monkeypatch.setattr(compiler, "compile_model", None)
    monkeypatch.setattr(compiler, "compile_step", None)
    again = glow.compile(path, buckets={"N": [9]})
    assert again.signature == first.signature
    copy = pickle.loads(pickle.dumps(again))
    for model in (again, copy):
        for one, other in zip(model(x), wanted, strict=True):
            np.testing.assert_array_equal(one, other)


def test_commands_take_masked_buckets(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.onnx").write_bytes(model_of("convolutions"))
    options = ["net.onnx", "--buckets=N=12", "--shape=N=7"]
    run_glow(["compile", *options, "--emit=graph"])
    graph = capsys.readouterr().out
    assert '["x", "N.padding"]' in graph
    run_glow(["run", *options, "--backend=interpreter"])
    assert "output 'y': 1x4x5x4 float32" in capsys.readouterr().out


REFUSED = {
    "a mean of windows that counts": (
        f"{IMAGE} => (float[1, 3, 5, M] y)",
        "y = AveragePool<kernel_shape = [1, 3], pads = [0, 1, 0, 1]>(x)",
        "glow.avg_pool2d counts the elements of windows along axis 3",
    ),
    "states of no gate": (
        f"{ROWS} => (float[N, 1, 1, 1] y, float[1, 1, 1] h)",
        "three = Constant<value_floats = [0.5, 0.1, -0.3]>()  shape ="
        " Constant<value_ints = [1, 1, 3]>()  k = Reshape(three, shape)  f ="
        " Constant<value_floats = [0.5]>()  ones = Constant<value_ints = [1, 1, 1]>()"
        "  r = Reshape(f, ones)  y, h = RNN<hidden_size = 1>(x, k, r)",
        "glow.rnn goes on over axis 0",
    ),
    "a loop back to halves": (
        "(float[1, 3, 5, N] x) => (float[1, 3, 5, N] y)",
        "two = Constant<value_ints = [2]>()  zero = Constant<value_ints = [0]>()"
        "  h = Slice(x, zero, most, columns, two)  g = Slice(x, one, most, columns, two)"
        "  y = Concat<axis = 3>(h, g)",
        "glow.concat joins tensors along axis 3",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_masks_do_not_help_is_refused(name):
    signature, body, message = REFUSED[name]
    model = parser.parse_model(f"{HEAD} test {signature}{TABLES} {{ {body} }}")
    with pytest.raises(GlowError) as caught:
        compiler.compile(model.SerializeToString(), buckets={"N": [8, 12]})
    assert message in caught.value.one_line()


def test_a_program_for_each_bucket_is_kept():
    sizes = range(2, 40, 2)
    model = compiler.compile(
        model_of("attention"), backend="interpreter", buckets={"N": sizes}
    )
    for size in sizes:
        model(np.zeros((size, 1, 3), np.float32))
    assert len(model.programs()) == len(sizes)


def test_halves_that_are_doubled_are_not_the_size():
    """For even sizes they are as large as one would think."""
    text = (
        f"{HEAD} test (float[1, 3, 5, N] x) => (float[1, 3, 5, M] y) {TABLES} {{ "
        "p = MaxPool<kernel_shape = [1, 2], strides = [1, 2]>(x)"
        '  y = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric",'
        ' nearest_mode = "floor">(p, , twice) }'
    )
    source = parser.parse_model(text).SerializeToString()
    model = compiler.compile(source, backend="interpreter", buckets={"N": [8, 16]})
    assert model.signature.padding.sizes["N"].step == 2
    for count in (16, 15, 10, 7):
        assert model(np.zeros((1, 3, 5, count), np.float32)).shape[3] == count // 2 * 2


def test_sizes_that_are_too_small_have_their_own_programs():
    model = compiler.compile(
        model_of("the last elements"), backend="interpreter", buckets={"N": [12]}
    )
    free = compiler.compile(model_of("the last elements"), backend="interpreter")
    assert model.signature.padding.sizes["N"].smallest == 4
    x = np.random.default_rng(0).standard_normal((1, 3, 5, 2), np.float32)
    for one, other in zip(model(x), free(x), strict=True):
        np.testing.assert_array_equal(one, other)
