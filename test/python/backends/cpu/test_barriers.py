"""Programs without barriers between calls that share rows: the same bits on all threads."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from support.kernels.kernel_testing import normal, relative_error
from xdsl.dialects.builtin import ModuleOp

import glow
from glow.backends.cpu.passes.instr_to_loops import build_main, build_program
from glow.backends.cpu.program.call_order import serial_bytes
from glow.backends.cpu.program.kernel_table import kernel_table
from glow.compiler import lower_to
from glow.dialects.weights import weights_of
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.lowering.target.target import Target
from glow.signature import main_function
from glow.universe import new_context

PROGRAM = """
func.func @main(%x: tensor<{rows}x512xf32>) -> tensor<{rows}x512xf32> {{
  %w = glow.constant @w : tensor<512x512xf32>
  %v = glow.constant @v : tensor<512x512xf32>
  %0 = glow.matmul %x, %w : tensor<{rows}x512xf32>
  %s = glow.splat 1.0 : tensor<512xf32>
  %1 = glow.layer_norm %0, %s axis 1 epsilon 1.0e-05 : tensor<{rows}x512xf32>
  %2 = glow.matmul %1, %v : tensor<{rows}x512xf32>
  %3 = glow.add %2, %0 : tensor<{rows}x512xf32>
  %4 = glow.softmax %3 axis 1 : tensor<{rows}x512xf32>
  %5 = glow.matmul %4, %w : tensor<{rows}x512xf32>
  func.return %5 : tensor<{rows}x512xf32>
}}
"""


def chain(rows: int) -> ModuleOp:
    """Products, a residual and normalizations, all of which can be cut by rows."""
    module = parse_text(new_context(), PROGRAM.format(rows=rows), "test")
    table = weights_of(module)
    random = np.random.default_rng(rows)
    for name in ("w", "v"):
        values = random.standard_normal((512, 512), np.float32)
        table[name] = values / np.float32(np.sqrt(512))
    return module


@pytest.mark.parametrize("numerics", ["exact", "default"])
@pytest.mark.parametrize("rows", [128, 106, 192])
def test_threads_do_not_change_results(rows: int, numerics: str) -> None:
    """Also where they do not divide the rows, nor are tiles of rows whole."""
    x = normal(rows, 512)
    module = chain(rows)
    (expected,) = run(module, [x])
    models = [
        glow.compile(module, threads=n, numerics=numerics) for n in (1, 2, 3, 4, 7)
    ]
    for _ in range(3):
        results = [model(x) for model in models]
        for result in results:
            np.testing.assert_array_equal(result, results[0])
    assert relative_error(np.asarray(results[0]), expected) < 1e-5


def barriers(rows: int) -> tuple[int, int]:
    """How many barriers there are for all threads, and how many otherwise."""
    module = chain(rows)
    lower_to(module, "instr", target="avx512", numerics="exact")
    target = Target.from_string("avx512")
    program = build_program(main_function(module), target, kernel_table("cpu"))
    kernels = {n: r.build(n, target) for n, r in program.requests().items()}
    main = build_main(program, kernels, target)
    waiting = [
        op.operands[1].name_hint == "threads"
        for op in main.walk()
        if op.name == "func.call" and "glow_barrier" in str(op.properties["callee"])
    ]
    return sum(waiting), len(waiting) - sum(waiting)


def test_barriers_between_rows_depend_on_the_threads() -> None:
    whole, partial = barriers(128), barriers(106)
    assert whole[0] < partial[0]
    assert whole[1] > partial[1]


@pytest.mark.parametrize(("cycles", "size"), [(1, 4), (255, 1024), (256, 1024)])
def test_calls_are_shared_from_a_power_of_two(cycles: int, size: int) -> None:
    """The least that holds what a kernel touches while threads wait for each other."""
    assert serial_bytes(SimpleNamespace(barrier_cycles=cycles)) == size
