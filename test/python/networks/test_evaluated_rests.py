"""What stands behind values that calls compute: evaluated, unless a compiler is worth it."""

import numpy as np
import pytest
from onnx import parser
from support.onnx_models.found_rows import FOUND

import glow
from glow import compiler
from glow.dialects.errors import GlowError
from glow.specialization import evaluated_rests


def model_of(signature, body):
    head = '<ir_version: 9, opset_import: ["" : 18]>'
    return parser.parse_model(f"{head} test {signature} {{ {body} }}")


ROWS = model_of(
    "(float[8, 4] x) => (float[K, 4] y, int64 n)",
    FOUND
    + """
    y = Softmax<axis = 1>(rows)
    n = Size(places)
    """,
)


def rows_of(count, seed=0):
    x = np.random.default_rng(seed).standard_normal((8, 4)).astype(np.float32)
    x[:, 0] = np.where(np.arange(8) < count, 1, -1)
    return x


def check_rows(model, count, seed=0):
    x = rows_of(count, seed)
    y, n = model(x)
    kept = np.exp(x[:count])
    np.testing.assert_allclose(y, kept / kept.sum(1, keepdims=True), rtol=1e-6)
    assert n == count
    assert y.flags.writeable


@pytest.fixture
def compiled(monkeypatch):
    """The answers that programs were compiled for."""
    made = []
    step = compiler.compile_step

    def compile_step(model, options, answers, *rest, **named):
        made.append(answers)
        return step(model, options, answers, *rest, **named)

    monkeypatch.setattr(compiler, "compile_step", compile_step)
    return made


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_other_numbers_of_rows_compile_nothing(compiled, backend):
    model = compiler.compile(ROWS, backend=backend, threads=1)
    check_rows(model, 3)
    assert len(compiled) == 2
    for seed, count in enumerate((5, 0, 8, 3, 5, 1)):
        check_rows(model, count, seed)
    assert len(compiled) == 2
    outputs = [np.empty((2, 4), np.float32), np.empty((), np.int64)]
    model.run_into([rows_of(2)], outputs)
    assert outputs[1] == 2
    assert model.run({"x": rows_of(6)})["y"].shape == (6, 4)
    with pytest.raises(GlowError, match="output 'y'"):
        model.run_into([rows_of(7)], outputs)


def test_what_calls_have_in_common_is_compiled(compiled, monkeypatch):
    monkeypatch.setattr(evaluated_rests, "COMPILER_SECONDS", 0)
    model = compiler.compile(ROWS, threads=1)
    for count, programs in ((3, 2), (5, 2), (5, 3), (5, 3), (4, 3)):
        check_rows(model, count)
        assert len(compiled) == programs


@pytest.mark.parametrize(
    "body",
    [
        "w = Transpose(rows) y = MatMul(rows, w)",
        """some = ReduceMax<keepdims = 0>(x) flag = Greater(some, zero)
        y = If(flag) <
            then_branch = a () => (float[P, Q] t) { u = Transpose(rows) t = MatMul(rows, u) },
            else_branch = b () => (float[R, S] e) { e = Identity(rows) }
        >""",
    ],
)
def test_products_are_compiled(compiled, body):
    """Those behind the rows, and those of a body."""
    model = model_of("(float[8, 4] x) => (float[K, L] y)", FOUND + body)
    ours = compiler.compile(model, threads=1)
    compiled.clear()
    for number, count in enumerate((3, 5, 2), 1):
        x = rows_of(count)
        expected = x[:count] @ x[:count].T
        np.testing.assert_allclose(ours(x), expected, rtol=1e-5, atol=1e-6)
        assert sum(len(answers) == 1 for answers in compiled) == number


CLASSES = range(12)


def test_many_values_in_a_row_are_no_programs(compiled):
    """A head that looks for boxes class by class."""
    found = "".join(
        f"limit{k} = Constant<value_float = {k / 4:.2f}>() flags{k} = Greater(x, limit{k}) "
        f"places{k} = NonZero(flags{k}) "
        for k in CLASSES
    )
    joined = f"y = Concat<axis = 1>({', '.join(f'places{k}' for k in CLASSES)})"
    source = model_of("(float[20] x) => (int64[1, K] y)", found + joined)
    model = compiler.compile(source, threads=1)
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal(20).astype(np.float32)
        expected = [np.flatnonzero(x > np.float32(k / 4)) for k in CLASSES]
        np.testing.assert_array_equal(model(x)[0], np.concatenate(expected))
    assert len(compiled) <= 5


def test_other_precisions_are_compiled(compiled):
    model = compiler.compile(ROWS, threads=1, precision="bf16")
    for number, count in enumerate((3, 5), 2):
        check_rows(model, count)
        assert len(compiled) == number


def test_wrong_values_of_a_call():
    source = model_of(
        "(float[8, 4] x, int64[3] i) => (float[3, 4] y)", FOUND + "y = Gather(rows, i)"
    )
    model = compiler.compile(source, threads=1)
    numbers = np.full(3, 3)
    assert model(rows_of(4), numbers).shape == (3, 4)
    with pytest.raises(GlowError, match=r"index 3 is outside of axis 0 of size 3.*'y'"):
        model(rows_of(3), numbers)


def test_stored_programs(compiled, tmp_path, monkeypatch):
    """A process that finds its programs in the cache knows nothing of where they end."""
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path))
    path = tmp_path / "rows.onnx"
    path.write_bytes(ROWS.SerializeToString())
    check_rows(glow.compile(path, threads=1), 3)
    glow.compilation.wait_for_stores()
    model = glow.compile(path, threads=1)
    check_rows(model, 3)
    compiled.clear()
    check_rows(model, 5)
    assert not compiled
