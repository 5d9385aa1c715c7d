"""Native code: compiling, linking, the executable of a whole program, and targets."""

from __future__ import annotations

from itertools import repeat

import numpy as np
import pytest
from support.programs.loops_testing import parse_loops

from glow.dialects.errors import GlowError
from glow.lowering.llvm_text.emit import emit_functions
from glow.lowering.loops_to_llvm.convert_loops_to_llvm import lower_functions
from glow.lowering.target.target import Target, host_target
from glow.runtime.buffers import aligned_empty
from glow.runtime.executable import Executable
from glow.runtime.linking.library import Library
from glow.runtime.native_code import assembly, compile_object, workers
from glow.runtime.testing import functions_of
from glow.runtime.threads.thread_pool import thread_pool

PROGRAM = """
func.func private @glow_barrier(memref<64xi8>, index)
func.func private @double(%y: memref<16xf32>, %x: memref<16xf32>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  scf.for %i = %lo to %hi step %c1 {
    %v = memref.load %x[%i] : memref<16xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %y[%i] : memref<16xf32>
  }
  func.return
}
func.func @main(%constants: memref<64xi8>, %mutables: memref<128xi8>,
    %activations: memref<64xi8>, %thread: index, %threads: index, %barrier: memref<64xi8>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %c = memref.view %constants[%c0][] : memref<64xi8> to memref<16xf32>
  %x = memref.view %mutables[%c0][] : memref<128xi8> to memref<16xf32>
  %y = memref.view %mutables[%c64][] : memref<128xi8> to memref<16xf32>
  %t = memref.view %activations[%c0][] : memref<64xi8> to memref<16xf32>
  %first = arith.muli %thread, %c16 : index
  %lo = arith.divui %first, %threads : index
  %following = arith.addi %thread, %c1 : index
  %last = arith.muli %following, %c16 : index
  %hi = arith.divui %last, %threads : index
  func.call @double(%t, %x, %lo, %hi)
    : (memref<16xf32>, memref<16xf32>, index, index) -> ()
  func.call @glow_barrier(%barrier, %threads) : (memref<64xi8>, index) -> ()
  %c15 = arith.constant 15 : index
  scf.for %i = %lo to %hi step %c1 {
    %j = arith.subi %c15, %i : index
    %v = memref.load %t[%j] : memref<16xf32>
    %b = memref.load %c[%i] : memref<16xf32>
    %w = arith.addf %v, %b : f32
    memref.store %w, %y[%i] : memref<16xf32>
  }
  func.return
}
"""


def program_texts() -> list[str]:
    """Returns the LLVM IR of each function, one module each."""
    target = host_target()
    functions = lower_functions(functions_of(parse_loops(PROGRAM)), target)
    return [emit_functions([f], target) for f in functions if f.blocks]


def build() -> tuple[Executable, np.ndarray]:
    """Returns the program, its kernels compiled apart, and its constants."""
    constants = np.arange(16, dtype=np.float32)
    objects = [compile_object(text, host_target()) for text in program_texts()]
    stored = aligned_empty(constants.nbytes)
    stored.view(np.float32)[:] = constants
    return Executable(objects, stored, 128, 64, thread_pool()), constants


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_executable(threads: int) -> None:
    executable, constants = build()
    mutables, activations = executable.new_mutables(), executable.new_activations()
    data = mutables.view(np.float32)
    data[:16] = x = np.arange(16, dtype=np.float32) * 3
    executable.run(mutables, activations, threads)
    np.testing.assert_array_equal(data[16:], (2 * x)[::-1] + constants)


def test_buffers_are_checked() -> None:
    executable, _ = build()
    good = executable.new_activations()
    with pytest.raises(GlowError, match="has 64 bytes, needs 128"):
        executable.run(aligned_empty(64), good)
    with pytest.raises(GlowError, match="aligned"):
        executable.run(aligned_empty(256)[8:], good)
    with pytest.raises(GlowError, match="contiguous bytes"):
        executable.run(aligned_empty(512)[::2], good)


def test_parallel_compilation_gives_the_same_objects() -> None:
    texts = program_texts() * 4
    target = host_target()
    with workers() as pool:
        found = list(pool.map(compile_object, texts, repeat(target)))
    assert found == [compile_object(text, target) for text in texts]


def test_locked_emission_gives_the_same_object(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where llvmlite no longer has its private attribute."""
    import glow.runtime.native_code as native_code

    text = program_texts()[0]
    expected = compile_object(text, host_target())
    monkeypatch.setattr(native_code, "unlocked_emit", lambda: None)
    assert compile_object(text, host_target()) == expected


def test_assembly_for_another_machine() -> None:
    text = "define float @f(float %x) {\n  %y = fadd float %x, %x\n  ret float %y\n}\n"
    assert "fadd\ts0, s0, s0" in assembly(text, Target.from_string("neon"))


def test_rejected_text_is_one_line() -> None:
    with pytest.raises(GlowError, match="LLVM rejects"):
        compile_object("define void @f() { nonsense }", host_target())


def test_missing_symbol() -> None:
    image = compile_object(
        "declare void @no_such_function()\n"
        "define void @f() {\n  call void @no_such_function()\n  ret void\n}\n",
        host_target(),
    )
    with pytest.raises(GlowError, match="cannot be linked"):
        Library([image], ["f"])


def test_targets() -> None:
    assert Target.from_string("cpu{features=avx2}").lanes(32) == 8
    assert Target.from_string("avx512").lanes(8) == 64
    assert Target.from_string("host") == host_target()
    assert not Target.from_string("scalar").fma_instruction
    with pytest.raises(GlowError, match="unknown target 'vax'"):
        Target.from_string("vax")
