"""`vector.contract` on every target that this machine runs: exact for int8."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from support.programs.loops_testing import parse_loops

from glow.lowering.target.target import Target
from glow.runtime.testing import compile_function

MAPS = """indexing_maps = [affine_map<(m, n, l, k) -> (m, k)>,
  affine_map<(m, n, l, k) -> (n, l, k)>, affine_map<(m, n, l, k) -> (m, n, l)>],
  iterator_types = ["parallel", "parallel", "parallel", "reduction"],
  kind = #vector.kind<add>"""

ROWS, BLOCKS, STEPS = 3, 2, 5


def contraction(
    narrow: str, wide: str, k: int, lanes: int, extensions: tuple[str, str]
) -> str:
    """Returns a kernel `y[m, n, l] += a[m, s, k] * w[n, s, l, k]` over the steps."""
    a = f"memref<{ROWS}x{STEPS}x{k}x{narrow}>"
    w = f"memref<{STEPS}x{BLOCKS}x{lanes}x{k}x{narrow}>"
    y = f"memref<{ROWS}x{BLOCKS}x{lanes}x{wide}>"
    zero = "0.0" if narrow.endswith("f16") else "0"
    left, right = f"{ROWS}x{k}x", f"{BLOCKS}x{lanes}x{k}x"
    acc = f"vector<{ROWS}x{BLOCKS}x{lanes}x{wide}>"
    return f"""
    func.func @f(%y: {y}, %a: {a}, %w: {w}) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %steps = arith.constant {STEPS} : index
      %pad = arith.constant {zero} : {narrow}
      %init = vector.load %y[%c0, %c0, %c0] : {y}, {acc}
      %sum = scf.for %s = %c0 to %steps step %c1 iter_args(%acc = %init) -> ({acc}) {{
        %u = vector.transfer_read %a[%c0, %s, %c0], %pad {{in_bounds = [true, true],
          permutation_map = affine_map<(d0, d1, d2) -> (d0, d2)>}}
          : {a}, vector<{left}{narrow}>
        %v = vector.transfer_read %w[%s, %c0, %c0, %c0], %pad
          {{in_bounds = [true, true, true]}} : {w}, vector<{right}{narrow}>
        %ux = arith.{extensions[0]} %u : vector<{left}{narrow}> to vector<{left}{wide}>
        %vx = arith.{extensions[1]} %v : vector<{right}{narrow}> to vector<{right}{wide}>
        %new = vector.contract {{{MAPS}}} %ux, %vx, %acc
          : vector<{left}{wide}>, vector<{right}{wide}> into {acc}
        scf.yield %new : {acc}
      }}
      vector.store %sum, %y[%c0, %c0, %c0] : {y}, {acc}
      func.return
    }}"""


def reference(a: np.ndarray, w: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Returns the contraction in wide numbers."""
    return y + np.einsum("msk,snlk->mnl", a, w)


UNSIGNED = {"extui": np.uint8, "extsi": np.int8}


@pytest.mark.parametrize("target", ["host", "avx2", "scalar"])
@pytest.mark.parametrize("lanes", [4, 8, 16, 32])
@pytest.mark.parametrize(
    "extensions", [("extui", "extsi"), ("extsi", "extui"), ("extsi", "extsi")]
)
def test_bytes(target: str, lanes: int, extensions: tuple[str, str]) -> None:
    rng = np.random.default_rng(0)
    kernel = compile_function(
        parse_loops(contraction("i8", "i32", 4, lanes, extensions)),
        target=Target.from_string(target),
    )
    shapes = (ROWS, STEPS, 4), (STEPS, BLOCKS, lanes, 4)
    a, w = (
        rng.integers(-128, 128, shape).astype(np.int8).view(UNSIGNED[extension])
        for shape, extension in zip(shapes, extensions, strict=True)
    )
    y = rng.integers(-99, 99, (ROWS, BLOCKS, lanes)).astype(np.int32)
    expected = reference(a.astype(np.int32), w.astype(np.int32), y)
    kernel(y, a, w)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("target", ["host", "avx2", "scalar"])
@pytest.mark.parametrize("lanes", [8, 16])
def test_bfloat(target: str, lanes: int) -> None:
    rng = np.random.default_rng(0)
    kernel = compile_function(
        parse_loops(contraction("bf16", "f32", 2, lanes, ("extf", "extf"))),
        target=Target.from_string(target),
    )
    a = rng.standard_normal((ROWS, STEPS, 2)).astype(ml_dtypes.bfloat16)
    w = rng.standard_normal((STEPS, BLOCKS, lanes, 2)).astype(ml_dtypes.bfloat16)
    y = rng.standard_normal((ROWS, BLOCKS, lanes)).astype(np.float32)
    expected = reference(a.astype(np.float64), w.astype(np.float64), y)
    kernel(y, a, w)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)


def test_instruction_is_used() -> None:
    """On AVX-512 a whole extension and contraction is one instruction a register."""
    text = contraction("i8", "i32", 4, 16, ("extui", "extsi"))
    kernel_text = lowered_text(text, "avx512")
    assert kernel_text.count("call <16 x i32> @llvm.x86.avx512.vpdpbusd.512") == (
        ROWS * BLOCKS
    )
    assert "zext <" not in kernel_text
    assert kernel_text.count("load <64 x i8>") == BLOCKS
    assert "vpdpbusd" not in lowered_text(text, "neon")


def lowered_text(text: str, target: str) -> str:
    """Returns the LLVM IR of a kernel for a named target."""
    from glow.lowering.llvm_text.emit import emit_functions
    from glow.lowering.loops_to_llvm.convert_loops_to_llvm import lower_functions
    from glow.runtime.testing import functions_of

    machine = Target.from_string(target)
    functions = functions_of(parse_loops(text))
    return emit_functions(lower_functions(functions, machine), machine)


def test_registers_survive_a_store() -> None:
    """A store between reading and contraction: the operands are no longer reloaded."""
    text = contraction("i8", "i32", 4, 16, ("extui", "extsi")).replace(
        "%new = vector.contract",
        "vector.store %zero, %a[%c0, %c0, %c0]"
        " : memref<3x5x4xi8>, vector<1x1x4xi8>\n%new = vector.contract",
    )
    text = text.replace(
        "%steps =", "%zero = arith.constant dense<0> : vector<1x1x4xi8>\n%steps ="
    )
    rng = np.random.default_rng(0)
    a = rng.integers(0, 256, (ROWS, STEPS, 4)).astype(np.uint8)
    w = rng.integers(-128, 128, (STEPS, BLOCKS, 16, 4)).astype(np.int8)
    y = np.zeros((ROWS, BLOCKS, 16), np.int32)
    expected = reference(a.astype(np.int32), w.astype(np.int32), y)
    compile_function(parse_loops(text))(y, a, w)
    np.testing.assert_array_equal(y, expected)
