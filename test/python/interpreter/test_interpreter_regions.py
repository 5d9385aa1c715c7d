"""The interpreter's scalar regions: integers, comparisons, conversions, rounding."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from support.nodes.differential import Array, random_array
from support.nodes.interpreter_testing import parse

from glow.interpreter import run


def run_region(body: str, element: str, result: str, *inputs: Array) -> Array:
    """The result of `%r = ...` on elements `%a`, `%b`, ... of the inputs."""
    names = "abc"[: len(inputs)]
    size = len(inputs[0])
    arguments = ", ".join(f"%{name}: {element}" for name in names)
    parameters = ", ".join(f"%{n}{n}: tensor<{size}x{element}>" for n in names)
    operands = ", ".join(f"%{n}{n}" for n in names)
    module = parse(f"""
    func.func @main({parameters}) -> tensor<{size}x{result}> {{
      %0 = glow.fused {operands} {{
      ^bb0({arguments}):
        {body}
        glow.yield %r
      }} : tensor<{size}x{result}>
      func.return %0 : tensor<{size}x{result}>
    }}""")
    return run(module, inputs)[0]


INTEGERS = np.array([-128, -7, -3, -1, 0, 1, 3, 7, 127], np.int8)

LEFT, RIGHT = (side.ravel() for side in np.meshgrid(INTEGERS, INTEGERS))


def wrap(value: int) -> int:
    """The value of the low eight bits as a signed integer."""
    return (value + 128) % 256 - 128


INTEGER_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "divsi": lambda a, b: int(a / b) if b else 0,
    "divui": lambda a, b: (a % 256) // (b % 256) if b else 0,
    "floordivsi": lambda a, b: a // b if b else 0,
    "remui": lambda a, b: (a % 256) % (b % 256) if b else 0,
    "remsi": lambda a, b: int(math.fmod(a, b)) if b else 0,
    "maxsi": max,
    "minsi": min,
    "maxui": lambda a, b: max(a % 256, b % 256),
    "minui": lambda a, b: min(a % 256, b % 256),
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
}


@pytest.mark.parametrize("mnemonic", INTEGER_OPERATIONS)
def test_integer_operation(mnemonic: str) -> None:
    function = INTEGER_OPERATIONS[mnemonic]
    result = run_region(f"%r = arith.{mnemonic} %a, %b : i8", "i8", "i8", LEFT, RIGHT)
    pairs = zip(LEFT.tolist(), RIGHT.tolist(), strict=True)
    assert result.tolist() == [wrap(function(a, b)) for a, b in pairs]


@pytest.mark.parametrize(
    ("predicate", "function"),
    [
        ("eq", lambda a, b: a == b),
        ("slt", lambda a, b: a < b),
        ("sge", lambda a, b: a >= b),
        ("ult", lambda a, b: a % 256 < b % 256),
        ("uge", lambda a, b: a % 256 >= b % 256),
    ],
)
def test_integer_comparison(
    predicate: str, function: Callable[[int, int], bool]
) -> None:
    body = f"%r = arith.cmpi {predicate}, %a, %b : i8"
    result = run_region(body, "i8", "i1", LEFT, RIGHT)
    pairs = zip(LEFT.tolist(), RIGHT.tolist(), strict=True)
    assert result.tolist() == [function(a, b) for a, b in pairs]


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("oeq", [False, True, False]),
        ("olt", [True, False, False]),
        ("ult", [True, False, True]),
        ("une", [True, False, True]),
        ("one", [True, False, False]),
        ("ord", [True, True, False]),
        ("uno", [False, False, True]),
    ],
)
def test_float_comparison(predicate: str, expected: list[bool]) -> None:
    x, y = np.array([[1, 2, 3], [2, 2, np.nan]], np.float32)
    body = f"%r = arith.cmpf {predicate}, %a, %b : f32"
    assert run_region(body, "f32", "i1", x, y).tolist() == expected


@pytest.mark.parametrize(
    ("body", "result", "expected"),
    [
        ("%r = arith.extsi %a : i8 to i32", "i32", [-128, -1, 5]),
        ("%r = arith.extui %a : i8 to i32", "i32", [128, 255, 5]),
        ("%r = arith.sitofp %a : i8 to f32", "f32", [-128.0, -1.0, 5.0]),
        ("%r = arith.uitofp %a : i8 to f32", "f32", [128.0, 255.0, 5.0]),
        ("%r = math.absi %a : i8", "i8", [-128, 1, 5]),
    ],
)
def test_integer_conversion(body: str, result: str, expected: list[float]) -> None:
    x = np.array([-128, -1, 5], np.int8)
    assert run_region(body, "i8", result, x).tolist() == expected


@pytest.mark.parametrize(
    ("body", "result", "expected"),
    [
        ("%r = arith.addi %a, %b : i1", "i1", [False, True, True, False]),
        ("%r = arith.subi %a, %b : i1", "i1", [False, True, True, False]),
        ("%r = arith.muli %a, %b : i1", "i1", [False, False, False, True]),
        ("%r = arith.extsi %a : i1 to i8", "i8", [0, 0, -1, -1]),
        ("%r = arith.extui %a : i1 to i8", "i8", [0, 0, 1, 1]),
        ("%r = arith.sitofp %a : i1 to f32", "f32", [0.0, 0.0, -1.0, -1.0]),
        ("%r = arith.cmpi slt, %a, %b : i1", "i1", [False, False, True, False]),
        ("%r = arith.cmpi ult, %a, %b : i1", "i1", [False, True, False, False]),
    ],
)
def test_booleans(body: str, result: str, expected: list[float]) -> None:
    x, y = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], np.bool_)
    assert run_region(body, "i1", result, x, y).tolist() == expected


def test_truncation_keeps_the_low_bit() -> None:
    x = np.array([0, 1, 2, 3, -1], np.int8)
    result = run_region("%r = arith.trunci %a : i8 to i1", "i8", "i1", x)
    assert result.tolist() == [False, True, False, True, True]


def test_results_are_the_callers_own() -> None:
    x = random_array((2, 3))
    module = parse("""
    func.func @main(%x: tensor<2x3xf32>) -> (tensor<6xf32>, tensor<2x3xf32>) {
      %0 = glow.reshape %x : tensor<6xf32>
      func.return %0, %x : tensor<6xf32>, tensor<2x3xf32>
    }""")
    for result in run(module, [x]):
        assert result.flags.writeable
        assert not np.shares_memory(result, x)


def test_float_conversions_saturate() -> None:
    x = np.array([-1.75, 1.75, 300.0, -300.0, np.nan, np.inf], np.float32)
    result = run_region("%r = arith.fptosi %a : f32 to i8", "f32", "i8", x)
    assert result.tolist() == [-1, 1, 127, -128, 0, 127]


def test_regions_round_each_step() -> None:
    x = np.array([1.0, 3.0], np.float32)
    body = """%t = arith.truncf %a : f32 to bf16
        %k = arith.constant 0.001 : bf16
        %s = arith.addf %t, %k : bf16
        %r = arith.extf %s : bf16 to f32"""
    np.testing.assert_array_equal(run_region(body, "f32", "f32", x), x)


def test_fused_multiply_add_rounds_once() -> None:
    x = np.array([1 + 2**-12], np.float32)
    y = np.array([-(1 + 2**-11)], np.float32)
    result = run_region("%r = math.fma %a, %a, %b : f32", "f32", "f32", x, y)
    assert result[0] == 2**-24


@pytest.mark.parametrize(
    ("mnemonic", "function"),
    [
        ("exp", math.exp),
        ("exp2", lambda x: 2**x),
        ("log1p", math.log1p),
        ("erf", math.erf),
        ("tanh", math.tanh),
        ("floor", math.floor),
        ("roundeven", round),
        ("round", lambda x: math.floor(x + 0.5)),
        ("sinh", math.sinh),
        ("rsqrt", lambda x: 1 / math.sqrt(x)),
    ],
)
def test_math_functions_are_correctly_rounded(
    mnemonic: str, function: Callable[[float], float]
) -> None:
    x = np.abs(random_array((50,)))
    result = run_region(f"%r = math.{mnemonic} %a : f32", "f32", "f32", x)
    expected = np.array([function(float(element)) for element in x], np.float32)
    np.testing.assert_array_equal(result, expected)


def test_floats_become_unsigned_integers_without_signs() -> None:
    """Above the signed range, too: bits without a sign, which a cast at the border reads."""
    x = np.array([0, 1, 126.9, 127, 128, 200, 255], np.float32)
    body = (
        "%s = arith.fptoui %a : f32 to i8\n"
        "%r = builtin.unrealized_conversion_cast %s : i8 to ui8"
    )
    result = run_region(body, "f32", "ui8", x)
    np.testing.assert_array_equal(result, x.astype(np.uint8))
