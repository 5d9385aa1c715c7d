"""Executes the conversions between element types of the loops level, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from support.programs.loops_testing import DTYPES, execute, parse_loops, sample

from glow.runtime.testing import run_function

CASTS = [
    ("extf", "f32", "f64"),
    ("extf", "bf16", "f32"),
    ("extf", "f16", "f32"),
    ("truncf", "f32", "bf16"),
    ("truncf", "f32", "f16"),
    ("truncf", "f64", "f32"),
    ("extsi", "i8", "i32"),
    ("trunci", "i32", "i8"),
    ("sitofp", "i8", "f32"),
    ("sitofp", "i32", "f32"),
    ("fptosi", "f32", "i8"),
    ("fptosi", "f32", "i32"),
    ("index_cast", "i32", "index"),
    ("index_cast", "index", "i32"),
]


@pytest.mark.parametrize(("name", "before", "after"), CASTS)
@pytest.mark.parametrize("size", [1, 24, 64])
def test_casts(name: str, before: str, after: str, size: int) -> None:
    a = sample(before, size)
    got = execute(f"%r = arith.{name} %a : {{0}} to {{r}}", after, (before, a))
    np.testing.assert_array_equal(got, a.astype(DTYPES[after]))


@pytest.mark.parametrize("name", ["extui", "uitofp"])
def test_unsigned_casts(name: str) -> None:
    after = "i32" if name == "extui" else "f32"
    a = sample("i8", 24)
    got = execute(f"%r = arith.{name} %a : {{0}} to {{r}}", after, ("i8", a))
    np.testing.assert_array_equal(got, a.view(np.uint8).astype(DTYPES[after]))


def test_float_to_unsigned() -> None:
    a = np.abs(sample("f32", 24))
    got = execute("%r = arith.fptoui %a : {0} to {r}", "i8", ("f32", a))
    np.testing.assert_array_equal(got.view(np.uint8), a.astype(np.uint8))


def test_bitcasts() -> None:
    a = sample("f32", 24)
    got = execute("%r = arith.bitcast %a : {0} to {r}", "i32", ("f32", a))
    np.testing.assert_array_equal(got, a.view(np.int32))
    text = """
    func.func @f(%y: memref<80xi8>, %x: memref<20xi32>) {
      %c0 = arith.constant 0 : index
      %v = vector.load %x[%c0] : memref<20xi32>, vector<20xi32>
      %b = vector.bitcast %v : vector<20xi32> to vector<80xi8>
      vector.store %b, %y[%c0] : memref<80xi8>, vector<80xi8>
      func.return
    }"""
    x, y = sample("i32", 20), np.zeros(80, np.int8)
    run_function(parse_loops(text), [y, x])
    np.testing.assert_array_equal(y, x.view(np.int8))
