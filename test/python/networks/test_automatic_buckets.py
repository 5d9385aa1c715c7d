"""Buckets that the calls choose."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Event

import numpy as np
import pytest
from onnx import parser
from support.runtime.model_cache_testing import own_folder

import glow
from glow import compiler
from glow.bucketing.choices import bucket_of
from glow.compilation import wait_for_stores
from glow.dialects.errors import GlowError
from glow.host.host import Host
from glow.tools.glow import run_glow

HEAD = '<ir_version: 9, opset_import: ["" : 18]>'


def model_of(signature, body):
    return parser.parse_model(
        f"{HEAD} test {signature} {{ {body} }}"
    ).SerializeToString()


WINDOWS = model_of(
    "(float[N, 1, L] x) => (float[N, 1, L] y, float[N, 1] m)"
    " <float[1, 1, 3] w = {1, 2, 3}, int64[1] last = {-1}>",
    "e = Exp(x)  y = Conv<pads = [1, 1]>(e, w)  m = ReduceMean<keepdims = 0>(y, last)",
)
UNNAMED = model_of(
    "(float[?, ?] x, float[?, ?] z) => (float[a, b] y, float[c, d] u)",
    "y = Softmax<axis = 1>(x)  u = Neg(z)",
)
REFUSED = model_of(
    "(float[N, L] x) => (float[N, M] y)",
    "n = Neg(x)  y = Concat<axis = 1>(x, n)",
)


def numbers(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def check(model, source, *inputs):
    free = compiler.compile(source, backend="interpreter", specializations=64)
    found, wanted = model.run_in_order(inputs), free.run_in_order(inputs)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-6, atol=2e-6)


def test_buckets_are_an_eighth_apart_at_most():
    sizes = [bucket_of(size) for size in range(1, 5000)]
    assert sizes[:18] == [*range(1, 17), 18, 18]
    assert all(size <= bucket < size * 1.125 for size, bucket in enumerate(sizes, 1))
    assert all(one <= other for one, other in pairwise(sizes))
    assert len({bucket for bucket in sizes if 1024 < bucket <= 2048}) == 8


def test_calls_choose_few_programs():
    model = compiler.compile(WINDOWS, backend="interpreter", buckets="auto")
    for length in (30, 31, 32, 29, 33, 36):
        check(model, WINDOWS, numbers(2, 1, length))
    assert len(model.programs()) == 3
    check(model, WINDOWS, numbers(3, 1, 31))
    assert len(model.programs()) == 4  # A batch is small: it is not padded.
    assert "4 programs" in repr(model)


def test_small_sizes_have_their_own_programs():
    model = compiler.compile(WINDOWS, backend="interpreter", buckets="auto")
    for length in (2, 9, 16):
        check(model, WINDOWS, numbers(1, 1, length))
    assert [one.inputs[0].shape[2] for one in model.programs()] == [2, 9, 16]


def test_sizes_without_names_are_chosen_too():
    model = compiler.compile(UNNAMED, backend="interpreter", buckets="auto")
    for rows, columns in ((20, 35), (19, 33), (20, 36)):
        check(model, UNNAMED, numbers(rows, columns), numbers(columns, rows))
    assert len(model.programs()) == 1


def test_what_cannot_be_padded_has_programs_of_its_own():
    model = compiler.compile(REFUSED, backend="interpreter", buckets="auto")
    for rows, length in ((40, 20), (39, 20), (39, 21), (41, 22), (39, 20)):
        check(model, REFUSED, numbers(rows, length))
    assert len(model.programs()) == 3  # One for each length, of rows of a bucket.


def test_sizes_may_be_fixed_and_named():
    model = compiler.compile(
        UNNAMED, backend="interpreter", buckets="auto", input_shapes={"x": (2, "W")}
    )
    assert model.inputs[0].shape == (2, "W")
    check(model, UNNAMED, numbers(2, 35), numbers(3, 4))
    with pytest.raises(GlowError, match="declared as 2xW"):
        model(numbers(3, 35), numbers(3, 4))


def test_every_way_to_call():
    model = compiler.compile(WINDOWS, backend="interpreter", buckets="auto")
    x = numbers(2, 1, 29)
    model.warm([{"N": 2, "L": 30}])
    assert model.is_ready([x.shape])
    assert not model.is_ready([(2, 1, 50)])
    assert model.is_ready([(2, 2, 50)])  # Which is an error.
    assert model.program_shapes([x.shape]) == [(2, 1, 30)]
    y, m = model(x)
    np.testing.assert_array_equal(model.run({"x": x})["y"], y)
    np.testing.assert_array_equal(model(x=x)[1], m)
    outputs = {"m": np.empty_like(m), "y": np.empty_like(y)}
    model.run_into({"x": x}, outputs)
    np.testing.assert_array_equal(outputs["y"], y)
    model.forget([x.shape])
    assert not model.is_ready([x.shape])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model))(x)[0], y)
    with pytest.raises(GlowError, match="declared as Nx1xL"):
        model(numbers(2, 2, 30))


def test_a_closed_model_needs_none():
    closed = model_of("(float[2, 3] x) => (float[2, 3] y)", "y = Neg(x)")
    model = compiler.compile(closed, buckets="auto")
    assert isinstance(model, glow.CompiledModel)


def test_a_known_model_chooses_what_is_known(tmp_path, monkeypatch):
    own_folder(tmp_path, monkeypatch)
    path = tmp_path / "net.onnx"
    path.write_bytes(WINDOWS)
    x = numbers(2, 1, 30)
    wanted = glow.compile(path, buckets="auto")(x)
    wait_for_stores()
    monkeypatch.setattr(compiler, "compile_model", None)
    monkeypatch.setattr(compiler, "compile_step", None)
    for one, other in zip(glow.compile(path, buckets="auto")(x), wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_host_serves_them(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(WINDOWS)
    with Host(["cpu"]) as host:
        host.add("net", str(path), buckets="auto", batching="off")
        for length in (30, 31):
            x = numbers(1, 1, length)
            result = host.run("net", [x]).result(60)
            wanted = compiler.compile(WINDOWS, backend="interpreter")(x)
            np.testing.assert_allclose(result["y"], wanted[0], rtol=0, atol=2e-5)


def test_commands_take_them(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.onnx").write_bytes(WINDOWS)
    options = ["net.onnx", "--buckets=auto", "--shape=N=1", "--shape=L=31"]
    run_glow(["compile", *options, "--emit=graph"])
    assert "%x: tensor<1x1x32xf32>" in capsys.readouterr().out
    run_glow(["run", *options, "--backend=interpreter"])
    assert "output 'y': 1x1x31 float32" in capsys.readouterr().out
    (tmp_path / "refused.onnx").write_bytes(REFUSED)
    run_glow(["compile", "refused.onnx", *options[1:], "--emit=graph"])
    assert "%x: tensor<1x31xf32>" in capsys.readouterr().out


STEP = model_of(
    "(float[1, new, 4] x, float[1, past, 4] keys, int64[1, total] mask)"
    " => (float[1, new, 4] y, float[1, total, 4] present)"
    " <int64[1] axis = {1}, float one = {1}, float big = {1e9}>",
    "present = Concat<axis = 1>(keys, x)  turned = Transpose<perm = [0, 2, 1]>(present)"
    "  scores = MatMul(x, turned)  kept = Cast<to = 1>(mask)  rows = Unsqueeze(kept, axis)"
    "  less = Sub(rows, one)  low = Mul(less, big)  masked = Add(scores, low)"
    "  shares = Softmax<axis = -1>(masked)  y = MatMul(shares, present)",
)


def test_a_past_grows_along():
    """Its sum with new words is no size of its own."""
    model = compiler.compile(STEP, backend="interpreter", buckets="auto")
    for past in (30, 31, 32, 29):
        mask = np.ones((1, past + 1), np.int64)
        check(model, STEP, numbers(1, 1, 4), numbers(1, past, 4), mask)
    assert {one.inputs[1].shape[1] for one in model.programs()} == {30, 32}


def test_who_makes_a_model_holds_up_nobody_else():
    model = compiler.compile(WINDOWS, backend="interpreter", buckets="auto")
    x = numbers(1, 1, 30)
    wanted, make = model(x), model.make
    begun, done = Event(), Event()

    def make_slowly(*arguments):
        begun.set()
        assert done.wait(60)
        return make(*arguments)

    model.make = make_slowly
    with ThreadPoolExecutor(2) as pool:
        other = pool.submit(model, numbers(1, 1, 50))
        assert begun.wait(60)
        found = pool.submit(model, x).result(60)
        done.set()
        assert other.result(60)[0].shape == (1, 1, 50)
    np.testing.assert_array_equal(found[0], wanted[0])
