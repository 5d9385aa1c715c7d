"""Models with open sizes, with values that decide shapes, and with shapes of data."""

import copy
import pickle
import threading
import warnings

import numpy as np
import pytest
from onnx import parser
from support.runtime.model_cache_testing import own_folder

import glow
from glow import compiler
from glow.compilation import wait_for_stores
from glow.dialects.errors import GlowError
from glow.frontends.onnx import import_step
from glow.frontends.onnx.programs.program_importer import ProgramImporter
from glow.open_sizes import OpenSignature, OpenTensorInfo
from glow.specialization import evaluated_rests
from glow.specialized_model import Program, SpecializedModel

F32 = np.dtype(np.float32)


def model_of(signature, body, opset=18, functions=""):
    """A model in ONNX's text form."""
    head = f'<ir_version: 9, opset_import: ["" : {opset}, "own" : 1]>'
    model = parser.parse_model(f"{head} test {signature} {{ {body} }} {functions}")
    return model.SerializeToString()


SUM = model_of(
    "(float[N, 3] x, float[N, 1] z, int64[1] axes) => (float[M] y)",
    "w = Add(x, z)  y = ReduceSum<keepdims = 0>(w, axes)",
)


def arrays(count, axis=1, z=None):
    """Inputs of `SUM`."""
    x = np.arange(count * 3, dtype=np.float32).reshape(count, 3)
    return x, np.ones((count if z is None else z, 1), np.float32), np.array([axis])


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_sizes_and_values_are_those_of_the_call(backend):
    model = compiler.compile(SUM, backend=backend, threads=1)
    assert [info.shape for info in model.inputs] == [("N", 3), ("N", 1), (1,)]
    assert [info.is_specialized_on for info in model.inputs] == [False, False, True]
    for count, axis in ((4, 1), (4, 0), (1, -1), (0, 0), (4, 1)):
        x, z, axes = arrays(count, axis)
        wanted = (x + z).sum(axis)
        np.testing.assert_array_equal(model(x, z, axes), wanted)
        (found,) = model.run({"axes": axes, "x": x, "z": z}).values()
        np.testing.assert_array_equal(found, wanted)
        into = np.empty_like(wanted)
        model.run_into([x, z, axes], {"y": into})
        np.testing.assert_array_equal(into, wanted)
    assert repr(model) == (
        "<glow.SpecializedModel (x: float32[N, 3], z: float32[N, 1], axes: int64[1], by "
        "value) -> (y: float32[M]), 4 of 16 specializations>"
    )
    assert copy.deepcopy(model) is model


WRONG = {
    "sizes": (arrays(4, z=1), "input 'z' has N = 1, but input 'x' has N = 4"),
    "fixed": (
        (np.ones((4, 5), np.float32), *arrays(4)[1:]),
        "input 'x' is declared as Nx3, with 3 where 5 of [4, 5] is given",
    ),
    "rank": (
        (np.ones(4, np.float32), *arrays(4)[1:]),
        "input 'x' is declared as Nx3, with 2 axes, not as [4]",
    ),
    "dtype": ((*arrays(4)[:2], np.array([1], np.int32)), "must have dtype int64"),
    "missing": (arrays(4)[:2], "missing input 'axes'"),
    "many": ((*arrays(4), 1), "the model takes 3 inputs, not 4"),
    "value": (arrays(4, 7), "axis 7 of a rank-2 tensor"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls(name):
    given, message = WRONG[name]
    model = compiler.compile(SUM, backend="interpreter")
    model(*arrays(4))
    with pytest.raises(GlowError) as caught:
        model(*given)
    assert message in caught.value.one_line()


def test_what_no_size_mends_is_said_at_once():
    model = model_of("(float[N] x) => (float[N] y)", "y = own.Magic(x)")
    with pytest.raises(GlowError, match="operator is not supported: 'Magic'"):
        compiler.compile(model)


PARTS = model_of(
    "(float[N, 3] x, int64[K] n, float[N, 3] unused) => (float[A] y, float[B] z, float[N, 3] q)",
    """
    a = Mul(x, x)
    dead = Exp(x)
    longest = ReduceMax<keepdims = 0>(n)
    zero = Constant<value_int = 0>()
    one = Constant<value_int = 1>()
    places = Range(zero, longest, one)
    numbers = Cast<to = 1>(places)
    total = ReduceSum<keepdims = 0>(a)
    y = Add(numbers, total)
    least = ReduceMin<keepdims = 1>(n)
    flat = Flatten<axis = 0>(a)
    zeros = Constant<value_ints = [0]>()
    line = Squeeze(flat, zeros)
    z = Slice(line, zeros, least)
    q = Identity(a)
    """,
)


@pytest.fixture
def no_evaluation(monkeypatch):
    """Whatever stands behind a value of data is compiled."""
    monkeypatch.setattr(evaluated_rests, "COMPILER_SECONDS", -1)


@pytest.mark.usefixtures("no_evaluation")
@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_shapes_of_data_are_programs_of_their_own(backend):
    model = compiler.compile(PARTS, backend=backend, threads=1)
    for count, n in ((4, [1, 7, 3]), (4, [7, 7, 1]), (2, [2, 5]), (4, [1, 7, 3])):
        x = np.arange(count * 3, dtype=np.float32).reshape(count, 3)
        y, z, q = model(x, np.array(n), x)
        np.testing.assert_array_equal(y, np.arange(max(n)) + (x * x).sum())
        np.testing.assert_array_equal(z, (x * x).ravel()[: min(n)])
        np.testing.assert_array_equal(q, x * x)
    assert "2 of 16 specializations" in repr(model)


def test_programs_pass_only_what_is_read():
    shapes = {"x": (4, 3), "n": (2,), "unused": (4, 3)}
    options = {"input_shapes": shapes, "input_values": {}}
    first = import_step(PARTS, [], **options)
    assert first.asks == ("longest",)
    (function,) = first.module.body.block.ops
    names = [name.data for name in function.attributes["glow.output_names"]]
    assert names == ["a", "longest"]
    second = import_step(PARTS, [{"longest": np.array(7)}], **options)
    (function,) = second.module.body.block.ops
    names = [name.data for name in function.attributes["glow.input_names"]]
    assert sorted(names) == ["a", "n"]
    assert second.asks == ("least",)


@pytest.mark.usefixtures("no_evaluation")
def test_no_program_is_imported_twice(monkeypatch):
    """Each new answer costs the import of what is behind it, not of what is before."""
    walked = []
    walk = ProgramImporter.walk
    monkeypatch.setattr(
        ProgramImporter,
        "walk",
        lambda self, start: walked.append(start.node) or walk(self, start),
    )
    model = compiler.compile(PARTS, threads=1)
    x = np.ones((4, 3), np.float32)
    model(x, np.array([1, 2, 3]), x)
    before = len(walked)
    for n, more in (([1, 2, 4], 2), ([3, 2, 4], 3), ([3, 2, 4], 3), ([3, 5, 3], 5)):
        model(x, np.array(n), x)
        assert len(walked) - before == more
    copy = pickle.loads(pickle.dumps(model))
    copy(x, np.array([9, 9, 8]), x)


INNER = model_of(
    "(float[N] x, int64[K] n) => (float[A] y, float[B] z)",
    "y, z = own.both(x, n)",
    functions="""
    <domain: "own", opset_import: ["" : 18]>
    both (x, n) => (y, z) {
        twice = Add(x, x)
        longest = ReduceMax<keepdims = 0>(n)
        zero = Constant<value_int = 0>()
        one = Constant<value_int = 1>()
        places = Range(zero, longest, one)
        numbers = Cast<to = 1>(places)
        total = ReduceSum<keepdims = 0>(twice)
        y = Add(numbers, total)
        least = ReduceMin<keepdims = 1>(n)
        zeros = Constant<value_ints = [0]>()
        z = Slice(twice, zeros, least)
    }
    """,
)


@pytest.mark.usefixtures("no_evaluation")
@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_values_inside_of_a_node(backend):
    """The import goes on in the middle of a node, whose first operations have run."""
    model = compiler.compile(INNER, backend=backend, threads=1)
    for n in ([3, 1], [5, 2], [3, 1]):
        x = np.arange(6, dtype=np.float32)
        y, z = model(x, np.array(n))
        np.testing.assert_array_equal(y, np.arange(max(n)) + 2 * x.sum())
        np.testing.assert_array_equal(z, 2 * x[: min(n)])
    shapes = {"x": (6,), "n": (2,)}
    longest = "value 1 of node 'y'"
    step = import_step(
        INNER, [{longest: np.array(5)}], input_shapes=shapes, input_values={}
    )
    text = str(step.module)
    assert "reduce_max" not in text
    assert "%x" not in text


@pytest.mark.usefixtures("no_evaluation")
@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_results_as_large_as_the_data_says(backend):
    """The count ends a program, and only the places go to the next."""
    source = model_of(
        "(float[N, 3] x) => (float[K] y, int64[2, K] i)",
        "i = NonZero(x)  t = Transpose(i)  y = GatherND(x, t)",
    )
    model = compiler.compile(source, backend=backend, threads=1)
    for seed, keep in ((0, 1), (1, 1), (0, 0)):
        random = np.random.default_rng(seed)
        x = (random.integers(-1, 2, (4, 3)) * keep).astype(np.float32)
        y, i = model(x)
        np.testing.assert_array_equal(i, np.nonzero(x))
        np.testing.assert_array_equal(y, x[np.nonzero(x)])
    step = import_step(source, [], input_shapes={"x": (4, 3)}, input_values={})
    (function,) = step.module.body.block.ops
    results = [str(one) for one in function.function_type.outputs]
    assert results == ["tensor<12xi64>", "tensor<i64>"]


class Recorder:
    """Makes programs of one doubling of `x`, and records for which shapes."""

    def __init__(self, before=lambda shape: None):
        self.made = []
        self.before = before

    def make(self, shapes, answers):
        self.made.append(shapes["x"])
        self.before(shapes["x"])
        model = model_of("(float[N] x) => (float[N] y)", "y = Add(x, x)")
        options = {"input_shapes": shapes, "backend": "interpreter"}
        return Program(compiler.compile(model, **options))


def recorded(limit=16, **options):
    """A model of `y = x + x` whose programs a recorder makes."""
    x, y = (OpenTensorInfo(name, ("N",), F32) for name in "xy")
    recorder = Recorder(**options)
    return SpecializedModel(OpenSignature((x,), (y,)), recorder, limit), recorder


def test_the_least_recently_used_program_goes():
    model, recorder = recorded(limit=2)
    for size in (1, 2, 1, 3, 1, 2):
        assert model(np.ones(size, np.float32)).tolist() == [2] * size
    assert recorder.made == [(1,), (2,), (3,), (2,)]


def test_a_compilation_holds_up_nobody_else():
    """Callers of one new shape compile it once, and others go on meanwhile."""
    begun, go_on = threading.Event(), threading.Event()

    def before(shape):
        if shape == (2,):
            begun.set()
            assert go_on.wait(30)

    model, recorder = recorded(before=before)
    model(np.ones(1, np.float32))
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(model(np.ones(2, np.float32))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    assert begun.wait(30)
    assert model(np.ones(1, np.float32)).tolist() == [2]
    assert model(np.ones(3, np.float32)).tolist() == [2, 2, 2]
    go_on.set()
    for thread in threads:
        thread.join()
    assert [result.tolist() for result in results] == [[2, 2]] * 4
    assert recorder.made == [(1,), (2,), (3,)]


def test_an_error_is_everybodys_and_an_interrupt_is_not():
    errors = [GlowError("no"), KeyboardInterrupt()]

    def before(shape):
        if errors:
            raise errors.pop(0)

    model, recorder = recorded(before=before)
    x = np.ones(2, np.float32)
    for kind in (GlowError, KeyboardInterrupt):
        with pytest.raises(kind):
            model(x)
    assert model(x).tolist() == [2, 2]
    assert len(recorder.made) == 3


def test_compilations_in_several_threads():
    model = compiler.compile(SUM, threads=1)
    failures = []

    def call(count):
        x, z, axes = arrays(count)
        if not np.array_equal(model(x, z, axes), (x + z).sum(1)):
            failures.append(count)

    threads = [threading.Thread(target=call, args=(1 + n % 3,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_programs_are_kept_on_disk_and_by_pickle(tmp_path, monkeypatch):
    folder = own_folder(tmp_path, monkeypatch)
    path = tmp_path / "parts.onnx"
    path.write_bytes(PARTS)
    x, n = np.ones((2, 3), np.float32), np.array([2, 5])
    model = glow.compile(path, threads=1)
    assert isinstance(model, glow.SpecializedModel)
    wanted = model(x, n, x)
    wait_for_stores()
    assert len(list(folder.iterdir())) == 4

    def refuse(*arguments):
        raise AssertionError("nothing is compiled again")

    monkeypatch.setattr(compiler, "compile_model", refuse)
    monkeypatch.setattr(compiler, "compile_step", refuse)
    found = glow.compile(path, threads=1)
    assert found.inputs == model.inputs
    pickled = pickle.loads(pickle.dumps(model))
    monkeypatch.setenv("GLOW_MODEL_CACHE_MB", "0")
    assert repr(pickled) == repr(model)
    for one in (found, pickled):
        monkeypatch.setenv("GLOW_MODEL_CACHE_MB", "0" if one is pickled else "64")
        for result, known in zip(one(x, n, x), wanted, strict=True):
            np.testing.assert_array_equal(result, known)


def test_a_file_that_changes_is_not_mixed_with_itself(tmp_path):
    path = tmp_path / "sum.onnx"
    path.write_bytes(SUM)
    model = compiler.compile(path, backend="interpreter")
    model(*arrays(4))
    path.write_bytes(PARTS)
    model(*arrays(4))
    with pytest.raises(GlowError, match="has changed since it was compiled"):
        model(*arrays(5))


def test_values_that_decide_no_shape_compile_nothing():
    """A padding value, Trilu's k and OneHot's values are ordinary operands."""
    model = model_of(
        "(float[N, 2] x, float v, int64 k, float[2] ends, int64[2] i) "
        "=> (float[A, B] y, float[C, D] z)",
        """
        pads = Constant<value_ints = [1, 0, 0, 2]>()
        padded = Pad(x, pads, v)
        y = Trilu<upper = 0>(padded, k)
        depth = Constant<value_int = 3>()
        z = OneHot(i, depth, ends)
        """,
    )
    compiled = compiler.compile(model, threads=1)
    x, i = np.arange(1, 7, dtype=np.float32).reshape(3, 2), np.array([2, -3])
    for v, k in ((1.5, 0), (np.inf, 1), (-2.0, -7)):
        ends = np.array([v, k], np.float32)
        y, z = compiled(x, np.float32(v), np.array(k), ends, i)
        padded = np.pad(x, ((1, 0), (0, 2)), constant_values=v)
        np.testing.assert_array_equal(y, np.tril(padded, k))
        np.testing.assert_array_equal(z, [[v, v, k], [k, v, v]])
    assert "1 of 16" in repr(compiled)


def test_declared_outputs_of_another_shape_are_warned_of():
    model = model_of("(float[N] x) => (float[7] y)", "y = Relu(x)")
    compiled = compiler.compile(model, backend="interpreter")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled(np.ones(7, np.float32))
    with pytest.warns(UserWarning, match="output 'y' is declared as 7, but"):
        compiled(np.ones(2, np.float32))
