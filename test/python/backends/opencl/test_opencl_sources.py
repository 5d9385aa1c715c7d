"""What needs no device: the text of kernels, and errors of one line."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from places import ROOT
from xdsl.dialects.builtin import f32
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import DiagnosticException

from glow import GlowError
from glow.backends.backend import get_backend
from glow.backends.opencl import drivers, target_of
from glow.frontends.mlir import parse_text
from glow.lowering.loops_to_llvm.rules import RULES as LLVM_RULES
from glow.lowering.opencl_c.c_types import chunks_of, float_literal
from glow.lowering.opencl_c.emit import program_text
from glow.lowering.opencl_c.rules import RULES
from glow.lowering.target.target import Target
from glow.options import CompileOptions
from glow.tools.glow import run_glow
from glow.universe import new_context

MLP = ROOT / "examples" / "digits" / "mlp.onnx"

HOST_ONLY = {"memref.dealloc", "func.call", "llvm.call_intrinsic"}
"""What `main` has, or names instructions of a processor: no kernel of a network."""


def test_every_operation_of_kernels_has_a_rule() -> None:
    names = {op.name for op in LLVM_RULES} - {op.name for op in RULES}
    assert {name for name in names if not name.startswith("amx.")} <= HOST_ONLY


def test_matrix_tiles_are_no_devices() -> None:
    options = CompileOptions("opencl", "sapphirerapids")
    assert not Target.from_string(target_of(options)).has_int8_tiles
    assert target_of(CompileOptions("opencl", "znver3")) == "znver3"


def test_what_has_no_rule_is_one_line() -> None:
    text = """func.func @f(%lo: index, %hi: index) {
      func.call @g() : () -> ()
      func.return
    }"""
    function = parse_text(new_context(), text, "f.mlir").body.block.first_op
    assert isinstance(function, FuncOp)
    with pytest.raises(DiagnosticException, match=r"no rule for func.call \(in @f\)"):
        program_text([function], Target.from_string("avx2"))


@pytest.mark.parametrize("number", [0.1, 1e-45, 3.4028235e38, -0.0, 16777217.0, 1 / 3])
def test_floats_are_read_as_they_were(number: float) -> None:
    text = float_literal(number, f32)
    assert np.float32(text.removesuffix("f")).tobytes() == np.float32(number).tobytes()


def test_floats_that_have_no_digits() -> None:
    assert float_literal(float("inf"), f32) == "as_float(0x7f800000u)"
    assert float_literal(float("nan"), f32) == "as_float(0x7fc00000u)"


def test_rows_are_cut_into_vectors_of_the_language() -> None:
    assert chunks_of(64) == ((0, 16), (16, 16), (32, 16), (48, 16))
    assert chunks_of(23) == ((0, 16), (16, 4), (20, 2), (22, 1))


def test_the_text_needs_no_device(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyopencl", None)
    arguments = ["compile", str(MLP), "--backend=opencl", "--emit=opencl-c"]
    run_glow([*arguments, "--target=x86-64-v3"])
    text = capsys.readouterr().out
    assert text.startswith("#pragma OPENCL FP_CONTRACT OFF\n\nstatic void ")
    assert "__kernel void " in text


def test_what_is_missing_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pyopencl", None)
    assert get_backend("opencl").devices() == []
    with pytest.raises(GlowError) as caught:
        run_glow(["run", str(MLP), "--backend=opencl"])
    line = f"backend 'opencl' has no device: {drivers.NO_LIBRARY}"
    assert caught.value.one_line() == line


def test_a_machine_without_drivers(monkeypatch: pytest.MonkeyPatch) -> None:
    class Error(Exception):
        pass

    def get_platforms() -> list[object]:
        raise Error("PLATFORM_NOT_FOUND_KHR")

    module = SimpleNamespace(Error=Error, get_platforms=get_platforms, __spec__=1)
    monkeypatch.setitem(sys.modules, "pyopencl", module)
    assert drivers.drivers_devices() == ()
    assert drivers.what_is_missing() == drivers.NO_DRIVER


def test_a_network_larger_than_the_device() -> None:
    function = pytest.importorskip("glow.backends.opencl.opencl_function")
    small = SimpleNamespace(
        name="tiny", global_mem_size=3 << 30, max_mem_alloc_size=1 << 30
    )
    sizes = [2 << 30, 0, 0]
    with pytest.raises(GlowError, match=r"buffer of 2.0 GiB.*'tiny' have 1.0 at most"):
        function.check_device_memory(small, sizes)
    sizes[2] = 2 << 30
    with pytest.raises(GlowError, match=r"needs 4.0 GiB of memory.*'tiny' has 3.0"):
        function.check_device_memory(small, sizes)


def test_a_device_without_doubles() -> None:
    function = pytest.importorskip("glow.backends.opencl.opencl_function")
    device = SimpleNamespace(name="tiny ", extensions="cl_khr_fp16 cl_khr_3d_writes")
    function.check_doubles(device, "sum", "const float4 v1 = vload4(0, p0);")
    with pytest.raises(GlowError, match="'sum' computes in f64, which device 'tiny'"):
        function.check_doubles(device, "sum", "const double4 v1 = vload4(0, p0);")
