"""Executes control flow of the loops level: slices, calls, loops, conditions, indices."""

from __future__ import annotations

import numpy as np
import pytest
from support.programs.loops_testing import parse_loops, sample

from glow.runtime.testing import compile_function, run_function

SLICES = """
func.func private @scale(%y: memref<40x16xf32>, %x: memref<40x16xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %lo to %hi step %c1 {
    %v = vector.load %x[%i, %c0] : memref<40x16xf32>, vector<16xf32>
    %w = arith.addf %v, %v : vector<16xf32>
    vector.store %w, %y[%i, %c0] : memref<40x16xf32>, vector<16xf32>
  }
  func.return
}"""


@pytest.mark.parametrize(("lo", "hi"), [(0, 40), (3, 7), (5, 5), (9, 2), (39, 40)])
def test_dynamic_slices(lo: int, hi: int) -> None:
    x, y = sample("f32", 640).reshape(40, 16), np.zeros((40, 16), np.float32)
    run_function(parse_loops(SLICES), [y, x], lo, hi)
    expected = np.zeros_like(y)
    expected[lo:hi] = 2 * x[lo:hi]
    np.testing.assert_array_equal(y, expected)


def test_call_passes_the_first_element() -> None:
    caller = """
    func.func @f(%bytes: memref<8192xi8>, %shift: index) {
      %c0 = arith.constant 0 : index
      %c40 = arith.constant 40 : index
      %x = memref.view %bytes[%c0][] : memref<8192xi8> to memref<40x16xf32>
      %y = memref.view %bytes[%shift][] : memref<8192xi8> to memref<40x16xf32>
      func.call @scale(%y, %x, %c0, %c40)
        : (memref<40x16xf32>, memref<40x16xf32>, index, index) -> ()
      func.return
    }"""
    data = np.zeros(2048, np.float32)
    data[:640] = x = sample("f32", 640)
    compile_function(parse_loops(caller + SLICES), "f")(data, 4096)
    np.testing.assert_array_equal(data[1024 : 1024 + 640], 2 * x)


@pytest.mark.parametrize("trips", [0, 1, 5])
def test_loop_carries_values(trips: int) -> None:
    """Static and dynamic bounds; a vector, a scalar and an index are carried."""
    text = """
    func.func @f(%y: memref<24xf32>, %z: memref<2xindex>, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %trips = arith.constant TRIPS : index
      %one = arith.constant dense<1.0> : vector<24xf32>
      %zero = arith.constant dense<0.0> : vector<24xf32>
      %r:2 = scf.for %i = %c0 to %trips step %c1
          iter_args(%a = %zero, %s = %c0) -> (vector<24xf32>, index) {
        %b:2 = scf.for %j = %c0 to %n step %c1
            iter_args(%c = %a, %t = %s) -> (vector<24xf32>, index) {
          %d = arith.addf %c, %one : vector<24xf32>
          %u = arith.addi %t, %j : index
          scf.yield %d, %u : vector<24xf32>, index
        }
        scf.yield %b#0, %b#1 : vector<24xf32>, index
      }
      vector.store %r#0, %y[%c0] : memref<24xf32>, vector<24xf32>
      memref.store %r#1, %z[%c0] : memref<2xindex>
      memref.store %n, %z[%c1] : memref<2xindex>
      func.return
    }""".replace("TRIPS", str(trips))
    for n in (0, 1, 7):
        y, z = np.zeros(24, np.float32), np.zeros(2, np.int64)
        run_function(parse_loops(text), [y, z], n)
        np.testing.assert_array_equal(y, np.full(24, trips * n, np.float32))
        assert z.tolist() == [trips * n * (n - 1) // 2, n]


def test_conditions() -> None:
    """With and without results and else; memrefs may be selected."""
    text = """
    func.func @f(%y: memref<16xf32>, %a: memref<16xf32>, %b: memref<16xf32>, %n: index) {
      %c0 = arith.constant 0 : index
      %c3 = arith.constant 3 : index
      %is = arith.cmpi sgt, %n, %c3 : index
      %m = arith.select %is, %a, %b : memref<16xf32>
      %v = scf.if %is -> (vector<16xf32>) {
        %w = vector.load %m[%c0] : memref<16xf32>, vector<16xf32>
        scf.yield %w : vector<16xf32>
      } else {
        %w = vector.load %m[%c0] : memref<16xf32>, vector<16xf32>
        %x = arith.negf %w : vector<16xf32>
        scf.yield %x : vector<16xf32>
      }
      vector.store %v, %y[%c0] : memref<16xf32>, vector<16xf32>
      %z = arith.constant 0.0 : f32
      scf.if %is {
        memref.store %z, %y[%c3] : memref<16xf32>
      }
      func.return
    }"""
    a, b = sample("f32", 16), sample("f32", 16, 1)
    kernel = compile_function(parse_loops(text))
    y = np.zeros(16, np.float32)
    kernel(y, a, b, 3)
    np.testing.assert_array_equal(y, -b)
    kernel(y, a, b, 4)
    a[3] = 0
    np.testing.assert_array_equal(y, a)


INDEX_OPS = {
    "minsi": min,
    "maxsi": max,
    "andi": lambda a, b: a & b,
    "divui": lambda a, b: a // b,
    "divsi": lambda a, b: a // b,
    "remui": lambda a, b: a % b,
    "remsi": lambda a, b: a % b,
    "muli": lambda a, b: a * b,
    "subi": lambda a, b: a - b,
    "ceildivsi": lambda a, b: -(-a // b),
    "floordivsi": lambda a, b: a // b,
    "shli": lambda a, b: a << b,
    "shrui": lambda a, b: a >> b,
}


@pytest.mark.parametrize("name", INDEX_OPS)
@pytest.mark.parametrize("is_constant", [False, True])
def test_index_arithmetic(name: str, is_constant: bool) -> None:
    operand = "%k" if is_constant else "%b"
    text = f"""
    func.func @f(%y: memref<1xi64>, %a: index, %b: index) {{
      %c0 = arith.constant 0 : index
      %k = arith.constant 5 : index
      %r = arith.{name} %a, {operand} : index
      %r2 = arith.addi %r, %r : index
      %i = arith.index_cast %r2 : index to i64
      memref.store %i, %y[%c0] : memref<1xi64>
      func.return
    }}"""
    y = np.zeros(1, np.int64)
    run_function(parse_loops(text), [y], 37, 5)
    assert y[0] == 2 * INDEX_OPS[name](37, 5)
