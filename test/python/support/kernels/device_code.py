"""Kernels as SPIR-V: what checks them, and what runs their LLVM IR on this machine."""

from __future__ import annotations

import ctypes
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llvmlite import binding

KERNEL = """
func.func @f(%x: memref<7x3xf32>, %y: memref<7x3xf32>, %lo: index, %hi: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %stack = memref.alloca() {{alignment = 64 : i64}} : memref<3xf32>
  scf.for %i = %lo to %hi step %c1 {{
    memref.prefetch %x[%i, %c0], read, locality<3>, data : memref<7x3xf32>
    %0 = vector.transfer_read %x[%i, %c0], %zero {{in_bounds = [true]}}
      : memref<7x3xf32>, vector<3xf32>
    %1 = {operation} %0 : vector<3xf32>
    vector.store %1, %stack[%c0] : memref<3xf32>, vector<3xf32>
    %2 = memref.load %stack[%c1] : memref<3xf32>
    memref.store %2, %y[%i, %c0] : memref<7x3xf32>
  }}
  func.return
}}
"""
"""Rows of three elements, through the stack."""

CAPABILITY = 17
"""The number of `OpCapability`."""


def validate(code: bytes, folder: Path) -> None:
    """Ask `spirv-val`; skips the test where there is none."""
    if shutil.which("spirv-val") is None:
        pytest.skip("spirv-val is not installed")
    file = folder / "kernels.spv"
    file.write_bytes(code)
    command = ["spirv-val", "--target-env", "opencl2.2", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout + done.stderr, done.returncode) == ("", 0)


def capabilities(code: bytes) -> set[int]:
    """The numbers of the capabilities that a module declares."""
    words, found, place = struct.unpack(f"<{len(code) // 4}I", code), set[int](), 5
    while place < len(words):
        size, operation = divmod(words[place], 1 << 16)
        if operation == CAPABILITY:
            found.add(words[place + 1])
        place += size
    return found


def run_here(text: str, *arrays: np.ndarray[Any, np.dtype[np.generic]]) -> None:
    """Run the items of the kernel `f` on this machine; device code has no function for it."""
    begin, end = text.index("define internal"), text.index("define spir_kernel")
    module = binding.parse_assembly(text[begin:end].replace("internal", ""))
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine()
    with binding.create_mcjit_compiler(module, machine) as engine:
        engine.finalize_object()
        count = len(arrays)
        types = [ctypes.c_void_p] * count + [ctypes.c_int64] * 2
        function = ctypes.CFUNCTYPE(None, *types)(engine.get_function_address("f"))
        function(*(array.ctypes.data for array in arrays), 0, len(arrays[-1]))
