"""The options of a compilation: one list of them, one place that refuses."""

from __future__ import annotations

import inspect
from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest
from places import ROOT

import glow
from glow import GlowError, compilation
from glow.backends.backend import backend_names, get_backend
from glow.options import CompileOptions, OptionKeywords
from glow.passes.quantization.options import QuantizationOptions
from glow.passes.quantization.profiling.profile import Profile
from glow.runtime.caches.model_cache import describe

SMALL = ROOT / "docs" / "small.mlir"
OWN = {
    "fills_outputs",
    "shares_constants",
    "free_weight_bytes",
    "shorter_shapes",
    "known_padding",
}
"""What models with open sizes and bundles ask for their programs, and no caller."""

NAMES = [part.name for part in fields(CompileOptions) if part.name not in OWN]


def test_callers_have_the_same_keywords() -> None:
    keywords = inspect.signature(glow.compile).parameters
    assert glow.compile is compilation.compile
    assert list(keywords)[1:] == NAMES
    assert list(OptionKeywords.__annotations__) == NAMES


def test_the_defaults_are_those_of_compile() -> None:
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(glow.compile).parameters.items()
        if name in NAMES
    }
    assert CompileOptions(**defaults) == CompileOptions()


def test_options_do_not_change() -> None:
    options: Any = CompileOptions()
    with pytest.raises(FrozenInstanceError):
        options.target = "avx2"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("backend", None, "backend must be a name, not None"),
        ("target", 3, "target must be a name, not 3"),
        ("threads", 0, "threads must be a whole number, 1 or more, not 0"),
        ("threads", 1.5, "threads must be a whole number"),
        ("memory_limit", -1, r"memory_limit must be a whole number \(of bytes\)"),
        ("numerics", "wrong", "unknown numerics 'wrong'; one of exact"),
        ("precision", "half", "unknown precision 'half'; one of f32"),
        ("quantize", 8, "quantize is a profile, its file or True, not int"),
        ("quantization", True, "quantization is a QuantizationOptions, not bool"),
        ("weight_growth", -1, "weight_growth must not be negative"),
        ("input_shapes", [1, 3], "input_shapes gives shapes by name, not list"),
        ("input_values", 5, "input_values gives values by name, not int"),
        ("specializations", 0, "specializations must be a whole number, 1 or more"),
    ],
)
def test_choices_that_are_refused(name: str, value: object, message: str) -> None:
    keywords: dict[str, Any] = {name: value}
    borders = (CompileOptions, lambda **options: glow.compile(SMALL, **options))
    for border in borders:
        with pytest.raises(GlowError, match=message):
            border(**keywords)


def test_growth_is_a_float() -> None:
    assert repr(CompileOptions(weight_growth=2).weight_growth) == "2.0"


OTHERS: dict[str, Any] = {
    "backend": "interpreter",
    "target": "avx2",
    "target_core": SMALL,
    "device": "cpu:0",
    "input_shapes": {"x": (1, 3)},
    "input_values": {"k": 5},
    "buckets": {"N": (4,)},
    "numerics": "exact",
    "quantize": Profile({}, 1, ()),
    "quantization": QuantizationOptions(schema="symmetric"),
    "precision": "bf16",
    "memory_limit": 1 << 20,
    "weight_growth": 2.0,
    "fills_outputs": True,
    "shares_constants": True,
    "free_weight_bytes": 1 << 20,
    "shorter_shapes": {"N": ({"x": (1, 2)}, 2, 3, 1)},
}


def test_all_but_threads_tell_stored_models_apart() -> None:
    """Whoever adds an option adds it to OTHERS, and the cache tells it apart."""
    assert {*OTHERS, "threads", "specializations", "known_padding"} == {*NAMES, *OWN}
    texts = {describe(CompileOptions().that_change_code())}
    for name, value in OTHERS.items():
        texts.add(describe(CompileOptions(**{name: value}).that_change_code()))
    assert len(texts) == 1 + len(OTHERS)
    same = CompileOptions(threads=7, specializations=3)
    assert describe(same.that_change_code()) in texts


def test_unknown_keywords_are_refused() -> None:
    keywords: dict[str, Any] = {"nmerics": "exact"}
    with pytest.raises(TypeError, match="nmerics"):
        glow.lower_to(glow.compiler.load(SMALL), "graph", **keywords)


def test_an_unknown_backend_is_one_line() -> None:
    with pytest.raises(GlowError) as caught:
        glow.compile(SMALL, backend="gpu")
    known = ", ".join(backend_names())
    assert caught.value.one_line() == f"unknown backend 'gpu'; there are {known}"
    assert "cpu, " in known
    with pytest.raises(GlowError, match="unknown backend 'gpu'"):
        get_backend("gpu")
