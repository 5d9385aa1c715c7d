"""The simulator of kernels for many threads: what it computes, what it refuses, what it counts."""

from __future__ import annotations

import numpy as np
import pytest

from glow import GlowError
from glow.frontends.mlir import parse_text
from glow.interpreter.gpu.memory import Report
from glow.interpreter.simt import kernels_of, run_kernel
from glow.universe import new_context

SHARED = 'initial_value, sym_visibility = "private"'
HEAD = f"""
gpu.module @kernels {{
  "memref.global"() <{{sym_name = "tile", type = memref<64x8xf32, 3>, {SHARED}}}> : () -> ()
  gpu.func @reverse(%x: memref<128x8xf32>, %y: memref<128x8xf32>)
      kernel attributes {{known_block_size = array<i32: 64, 1, 1>,
                          known_grid_size = array<i32: 2, 1, 1>}} {{
    %tile = memref.get_global @tile : memref<64x8xf32, 3>
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c63 = arith.constant 63 : index
    %c64 = arith.constant 64 : index
    %first = arith.muli %b, %c64 : index
    %i = arith.addi %first, %t : index
    %j = arith.subi %c63, %t : index
"""
FOOT = """
    gpu.return
  }
}
"""
COPY = (
    "%0 = nvgpu.device_async_copy %x[%i, %c4], %tile[%t, %c0], 4 "
    ": memref<128x8xf32> to memref<64x8xf32, 3>"
)
GROUP = "%1 = nvgpu.device_async_create_group %0"
WAIT = "nvgpu.device_async_wait %1"
BARRIER = "gpu.barrier"
READ = "%2 = vector.load %tile[%j, %c0] : memref<64x8xf32, 3>, vector<4xf32>"
WRITE = "vector.store %2, %y[%i, %c0] : memref<128x8xf32>, vector<4xf32>"
REVERSE = [COPY, GROUP, WAIT, BARRIER, READ, WRITE]
VALUE = "%v = memref.load %x[%i, %c0] : memref<128x8xf32>"
LOOP = ["scf.for %k = %c0 to %t step %c64 {", "gpu.barrier", "}"]


def launch(lines: list[str]) -> tuple[np.ndarray, Report]:
    """What a kernel of those lines writes, and what it cost."""
    text = HEAD + "\n".join(lines) + FOOT
    (kernel,) = kernels_of(parse_text(new_context(), text, "kernel.mlir"))
    x = np.arange(1024, dtype=np.float32).reshape(128, 8)
    y = np.zeros_like(x)
    return y, run_kernel(kernel, [x, y])


def test_each_block_runs_on_memory_of_its_own() -> None:
    y, _ = launch(REVERSE)
    x = np.arange(1024, dtype=np.float32).reshape(2, 64, 8)
    assert np.array_equal(y.reshape(2, 64, 8)[..., :4], x[:, ::-1, 4:])
    assert not y[:, 4:].any()


def at(line: str, new: str) -> list[str]:
    """The kernel with a line replaced."""
    return [new if one == line else one for one in REVERSE]


WRONG = {
    "race: reads what another thread wrote": at(BARRIER, ""),
    "race: writes what another thread reads": [
        *REVERSE,
        "vector.store %2, %tile[%t, %c0] : memref<64x8xf32, 3>, vector<4xf32>",
    ],
    "race: two threads write one element": [
        VALUE,
        "memref.store %v, %tile[%c0, %c0] : memref<64x8xf32, 3>",
    ],
    "race: writes what another thread wrote": [
        VALUE,
        "memref.store %v, %tile[%t, %c0] : memref<64x8xf32, 3>",
        "memref.store %v, %tile[%j, %c0] : memref<64x8xf32, 3>",
    ],
    "gpu.barrier: is in divergent code": LOOP,
    "nvgpu.device_async_wait: is in divergent code": [
        *REVERSE[:2],
        *LOOP[:1],
        WAIT,
        "}",
    ],
    "reads what is copied, and nobody waited": at(WAIT, ""),
    "ends, and nobody waited for a copy": [COPY, GROUP],
    "index 64 of axis 0, 1 elements, is outside": at(READ, READ.replace("%j", "%i")),
    "index -1 of axis 1, 4 elements, is outside": [
        "%n = arith.constant -1 : index",
        READ.replace("%j, %c0", "%t, %n"),
    ],
    "address of a copy of nothing is 1 elements before": at(
        COPY,
        "%n = arith.constant -1 : index\n"
        + COPY.replace("%c4]", "%n]")
        .replace("%i", "%c0")
        .replace("], 4 :", "], 4, %c0 :"),
    ),
    "index 6 of axis 1, 4 elements, is outside": at(
        COPY, "%c6 = arith.constant 6 : index\n" + COPY.replace("%c4", "%c6")
    ),
    "vector of 16 bytes is misaligned, at byte 8": at(
        WRITE, WRITE.replace("%c0", "%c2")
    ),
    "is no operation of kernels": ["%d = gpu.block_dim x"],
}


@pytest.mark.parametrize("problem", WRONG)
def test_what_hardware_leaves_open_is_an_error(problem: str) -> None:
    lines = WRONG[problem]
    if "block_dim" in lines[0]:
        lines = ['%d = "gpu.block_dim"() <{dimension = #gpu<dim x>}> : () -> index']
    with pytest.raises(GlowError) as caught:
        launch(lines)
    assert problem in caught.value.one_line()
    assert caught.value.one_line().startswith("@reverse, operation ")


def test_what_was_not_written_is_nan() -> None:
    y, _ = launch([READ, WRITE])
    assert np.isnan(y[:, :4]).all()


def test_copies_of_fewer_elements_are_filled_with_zeros() -> None:
    few = COPY.replace("], 4 :", "], 4, %n :").replace("%c4", "%c7")
    seven = "%c7 = arith.constant 7 : index\n%n = arith.remui %t, %c2 : index"
    y, _ = launch([seven, *at(COPY, few)])
    expected = np.arange(1024, dtype=np.float32).reshape(2, 64, 8)[:, ::-1, 7].copy()
    expected[:, 1::2] = 0
    assert np.array_equal(y.reshape(2, 64, 8)[..., 0], expected)
    assert not y[:, 1:4].any()


COLUMN = [
    VALUE,
    "memref.store %v, %tile[%t, %c0] : memref<64x8xf32, 3>",
]
ROW = [
    "%row = arith.constant 5 : index",
    "%v = memref.load %x[%row, %c0] : memref<128x8xf32>",
]


def test_conflicts_of_banks_are_counted() -> None:
    """A column of rows of 32 bytes: four banks take eight words each, in two warps."""
    _, report = launch(COLUMN)
    assert report.bank_conflicts == 2 * 2 * 7


def test_vectors_of_all_lanes_take_four_turns() -> None:
    """Rows of 32 bytes of which 16 are read: two lanes of eight meet in each bank."""
    _, report = launch(REVERSE)
    assert report.bank_conflicts == 2 * 2 * (2 * 4)


def test_sectors_are_counted() -> None:
    """A lane a sector of 32 bytes, of which it reads 4: 4 sectors would do for 32."""
    _, report = launch(COLUMN)
    assert report.uncoalesced_sectors == 2 * 2 * (32 - 4)


def test_lanes_that_read_one_element_are_coalesced() -> None:
    _, report = launch(ROW)
    assert report == Report(0, 0)


DIVERGENT = """
    %odd = arith.remui %t, %c2 : index
    %is = arith.cmpi eq, %odd, %c1 : index
    %zero = arith.constant 0.0 : f32
    %n = arith.remui %t, %c4 : index
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%s = %zero) -> (f32) {
      %e = memref.load %x[%i, %k] : memref<128x8xf32>
      %u = arith.addf %s, %e : f32
      scf.yield %u : f32
    }
    %r = scf.if %is -> (f32) {
      scf.yield %sum : f32
    } else {
      %m = arith.negf %sum : f32
      scf.yield %m : f32
    }
    scf.if %is {
      memref.store %r, %y[%i, %c1] : memref<128x8xf32>
    } else {
      memref.store %r, %y[%i, %c2] : memref<128x8xf32>
    }
"""


def test_threads_take_branches_and_turns_of_their_own() -> None:
    y, _ = launch([DIVERGENT])
    for i, row in enumerate(np.arange(1024, dtype=np.float32).reshape(128, 8)):
        total = row[: i % 4].sum()
        assert y[i, 1 if i % 2 else 2] == (total if i % 2 else -total)
        assert not y[i, 3:].any()


SUM_OF_LANES = """
    %w = arith.constant 32 : i32
    %v0 = memref.load %x[%i, %c0] : memref<128x8xf32>
    %o1 = arith.constant 1 : i32
    %s1, %p1 = gpu.shuffle xor %v0, %o1, %w : f32
    %v1 = arith.addf %v0, %s1 : f32
    %o2 = arith.constant 16 : i32
    %s2, %p2 = gpu.shuffle xor %v1, %o2, %w : f32
    %v2 = arith.addf %v1, %s2 : f32
    memref.store %v2, %y[%i, %c0] : memref<128x8xf32>
"""


def test_lanes_exchange_values() -> None:
    y, _ = launch([SUM_OF_LANES])
    x = np.arange(0, 1024, 8, dtype=np.float32).reshape(4, 32)
    pairs = x + x[:, np.arange(32) ^ 1]
    assert np.array_equal(y[:, 0].reshape(4, 32), pairs + pairs[:, np.arange(32) ^ 16])


MATRICES = f"""
gpu.module @kernels {{
  "memref.global"() <{{sym_name = "a", type = memref<16x16xf16, 3>, {SHARED}}}> : () -> ()
  "memref.global"() <{{sym_name = "b", type = memref<16x8xf16, 3>, {SHARED}}}> : () -> ()
  gpu.func @multiply(%x: memref<16x16xf16>, %w: memref<16x8xf16>, %y: memref<16x8xf32>)
      kernel attributes {{known_block_size = array<i32: 32, 1, 1>}} {{
    %a = memref.get_global @a : memref<16x16xf16, 3>
    %b = memref.get_global @b : memref<16x8xf16, 3>
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %row = arith.remui %t, %c16 : index
    %half = arith.divui %t, %c16 : index
    %column = arith.muli %half, %c8 : index
    %0 = nvgpu.device_async_copy %x[%row, %column], %a[%row, %column], 8
      : memref<16x16xf16> to memref<16x16xf16, 3>
    %is = arith.cmpi ult, %t, %c16 : index
    scf.if %is {{
      %1 = nvgpu.device_async_copy %w[%row, %c0], %b[%row, %c0], 8
        : memref<16x8xf16> to memref<16x8xf16, 3>
    }}
    %2 = nvgpu.device_async_create_group {{}}
    nvgpu.device_async_wait %2 {{numGroups = 0 : i32}}
    gpu.barrier
    %3 = nvgpu.ldmatrix %a[%row, %column] {{numTiles = 4 : i32, transpose = false}}
      : memref<16x16xf16, 3> -> vector<4x2xf16>
    %4 = nvgpu.ldmatrix %b[%row, %c0] {{numTiles = 2 : i32, transpose = true}}
      : memref<16x8xf16, 3> -> vector<2x2xf16>
    %zero = arith.constant dense<0.0> : vector<2x2xf32>
    %5 = nvgpu.mma.sync(%3, %4, %zero) {{mmaShape = [16, 8, 16]}}
      : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %g = arith.divui %t, %c4 : index
    %g8 = arith.addi %g, %c8 : index
    %q = arith.remui %t, %c4 : index
    %q2 = arith.muli %q, %c2 : index
    %6 = vector.extract %5[0] : vector<2xf32> from vector<2x2xf32>
    %7 = vector.extract %5[1] : vector<2xf32> from vector<2x2xf32>
    vector.store %6, %y[%g, %q2] : memref<16x8xf32>, vector<2xf32>
    vector.store %7, %y[%g8, %q2] : memref<16x8xf32>, vector<2xf32>
    gpu.return
  }}
}}
"""


def test_tensor_cores_multiply() -> None:
    """The lanes of fragments are those of PTX, section 9.7.14: `mma.m16n8k16`."""
    (kernel,) = kernels_of(parse_text(new_context(), MATRICES, "kernel.mlir"))
    random = np.random.default_rng(0)
    x = random.integers(-8, 8, (16, 16)).astype(np.float16)
    w = random.integers(-8, 8, (16, 8)).astype(np.float16)
    y = np.zeros((16, 8), np.float32)
    run_kernel(kernel, [x, w, y])
    assert np.array_equal(y, x.astype(np.float32) @ w.astype(np.float32))
