"""Variables of compiled models: live views, calls one after the other, state of their own."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from support.runtime.model_cache_testing import own_folder

import glow
from glow.backends.cpu.program import main_function
from glow.compilation import wait_for_stores
from glow.frontends.mlir import parse_text
from glow.runtime.native_function import native_function
from glow.universe import new_context

BACKENDS = ("cpu", "interpreter")

STEP = """
func.func @main(%x: tensor<8x4xf32>, %rate: tensor<f32>) -> tensor<8x4xf32> {
  %w = glow.variable @fc.weight initial dense<0.5> : tensor<4x4xf32>
  %m = glow.variable @"fc.weight/momentum" : tensor<4x4xf32>
  %n = glow.variable @step initial dense<[3]> : tensor<1xi64>
  %y = glow.matmul %x, %w : tensor<8x4xf32>
  %t = glow.transpose %x permutation [1, 0] : tensor<4x8xf32>
  %g = glow.matmul %t, %y : tensor<4x4xf32>
  %c = glow.splat 0.9 : tensor<f32>
  %m1 = glow.mul %m, %c : tensor<4x4xf32>
  %m2 = glow.add %m1, %g : tensor<4x4xf32>
  %u = glow.mul %m2, %rate : tensor<4x4xf32>
  %w2 = glow.sub %w, %u : tensor<4x4xf32>
  %one = glow.splat 1 : tensor<1xi64>
  %n2 = glow.add %n, %one : tensor<1xi64>
  glow.save %w2, @fc.weight
  glow.save %m2, @"fc.weight/momentum"
  glow.save %n2, @step
  func.return %y : tensor<8x4xf32>
}
"""

COUNTER = """
func.func @main(%x: tensor<1xi64>) -> tensor<1xi64> {
  %n = glow.variable @n : tensor<1xi64>
  %0 = glow.add %n, %x : tensor<1xi64>
  glow.save %0, @n
  func.return %0 : tensor<1xi64>
}
"""


def compiled(text: str, backend: str = "cpu") -> glow.CompiledModel:
    module = parse_text(new_context(), text, "test.mlir")
    return glow.compile(module, backend=backend)


def inputs(seed: int = 0):
    rows = np.random.default_rng(seed).standard_normal((8, 4)).astype(np.float32)
    return rows, np.array(0.01, np.float32)


def states(model):
    return {name: view.copy() for name, view in model.variables.items()}


@pytest.fixture(scope="module")
def step():
    return compiled(STEP)


def test_backends_keep_the_same_state(step) -> None:
    native, reference = copy.deepcopy(step), compiled(STEP, "interpreter")
    assert list(native.variables) == ["fc.weight", "fc.weight/momentum", "step"]
    views = dict(native.variables)
    for call in range(4):
        given = inputs(call)
        result = native(*given)
        np.testing.assert_allclose(result, reference(*given), rtol=1e-5, atol=1e-6)
        for name, expected in reference.variables.items():
            np.testing.assert_allclose(views[name], expected, rtol=1e-5, atol=1e-6)
    assert views["step"].tolist() == [7]
    assert all(view is native.variables[name] for name, view in views.items())


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_written_into_a_view_is_read(backend) -> None:
    model = compiled(COUNTER, backend)
    view = model.variables["n"]
    one = np.ones(1, np.int64)
    assert [int(model(one)[0]) for _ in range(3)] == [1, 2, 3]
    view[0] = 40
    assert int(model(one)[0]) == view[0] == 41
    with pytest.raises(TypeError):
        model.variables["n"] = one


@pytest.mark.parametrize("backend", BACKENDS)
def test_calls_of_several_threads_are_one_after_the_other(backend) -> None:
    model, one = compiled(COUNTER, backend), np.ones(1, np.int64)
    with ThreadPoolExecutor(8) as pool:
        results = [int(r[0]) for r in pool.map(lambda _: model(one), range(200))]
    assert sorted(results) == list(range(1, 201))


def test_results_do_not_depend_on_threads(step) -> None:
    with patch.object(main_function, "serial_bytes", return_value=0):
        program = replace(compiled(STEP).function.stored(), is_small=False)
    seen = []
    for threads in (1, 2, 3):
        function = native_function(program, threads)
        for call in range(3):
            function.run(inputs(call))
        seen.append({name: v.tobytes() for name, v in function.variables.items()})
    assert seen[0] == seen[1] == seen[2]


@pytest.mark.parametrize("backend", BACKENDS)
def test_copies_have_state_of_their_own(backend) -> None:
    model = compiled(STEP, backend)
    model(*inputs())
    before = states(model)
    assert copy.copy(model) is model
    other = copy.deepcopy(model)
    np.testing.assert_equal(states(other), before)
    result = other(*inputs(1))
    np.testing.assert_equal(states(model), before)
    np.testing.assert_array_equal(model(*inputs(1)), result)
    np.testing.assert_equal(states(model), states(other))


def test_pickled_models_keep_their_state(step) -> None:
    model = copy.deepcopy(step)
    model(*inputs())
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_equal(states(other), states(model))
    np.testing.assert_array_equal(other(*inputs(1)), model(*inputs(1)))


def test_models_of_one_cache_entry_have_separate_state(tmp_path, monkeypatch) -> None:
    own_folder(tmp_path, monkeypatch)
    path = tmp_path / "step.mlir"
    path.write_text(STEP)
    first = glow.compile(path)
    first(*inputs())
    changed = states(first)
    wait_for_stores()
    with patch("glow.compiler.compile_model", side_effect=AssertionError):
        second, third = glow.compile(path), glow.compile(path)
    assert np.all(second.variables["fc.weight"] == 0.5)
    assert second.variables["step"].tolist() == [3]
    second(*inputs())
    np.testing.assert_equal(states(second), changed)
    np.testing.assert_equal(states(first), changed)
    assert third.variables["step"].tolist() == [3]


def test_arrays_of_callers_are_no_variables(step) -> None:
    model = copy.deepcopy(step)
    rows, rate = inputs()
    out = np.empty_like(rows)
    model.run_into([rows, rate], [out])
    expected = copy.deepcopy(step)(rows, rate)
    np.testing.assert_array_equal(out, expected)
    counter = compiled(COUNTER)
    view = counter.variables["n"]
    for given, what in (
        ([view], "input 0"),
        ([np.ones(1, np.int64)], "output 0"),
    ):
        target = view if what.startswith("out") else np.empty(1, np.int64)
        with pytest.raises(glow.GlowError, match=f"{what} must not share memory"):
            counter.run_into(given, [target])


def test_models_without_variables_have_none() -> None:
    text = "func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {\n"
    model = compiled(text + "func.return %x : tensor<1xf32>\n}")
    assert dict(model.variables) == {}
    assert copy.deepcopy(model) is model


LOOKUP = """
func.func @main(%i: tensor<2xi64>) -> tensor<2x4xf32> {
  %table = glow.variable @table initial dense<1.0> : tensor<8x4xf32>
  %n = glow.variable @n : tensor<1xi64>
  %rows = glow.gather %table, %i axis 0 : tensor<2x4xf32>
  %mean = glow.reduce_mean %rows axes [0, 1] : tensor<f32>
  %new = glow.add %table, %mean : tensor<8x4xf32>
  glow.save %new, @table
  %one = glow.splat 1 : tensor<1xi64>
  %m = glow.add %n, %one : tensor<1xi64>
  glow.save %m, @n
  func.return %rows : tensor<2x4xf32>
}
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_error_leaves_variables_as_they_are(backend) -> None:
    model = compiled(LOOKUP, backend)
    right, wrong = np.array([0, 7]), np.array([0, 8])
    model(right)
    before = states(model)
    assert before["table"][0, 0] == 2
    for _ in range(2):
        with pytest.raises(glow.GlowError, match="outside"):
            model(wrong)
        np.testing.assert_equal(states(model), before)
    model(right)
    assert model.variables["table"][0, 0] == 4
