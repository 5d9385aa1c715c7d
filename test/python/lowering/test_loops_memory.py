"""Executes memory access, views and rows of the loops level, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from support.programs.loops_testing import DTYPES, parse_loops, sample

from glow.runtime.testing import run_function


def copy_through(
    vector: str,
    source: str,
    target: str,
    read_map: str = "",
    write_map: str = "",
    subview: tuple[str, str] | None = None,
) -> str:
    """A function that reads one vector, of a view where there is one, and writes it."""

    def rank(memref: str) -> int:
        return memref.split("<", 1)[1].split("strided")[0].count("x")

    def zeros(memref: str) -> str:
        return ", ".join(["%c0"] * rank(memref))

    bounds = ", ".join(["true"] * vector.count("x"))
    slices, view = subview or ("", source)
    prologue = f"%s = memref.subview %x{slices} : {source} to {view}" if subview else ""
    read_from = "%s" if subview else "%x"
    read = f"permutation_map = affine_map<{read_map}>, " if read_map else ""
    write = f"permutation_map = affine_map<{write_map}>, " if write_map else ""
    return f"""
    func.func @f(%y: {target}, %x: {source}) {{
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0.0 : f32
      {prologue}
      %v = vector.transfer_read {read_from}[{zeros(view)}], %zero
        {{{read} in_bounds = [{bounds}]}} : {view}, {vector}
      vector.transfer_write %v, %y[{zeros(target)}]
        {{{write} in_bounds = [{bounds}]}} : {vector}, {target}
      func.return
    }}"""


@pytest.mark.parametrize("size", [2, 4, 8, 16])
def test_transposing_read(size: int) -> None:
    text = copy_through(
        f"vector<{size}x{size}xf32>",
        f"memref<{size}x{size}xf32>",
        f"memref<{size}x{size}xf32>",
        read_map="(d0, d1) -> (d1, d0)",
    )
    x, y = (
        sample("f32", size * size).reshape(size, size),
        np.zeros((size, size), np.float32),
    )
    run_function(parse_loops(text), [y, x])
    np.testing.assert_array_equal(y, x.T)


def test_transposing_write_of_blocks() -> None:
    text = copy_through(
        "vector<3x8x8xf32>",
        "memref<3x8x8xf32>",
        "memref<3x8x8xf32>",
        write_map="(d0, d1, d2) -> (d0, d2, d1)",
    )
    x, y = sample("f32", 192).reshape(3, 8, 8), np.zeros((3, 8, 8), np.float32)
    run_function(parse_loops(text), [y, x])
    np.testing.assert_array_equal(y, x.transpose(0, 2, 1))


@pytest.mark.parametrize(
    ("rows", "columns"), [(3, 5), (16, 4), (4, 16), (2, 8), (1, 7), (5, 16)]
)
def test_transposition_of_odd_shape(rows: int, columns: int) -> None:
    """Not square: several squares, or else lane by lane."""
    x = sample("f32", rows * columns).reshape(rows, columns)
    for side in ("read_map", "write_map"):
        first, second = (columns, rows) if side == "read_map" else (rows, columns)
        text = copy_through(
            f"vector<{first}x{second}xf32>",
            f"memref<{rows}x{columns}xf32>",
            f"memref<{columns}x{rows}xf32>",
            **{side: "(d0, d1) -> (d1, d0)"},
        )
        y = np.zeros((columns, rows), np.float32)
        run_function(parse_loops(text), [y, x])
        np.testing.assert_array_equal(y, x.T)


def test_broadcasting_read() -> None:
    text = copy_through(
        "vector<3x2x16xf32>",
        "memref<3x4xf32>",
        "memref<3x2x16xf32>",
        read_map="(d0, d1) -> (d0, 0, 0)",
    )
    x, y = sample("f32", 12).reshape(3, 4), np.zeros((3, 2, 16), np.float32)
    run_function(parse_loops(text), [y, x])
    np.testing.assert_array_equal(y, np.broadcast_to(x[:, :1, None], y.shape))


@pytest.mark.parametrize("size", [5, 16, 24])
def test_strided_subview(size: int) -> None:
    view = f"memref<{size}xf32, strided<[2], offset: 3>>"
    text = copy_through(
        f"vector<{size}xf32>",
        f"memref<{2 * size + 3}xf32>",
        f"memref<{size}xf32>",
        subview=(f"[3] [{size}] [2]", view),
    )
    x, y = sample("f32", 2 * size + 3), np.zeros(size, np.float32)
    run_function(parse_loops(text), [y, x])
    np.testing.assert_array_equal(y, x[3::2])


def test_views_of_bytes() -> None:
    """reinterpret_cast counts from the view's start, not the subview's."""
    text = """
    func.func @f(%y: memref<4xf32>, %bytes: memref<128xi8>) {
      %c0 = arith.constant 0 : index
      %c32 = arith.constant 32 : index
      %v = memref.view %bytes[%c32][] : memref<128xi8> to memref<4x6xf32>
      %s = memref.subview %v[2, 0] [1, 6] [1, 1]
        : memref<4x6xf32> to memref<6xf32, strided<[1], offset: 12>>
      %a = vector.load %s[%c0] : memref<6xf32, strided<[1], offset: 12>>, vector<4xf32>
      %r = memref.reinterpret_cast %s to offset: [1], sizes: [2, 2], strides: [2, 1]
        : memref<6xf32, strided<[1], offset: 12>> to memref<2x2xf32, strided<[2, 1], offset: 1>>
      %b = vector.load %r[%c0, %c0]
        : memref<2x2xf32, strided<[2, 1], offset: 1>>, vector<4xf32>
      %sum = arith.addf %a, %b : vector<4xf32>
      vector.store %sum, %y[%c0] : memref<4xf32>, vector<4xf32>
      func.return
    }"""
    x, y = sample("f32", 32), np.zeros(4, np.float32)
    run_function(parse_loops(text), [y, x])
    data = x[8:]
    np.testing.assert_array_equal(y, data[12:16] + data[1:5])


def test_booleans_are_bytes() -> None:
    text = """
    func.func @f(%y: memref<20xi1>, %x: memref<20xi1>, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %true = arith.constant dense<true> : vector<20xi1>
      %v = vector.load %x[%c0] : memref<20xi1>, vector<20xi1>
      %w = arith.xori %v, %true : vector<20xi1>
      vector.store %w, %y[%c0] : memref<20xi1>, vector<20xi1>
      %b = memref.load %x[%c1] : memref<20xi1>
      memref.store %b, %y[%n] : memref<20xi1>
      func.return
    }"""
    x, y = sample("i1", 20), np.zeros(20, np.bool_)
    run_function(parse_loops(text), [y, x], 7)
    expected = ~x
    expected[7] = x[1]
    np.testing.assert_array_equal(y.view(np.uint8), expected.view(np.uint8))


def test_loads_stay_before_stores() -> None:
    """A lazy read must see the memory as it was where the read stands."""
    text = """
    func.func @f(%y: memref<16xf32>, %x: memref<16xf32>) {
      %c0 = arith.constant 0 : index
      %zero = arith.constant dense<0.0> : vector<16xf32>
      %pad = arith.constant 0.0 : f32
      %v = vector.transfer_read %x[%c0], %pad {in_bounds = [true]}
        : memref<16xf32>, vector<16xf32>
      vector.store %zero, %x[%c0] : memref<16xf32>, vector<16xf32>
      vector.store %v, %y[%c0] : memref<16xf32>, vector<16xf32>
      func.return
    }"""
    x, y = sample("f32", 16), np.zeros(16, np.float32)
    before = x.copy()
    run_function(parse_loops(text), [y, x])
    np.testing.assert_array_equal(y, before)
    assert not x.any()


def test_rows_are_lists() -> None:
    """extract, insert, n-D shuffle and broadcast of rows; a lane at a dynamic place."""
    text = """
    func.func @f(%y: memref<5x24xf32>, %x: memref<3x24xf32>, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %v = vector.load %x[%c0, %c0] : memref<3x24xf32>, vector<3x24xf32>
      %row = vector.extract %v[2] : vector<24xf32> from vector<3x24xf32>
      %w = vector.insert %row, %v[0] : vector<24xf32> into vector<3x24xf32>
      %lane = vector.extract %v[1, 20] : f32 from vector<3x24xf32>
      %u = vector.insert %lane, %w[1, 3] : f32 into vector<3x24xf32>
      %any = vector.extract %row[%n] : f32 from vector<24xf32>
      %t = vector.insert %any, %u[2, 17] : f32 into vector<3x24xf32>
      %s = vector.shuffle %t, %v [0, 1, 2, 4, 3] : vector<3x24xf32>, vector<3x24xf32>
      vector.store %s, %y[%c0, %c0] : memref<5x24xf32>, vector<5x24xf32>
      func.return
    }"""
    x, y = sample("f32", 72).reshape(3, 24), np.zeros((5, 24), np.float32)
    run_function(parse_loops(text), [y, x], 21)
    t = x.copy()
    t[0] = x[2]
    t[1, 3] = x[1, 20]
    t[2, 17] = x[2, 21]
    np.testing.assert_array_equal(y, np.concatenate([t, x[[1, 0]]]))


def test_broadcast_of_single_lanes() -> None:
    text = """
    func.func @f(%y: memref<3x24xf32>, %x: memref<3x1xf32>) {
      %c0 = arith.constant 0 : index
      %v = vector.load %x[%c0, %c0] : memref<3x1xf32>, vector<3x1xf32>
      %b = vector.broadcast %v : vector<3x1xf32> to vector<3x24xf32>
      vector.store %b, %y[%c0, %c0] : memref<3x24xf32>, vector<3x24xf32>
      func.return
    }"""
    x, y = sample("f32", 3).reshape(3, 1), np.zeros((3, 24), np.float32)
    run_function(parse_loops(text), [y, x])
    np.testing.assert_array_equal(y, np.broadcast_to(x, y.shape))


def test_stack_buffer() -> None:
    text = """
    func.func @f(%y: memref<5xf32>) {
      %t = memref.alloca() {alignment = 64 : i64} : memref<5xf32>
      %c0 = arith.constant 0 : index
      %v = arith.constant dense<[1.0, -2.5, 3.0, 4.0, 1.0e-40]> : vector<5xf32>
      vector.store %v, %t[%c0] : memref<5xf32>, vector<5xf32>
      %w = vector.load %t[%c0] : memref<5xf32>, vector<5xf32>
      vector.store %w, %y[%c0] : memref<5xf32>, vector<5xf32>
      func.return
    }"""
    y = np.zeros(5, np.float32)
    run_function(parse_loops(text), [y])
    np.testing.assert_array_equal(y, np.array([1, -2.5, 3, 4, 1e-40], np.float32))


CONSTANTS = {
    "f32": ["0x7FC00000", "0x7F800000", "0xFF800000", "-0.0", "1.0e-40", "0.1"],
    "f16": ["0x7E00", "0x7C00", "65504.0", "0.1"],
    "bf16": ["0x7FC0", "0xFF80", "1.0e38", "0.1"],
    "f64": ["0x7FF0000000000000", "0.1", "1.0e-310"],
    "i8": ["-128", "127"],
    "i64": ["-9223372036854775808", "9223372036854775807"],
    "i1": ["true", "false"],
}
EXPECTED = {
    "f32": [np.nan, np.inf, -np.inf, -0.0, 1e-40, 0.1],
    "f16": [np.nan, np.inf, 65504, 0.1],
    "bf16": [np.nan, -np.inf, 1e38, 0.1],
    "f64": [np.inf, 0.1, 1e-310],
    "i8": [-128, 127],
    "i64": [-(2**63), 2**63 - 1],
    "i1": [1, 0],
}


@pytest.mark.parametrize("element", CONSTANTS)
def test_scalar_constants(element: str) -> None:
    numbers = CONSTANTS[element]
    type_ = f"memref<{len(numbers)}x{element}>"
    spelled = "" if element == "i1" else f" : {element}"
    stores = "\n".join(
        f"""%p{k} = arith.constant {k} : index
        %v{k} = arith.constant {number}{spelled}
        memref.store %v{k}, %y[%p{k}] : {type_}"""
        for k, number in enumerate(numbers)
    )
    y = np.zeros(len(numbers), DTYPES[element])
    text = f"func.func @f(%y: {type_}) {{\n{stores}\nfunc.return\n}}"
    run_function(parse_loops(text), [y])
    wide = np.int64 if element.startswith("i") else np.float64
    expected = np.array(EXPECTED[element], DTYPES[element]).astype(wide)
    np.testing.assert_array_equal(y.astype(wide), expected)
    if element == "f32":
        assert np.signbit(y[3])
