"""Executes what the lowering of every loops-level op produces, against NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.programs.loops_testing import (
    DTYPES,
    SIZES,
    element_wise,
    execute,
    parse_loops,
    sample,
)
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException

from glow.lowering.target.target import Target
from glow.runtime.testing import compile_function, run_function
from glow.universe import new_context

BINARY_FLOAT = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "math.copysign": np.copysign,
}


@pytest.mark.parametrize("name", BINARY_FLOAT)
@pytest.mark.parametrize("size", SIZES)
def test_binary_float(name: str, size: int) -> None:
    a, b = sample("f32", size), sample("f32", size, 1)
    got = execute(f"%r = {name} %a, %b : {{0}}", "f32", ("f32", a), ("f32", b))
    np.testing.assert_array_equal(got, BINARY_FLOAT[name](a, b))


@pytest.mark.parametrize("element", ["f16", "bf16", "f64"])
@pytest.mark.parametrize("name", ["arith.addf", "arith.mulf", "arith.maximumf"])
def test_float_types(name: str, element: str) -> None:
    a, b = sample(element, 24), sample(element, 24, 1)
    got = execute(f"%r = {name} %a, %b : {{0}}", element, (element, a), (element, b))
    expected = BINARY_FLOAT[name](a.astype(np.float64), b.astype(np.float64))
    np.testing.assert_array_equal(got, expected.astype(a.dtype))


def test_nan_in_minimum_and_maximum() -> None:
    nan = np.float32(np.nan)
    a = np.array([nan, 1, nan, -0.0], np.float32)
    b = np.array([2, nan, nan, 0.0], np.float32)
    inputs = (("f32", a), ("f32", b))
    for name in ("maximumf", "minimumf", "maxnumf", "minnumf"):
        got = execute(f"%r = arith.{name} %a, %b : {{0}}", "f32", *inputs)
        expected = BINARY_FLOAT[f"arith.{name}"](a, b)
        np.testing.assert_array_equal(got[:3], expected[:3])
    got = execute("%r = arith.maximumf %a, %b : {0}", "f32", *inputs)
    assert not np.signbit(got[3])


def test_fastmath_reaches_llvm() -> None:
    flagged = "%r = arith.maxnumf %a, %a fastmath<nnan> : {0}"
    assert (
        "call nnan " in compile_function(element_wise(flagged, ["f32"], "f32", 4)).text
    )
    plain = "%r = arith.maxnumf %a, %a : {0}"
    assert "nnan" not in compile_function(element_wise(plain, ["f32"], "f32", 4)).text


BINARY_INTEGER = {
    "addi": np.add,
    "subi": np.subtract,
    "muli": np.multiply,
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
    "minsi": np.minimum,
    "maxsi": np.maximum,
    "divsi": lambda a, b: np.trunc(a / b).astype(a.dtype),
    "remsi": np.fmod,
    "floordivsi": np.floor_divide,
    "ceildivsi": lambda a, b: np.ceil(a / b).astype(a.dtype),
}


@pytest.mark.parametrize("name", BINARY_INTEGER)
@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64", "index"])
def test_binary_integer(name: str, element: str) -> None:
    a, b = sample(element, 24), sample(element, 24, 1)
    body = f"%r = arith.{name} %a, %b : {{0}}"
    got = execute(body, element, (element, a), (element, b))
    np.testing.assert_array_equal(got, BINARY_INTEGER[name](a, b))


BINARY_UNSIGNED = {
    "divui": np.floor_divide,
    "remui": np.remainder,
    "minui": np.minimum,
    "maxui": np.maximum,
    "ceildivui": lambda a, b: -(-a.astype(np.int64) // b),
}


@pytest.mark.parametrize("name", BINARY_UNSIGNED)
def test_binary_unsigned(name: str) -> None:
    a, b = sample("i8", 31).view(np.uint8), sample("i8", 31, 1).view(np.uint8)
    a[0] = 0
    body = f"%r = arith.{name} %a, %b : {{0}}"
    got = execute(body, "i8", ("i8", a), ("i8", b)).view(np.uint8)
    np.testing.assert_array_equal(got, BINARY_UNSIGNED[name](a, b))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("shli", lambda a, n: a << n),
        ("shrsi", lambda a, n: a >> n),
        ("shrui", lambda a, n: (a.view(np.uint32) >> n.view(np.uint32)).view(np.int32)),
    ],
)
def test_shifts(name: str, expected: object) -> None:
    a, n = sample("i32", 24), np.abs(sample("i32", 24, 1)) % 32
    n = n.astype(np.int32)
    got = execute(f"%r = arith.{name} %a, %b : {{0}}", "i32", ("i32", a), ("i32", n))
    assert callable(expected)
    np.testing.assert_array_equal(got, expected(a, n))


@pytest.mark.parametrize("size", SIZES)
def test_compare_and_select(size: int) -> None:
    a, b = sample("f32", size), sample("f32", size, 1)
    body = """%c = arith.cmpf olt, %a, %b : {0}
    %r = arith.select %c, %a, %b : vector<%dxi1>, {0}""".replace("%d", str(size))
    got = execute(body, "f32", ("f32", a), ("f32", b))
    np.testing.assert_array_equal(got, np.minimum(a, b))


@pytest.mark.parametrize("predicate", ["oeq", "une", "ult", "ord", "uno", "oge"])
def test_float_predicates(predicate: str) -> None:
    a = np.array([1, 2, np.nan, 3, np.nan], np.float32)
    b = np.array([1, 3, 1, 2, np.nan], np.float32)
    unordered = np.isnan(a) | np.isnan(b)
    expected = {
        "oeq": (a == b) & ~unordered,
        "une": (a != b) | unordered,
        "ult": (a < b) | unordered,
        "ord": ~unordered,
        "uno": unordered,
        "oge": (a >= b) & ~unordered,
    }[predicate]
    body = f"%r = arith.cmpf {predicate}, %a, %b : {{0}}"
    got = execute(body, "i1", ("f32", a), ("f32", b))
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("predicate", ["eq", "ne", "slt", "sge", "ult", "uge"])
def test_integer_predicates(predicate: str) -> None:
    a, b = sample("i8", 31), sample("i8", 31, 1)
    b[:5] = a[:5]
    ua, ub = a.view(np.uint8), b.view(np.uint8)
    expected = {
        "eq": a == b,
        "ne": a != b,
        "slt": a < b,
        "sge": a >= b,
        "ult": ua < ub,
        "uge": ua >= ub,
    }[predicate]
    body = f"%r = arith.cmpi {predicate}, %a, %b : {{0}}"
    np.testing.assert_array_equal(execute(body, "i1", ("i8", a), ("i8", b)), expected)


UNARY_MATH = {
    "absf": np.abs,
    "ceil": np.ceil,
    "floor": np.floor,
    "trunc": np.trunc,
    "roundeven": np.rint,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "cbrt": np.cbrt,
    "erf": np.vectorize(math.erf),
}


@pytest.mark.parametrize("name", UNARY_MATH)
@pytest.mark.parametrize("size", [1, 24])
def test_unary_math(name: str, size: int) -> None:
    a = sample("f32", size)
    got = execute(f"%r = math.{name} %a : {{0}}", "f32", ("f32", a))
    expected = UNARY_MATH[name](a.astype(np.float64))
    np.testing.assert_allclose(got, expected, rtol=3e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["sqrt", "rsqrt", "log", "log2", "log10", "log1p"])
def test_unary_math_of_positive(name: str) -> None:
    a = np.abs(sample("f32", 24)) + np.float32(0.1)
    got = execute(f"%r = math.{name} %a : {{0}}", "f32", ("f32", a))
    wide = a.astype(np.float64)
    expected = 1 / np.sqrt(wide) if name == "rsqrt" else getattr(np, name)(wide)
    np.testing.assert_allclose(got, expected, rtol=3e-6, atol=1e-7)


def test_library_call_of_narrow_float() -> None:
    a = sample("bf16", 5)
    got = execute("%r = math.erf %a : {0}", "bf16", ("bf16", a))
    expected = np.vectorize(math.erf)(a.astype(np.float64))
    np.testing.assert_allclose(got.astype(np.float64), expected, rtol=1e-2)


def test_power_and_fma() -> None:
    a, b = np.abs(sample("f32", 24)), sample("f32", 24, 1)
    inputs = (("f32", a), ("f32", b))
    got = execute("%r = math.powf %a, %b : {0}", "f32", *inputs)
    np.testing.assert_allclose(got, np.power(a, b), rtol=1e-5)
    for name in ("math.fma", "vector.fma"):
        got = execute(f"%r = {name} %a, %b, %b : {{0}}", "f32", *inputs)
        expected = a.astype(np.float64) * b + b
        np.testing.assert_array_equal(got, expected.astype(np.float32))


def test_integer_math() -> None:
    a = sample("i32", 24)
    got = execute("%r = math.absi %a : {0}", "i32", ("i32", a))
    np.testing.assert_array_equal(got, np.abs(a))
    got = execute("%r = math.ctpop %a : {0}", "i32", ("i32", a))
    np.testing.assert_array_equal(got, [bin(int(v) & 0xFFFFFFFF).count("1") for v in a])


REDUCTIONS = {
    "add": ("f32", np.sum),
    "mul": ("f32", np.prod),
    "maxnumf": ("f32", np.max),
    "minimumf": ("f32", np.min),
    "maxsi": ("i32", np.max),
    "minsi": ("i32", np.min),
    "xor": ("i32", np.bitwise_xor.reduce),
    "and": ("i32", np.bitwise_and.reduce),
}


@pytest.mark.parametrize("kind", REDUCTIONS)
@pytest.mark.parametrize("size", SIZES)
def test_reduction(kind: str, size: int) -> None:
    element, expected = REDUCTIONS[kind]
    text = f"""
    func.func @f(%y: memref<1x{element}>, %x: memref<{size}x{element}>) {{
      %c0 = arith.constant 0 : index
      %v = vector.load %x[%c0] : memref<{size}x{element}>, vector<{size}x{element}>
      %s = vector.reduction <{kind}>, %v : vector<{size}x{element}> into {element}
      memref.store %s, %y[%c0] : memref<1x{element}>
      func.return
    }}"""
    x, y = sample(element, size), np.zeros(1, DTYPES[element])
    run_function(parse_loops(text), [y, x])
    np.testing.assert_allclose(y[0], expected(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("left", "right", "out"), [(16, 16, 24), (5, 3, 7), (24, 1, 3)]
)
def test_shuffle(left: int, right: int, out: int) -> None:
    mask = [int(k) for k in np.random.default_rng(0).integers(0, left + right, out)]
    text = f"""
    func.func @f(%y: memref<{out}xf32>, %a: memref<{left}xf32>, %b: memref<{right}xf32>) {{
      %c0 = arith.constant 0 : index
      %v = vector.load %a[%c0] : memref<{left}xf32>, vector<{left}xf32>
      %w = vector.load %b[%c0] : memref<{right}xf32>, vector<{right}xf32>
      %s = vector.shuffle %v, %w {mask} : vector<{left}xf32>, vector<{right}xf32>
      vector.store %s, %y[%c0] : memref<{out}xf32>, vector<{out}xf32>
      func.return
    }}"""
    a, b, y = sample("f32", left), sample("f32", right, 1), np.zeros(out, np.float32)
    run_function(parse_loops(text), [y, a, b])
    np.testing.assert_array_equal(y, np.concatenate([a, b])[mask])


def test_unknown_op_is_named() -> None:
    text = """
    func.func @f(%x: memref<4xf32>) {
      %d = memref.alloc() : memref<4xf32>
      func.return
    }"""
    module = Parser(new_context(), text).parse_module()
    with pytest.raises(DiagnosticException, match=r"memref\.alloc \(in @f\)"):
        run_function(module, [np.zeros(4, np.float32)])


@pytest.mark.parametrize("name", ["avx2", "scalar"])
def test_other_x86_targets(name: str) -> None:
    """Needs an x86 machine with AVX2, as every machine that runs these tests is."""
    a = sample("f32", 31)
    target = Target.from_string(name)
    module = element_wise("%r = arith.addf %a, %a : {0}", ["f32"], "f32", 31)
    y = np.zeros(31, np.float32)
    compile_function(module, target=target)(y, a)
    np.testing.assert_array_equal(y, a + a)
