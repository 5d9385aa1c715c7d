"""The choice of numerics: names, and how far each keeps to direct sums."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from support.kernels.kernel_testing import relative_error
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from benchmarks.adversarial import BUDGET, CASES, operands, worst_row
from benchmarks.adversarial import LAYERS as UNEVEN_LAYERS
from glow.backends.cpu.layout.packed_weights import packings_of
from glow.backends.cpu.layout.packing import TargetPacker
from glow.backends.cpu.reference.nodes import cpu_functions
from glow.compiled_model import CompiledModel
from glow.compiler import compile, context, load, lower_to
from glow.dialects.errors import GlowError
from glow.dialects.numerics import NUMERICS, check_numerics
from glow.dialects.weights import weights_of
from glow.interpreter import run
from glow.lowering.target.target import Target

LAYERS = """
func.func @main(%x: tensor<2x1024xf32>) -> tensor<2x640xf32> {
  %w = glow.constant @w : tensor<1024x768xf32>
  %v = glow.constant @v : tensor<768x640xf32>
  %y = glow.matmul %x, %w : tensor<2x768xf32>
  %z = glow.relu %y : tensor<2x768xf32>
  %r = glow.matmul %z, %v : tensor<2x640xf32>
  func.return %r : tensor<2x640xf32>
}
"""
"""Products of few rows with weights that no near cache holds."""


def layers() -> ModuleOp:
    module = Parser(context(), LAYERS).parse_module()
    random, table = np.random.default_rng(0), weights_of(module)
    for name, shape in (("w", (1024, 768)), ("v", (768, 640))):
        table[name] = random.standard_normal(shape).astype(np.float32)
    return module


def rows() -> np.ndarray:
    return np.random.default_rng(1).standard_normal((2, 1024)).astype(np.float32)


@pytest.mark.parametrize("name", NUMERICS)
def test_names(name: str) -> None:
    assert check_numerics(name) == name


def test_other_names_are_refused() -> None:
    with pytest.raises(GlowError, match="unknown numerics 'wrong'"):
        check_numerics("wrong")


@pytest.mark.parametrize("numerics", NUMERICS)
@pytest.mark.parametrize("target", ["avx512", "avx2", "neon"])
def test_interpreter_and_stored_weights(target: str, numerics: str) -> None:
    """Rounding weights is the only difference, and only `fast` rounds them."""
    (expected,) = run(layers(), [rows()])
    module = layers()
    lower_to(module, "lowered", target=target, numerics=numerics)
    own = cpu_functions(packings_of(TargetPacker(Target.from_string(target))))
    (found,) = run(module, [rows()], own=own)
    error = relative_error(found, expected)
    assert error < BUDGET[numerics]
    assert (error > BUDGET["default"]) == (numerics == "fast")


@pytest.mark.parametrize("numerics", NUMERICS)
def test_native_code_keeps_the_budget(numerics: str) -> None:
    (expected,) = run(layers(), [rows()])
    model = compile(layers(), threads=1, numerics=numerics)
    assert relative_error(np.asarray(model(rows())), expected) < BUDGET[numerics]


@cache
def compiled(layer: str, numerics: str, weights: bytes) -> CompiledModel:
    """A layer with those weights: many cases have the same ones."""
    chosen = UNEVEN_LAYERS[layer]
    w = np.frombuffer(weights, np.float32).reshape(chosen.w_shape)
    return compile(chosen.model(w), threads=1, numerics=numerics)


@pytest.mark.parametrize("numerics", NUMERICS)
@pytest.mark.parametrize("name", UNEVEN_LAYERS)
def test_rows_keep_the_budget(name: str, numerics: str) -> None:
    """On inputs and weights of very uneven sizes, and with an infinity or NaN."""
    layer, errors = UNEVEN_LAYERS[name], dict[str, float]()
    for case in CASES:
        x, w = operands(layer, case)
        model = compiled(name, numerics, w.tobytes())
        errors[case] = worst_row(layer, x, w, np.asarray(model(x)))
    wrong = {k: v for k, v in errors.items() if not v <= BUDGET[numerics]}
    assert not wrong


@pytest.mark.parametrize("outlier", [60.0, 125.0])
@pytest.mark.parametrize("name", UNEVEN_LAYERS)
def test_mild_outliers_keep_the_budget(
    name: str, outlier: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that are just not far enough from the others for direct sums."""
    monkeypatch.setattr("benchmarks.adversarial.OUTLIER", outlier)
    layer = UNEVEN_LAYERS[name]
    for case in ("row", "half of the rows", "row beside a feature"):
        x, w = operands(layer, case)
        y = np.asarray(compiled(name, "default", w.tobytes())(x))
        assert worst_row(layer, x, w, y) <= BUDGET["default"]


def test_layers_are_those_with_few_multiplications() -> None:
    """Else the test above says nothing."""
    for name, layer in UNEVEN_LAYERS.items():
        _, w = operands(layer, "normal")
        module = load(layer.model(w))
        lower_to(module, "lowered", target="avx512")
        fast = "cpu.strassen_matmul" if layer.is_product else "cpu.winograd_conv2d"
        assert fast in {op.name for op in module.walk()}, name


def test_results_with_outliers_do_not_depend_on_threads() -> None:
    for name, layer in UNEVEN_LAYERS.items():
        x, w = operands(layer, "element")
        results = [np.asarray(compile(layer.model(w), threads=n)(x)) for n in (1, 2, 3)]
        for result in results[1:]:
            np.testing.assert_array_equal(result, results[0], err_msg=name)
