"""Bundles for other machines, emulated: int8 has the JIT's bits, f32 is as near as sums allow.

`make bundles` runs all targets; without it a few of them are tested. Of targets without floats
the f32 network is small, as each of its additions is computed in Python.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path

import numpy as np
import pytest
from places import ROOT

import glow
from glow.bundles.elf import ObjectSymbols
from glow.bundles.emulated.runtime import ROUTINES, memory_change
from glow.dialects.errors import GlowError
from glow.passes.quantization.options import QuantizationOptions
from glow.quantization import for_target
from glow.tools.glow import run_glow

pytest.importorskip("unicorn", reason="Unicorn is not installed")

DIGITS = ROOT / "examples" / "digits"
ALL = (
    "neon",
    "neon-dotprod",
    "riscv64",
    "riscv32",
    "cortex-m0plus",
    "cortex-m3",
    "cortex-m4",
    "cortex-m7",
    "cortex-m33",
)
SOME = ("riscv32", "cortex-m4", "cortex-m0plus")
EVERY = bool(os.environ.get("GLOW_ALL_TARGETS"))
WITHOUT_FLOATS = ("riscv32", "cortex-m0plus", "cortex-m3")


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("profile") / "digits.yaml"
    data = ["--data", str(DIGITS / "calibration.npz"), "--batches", "16"]
    run_glow(["profile", str(DIGITS / "digits.onnx"), *data, "-o", str(path)])
    return path


def image() -> np.ndarray:
    with np.load(DIGITS / "held_back.npz") as data:
        pixels = data[data.files[0]]
    return pixels[:1].astype(np.float32).reshape(1, 1, 8, 8)


def bundle(model: Path, folder: Path, target: str, *options: str) -> glow.LoadedBundle:
    arguments = ["compile", str(model), "--emit=bundle", "-o", str(folder)]
    run_glow([*arguments, f"--target={target}", *options])
    return glow.load(folder, emulate=True)


@functools.cache
def expected(
    model: Path, profile: Path | None = None, options: QuantizationOptions | None = None
) -> np.ndarray:
    """What the JIT gives, which is the same for many targets."""
    quantize = False if profile is None else str(profile)
    compiled = glow.compile(model, quantize=quantize, quantization=options, threads=1)
    return compiled(image())


@pytest.mark.parametrize("target", ALL if EVERY else SOME)
def test_int8_has_the_bits_of_the_jit(
    target: str, profile: Path, tmp_path: Path
) -> None:
    model = DIGITS / "digits.onnx"
    options = f"--quantize={profile}", "--numerics=exact", "--optimize=size"
    loaded = bundle(model, tmp_path / "out", target, *options)
    wanted = expected(model, profile, for_target(None, target))
    np.testing.assert_array_equal(loaded(image()), wanted)
    assert loaded.code.last.status == 0
    assert loaded.code.last.instructions > 0
    bound = loaded.manifest["stack_bytes"]
    assert bound // 2 < loaded.code.last.stack_bytes <= bound


@pytest.mark.parametrize("target", ALL if EVERY else SOME[-1:])
def test_f32_is_near_the_jit(target: str, tmp_path: Path) -> None:
    model = DIGITS / ("mlp.onnx" if target in WITHOUT_FLOATS else "digits.onnx")
    loaded = bundle(model, tmp_path / "out", target, "--optimize=size")
    wanted = expected(model)
    off = np.abs(loaded(image()) - wanted).max()
    assert off <= 1e-5 * np.abs(wanted).max()
    symbols = ObjectSymbols((tmp_path / "out" / f"{model.stem}.o").read_bytes())
    assert not [name for name in symbols.undefined if "di3" in name]


def test_writes_outside_of_buffers_are_found() -> None:
    from glow.bundles.emulation import Emulator
    from glow.lowering.target.target import Target
    from glow.runtime.native_code import compile_object

    target = Target.from_string("cortex-m4")
    text = """
define i32 @net(ptr %constants, ptr %mutables) {
  %next = getelementptr i8, ptr %mutables, i32 8
  store i8 1, ptr %next
  ret i32 0
}
define i32 @far(ptr %constants) {
  %far = getelementptr i8, ptr %constants, i32 1000000
  store i8 1, ptr %far
  ret i32 0
}
"""
    emulator = Emulator(compile_object(text, target), target)
    buffers = [np.zeros(8, np.uint8) for _ in range(2)]
    with pytest.raises(GlowError, match="wrote outside of its buffer 1"):
        emulator.call("net", buffers)
    with pytest.raises(GlowError, match="the emulated code failed"):
        emulator.call("far", buffers)
    wide = np.zeros(16, np.uint8)
    wide.flags.writeable = False
    with pytest.raises(GlowError, match="wrote to its constant buffer 1"):
        emulator.call("net", [wide, wide])


def test_other_machines_are_refused(tmp_path: Path) -> None:
    with pytest.raises(GlowError, match="Unicorn"):
        bundle(DIGITS / "mlp.onnx", tmp_path / "out", "x86-64")


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("__divsi3", (2**32 - 7, 2), 2**32 - 3),
        ("__modsi3", (2**32 - 7, 2), 2**32 - 1),
        ("__aeabi_idivmod", (2**32 - 7, 2), (2**32 - 1) << 32 | 2**32 - 3),
        ("__aeabi_fcmplt", (0x3F800000, 0x40000000), 1),
        ("__aeabi_fcmplt", (0x7FC00000, 0x40000000), 0),
        ("__addsf3", (0x3F800000, 0x40000000), 0x40400000),
        ("__ltsf2", (0x3F800000, 0x40000000), 2**32 - 1),
        ("__ltsf2", (0x7FC00000, 0x40000000), 1),
        ("__unordsf2", (0x7FC00000, 0x40000000), 1),
        ("__fixsfsi", (0xBFC00000,), 2**32 - 1),
        ("__ashrdi3", (1 << 63, 63), 2**64 - 1),
    ],
)
def test_routines(name: str, operands: tuple[int, ...], expected: int) -> None:
    routine = ROUTINES[name]
    mask = (1 << routine.result_bits) - 1
    assert routine.compute(*operands) & mask == expected


def test_functions_that_change_memory() -> None:
    assert memory_change("memcpy", (1, 2, 3)) == (2, 0, 3)
    assert memory_change("__aeabi_memcpy4", (1, 2, 3)) == (2, 0, 3)
    assert memory_change("memset", (1, 0x102, 3)) == (None, 2, 3)
    assert memory_change("__aeabi_memset8", (1, 3, 0x102)) == (None, 2, 3)
    assert memory_change("__aeabi_memclr", (1, 3, 9)) == (None, 0, 3)
    assert memory_change("__addsf3", (1, 2)) is None
