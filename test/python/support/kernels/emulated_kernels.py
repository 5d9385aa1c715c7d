"""Runs kernels for other machines in Unicorn, on arrays that end where their memory ends.

A read or write outside of a buffer stops the emulator. Skips where PyPI's `unicorn` or `ziglang`
(whose linker this is) are not installed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from glow.lowering.llvm_text.emit import emit_functions
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loops_to_llvm.convert_loops_to_llvm import lower_functions
from glow.lowering.target.target import Target
from glow.runtime.native_code import compile_object

Array = np.ndarray

CODE, STACK, BUFFERS, END = 0x10000, 0x0800_0000, 0x2000_0000, 0x0F00_0000
PAGE = 0x1000
STACK_BYTES = 1 << 16
LOAD = 1


def linked(text: str, target: Target, name: str) -> bytes:
    """The ELF file of LLVM IR text, at its place."""
    pytest.importorskip("ziglang")
    with TemporaryDirectory() as folder:
        source, program = Path(folder, "kernel.o"), Path(folder, "kernel.elf")
        source.write_bytes(compile_object(text, target))
        arguments = ["-e", name, f"--image-base={CODE:#x}", "-o", program, source]
        command = [sys.executable, "-m", "ziglang", "ld.lld", *map(str, arguments)]
        subprocess.run(command, check=True, capture_output=True)
        return program.read_bytes()


def segments(elf: bytes) -> tuple[int, list[tuple[int, bytes, int]]]:
    """The entry of an ELF file, and the address, bytes and size of what it loads."""
    wide = elf[4] == 2
    word = np.dtype("<u8" if wide else "<u4")
    entry = int(np.frombuffer(elf, word, 1, 24)[0])
    first = int(np.frombuffer(elf, word, 1, 32 if wide else 28)[0])
    size, count = np.frombuffer(elf, "<u2", 2, 54 if wide else 42).tolist()
    found: list[tuple[int, bytes, int]] = []
    for start in range(first, first + size * count, size):
        kind = int(np.frombuffer(elf, "<u4", 1, start)[0])
        fields = np.frombuffer(elf, word, 5, start + (8 if wide else 4)).tolist()
        offset, address, _, stored, total = fields
        if kind == LOAD:
            found.append((address, elf[offset : offset + stored], total))
    return entry, found


class Machine:
    """An emulated CPU with one function."""

    def __init__(self, elf: bytes, target: Target) -> None:
        unicorn = pytest.importorskip("unicorn")
        from unicorn import arm64_const, arm_const

        self.wide = target.triple.startswith("aarch64")
        if self.wide:
            self.cpu = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
            self.cpu.ctl_set_cpu_model(arm64_const.UC_CPU_ARM64_MAX)
            self.registers = [arm64_const.UC_ARM64_REG_X0 + k for k in range(8)]
            self.stack = arm64_const.UC_ARM64_REG_SP
            self.link = arm64_const.UC_ARM64_REG_X30
        else:
            self.cpu = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB)
            self.cpu.ctl_set_cpu_model(arm_const.UC_CPU_ARM_MAX)
            self.registers = [arm_const.UC_ARM_REG_R0 + k for k in range(4)]
            self.stack = arm_const.UC_ARM_REG_SP
            self.link = arm_const.UC_ARM_REG_LR
        self.entry, parts = segments(elf)
        self.top = BUFFERS
        for address, data, size in parts:
            self._map(address, size)
            self.cpu.mem_write(address, data)
        self._map(STACK, STACK_BYTES)
        self._map(END, PAGE)
        self._enable_floats(arm64_const, arm_const)

    def _enable_floats(self, arm64_const: object, arm_const: object) -> None:
        if self.wide:
            register = arm64_const.UC_ARM64_REG_CPACR_EL1
            self.cpu.reg_write(register, self.cpu.reg_read(register) | 3 << 20)
        else:
            self.cpu.reg_write(arm_const.UC_ARM_REG_C1_C0_2, 0xF << 20)
            self.cpu.reg_write(arm_const.UC_ARM_REG_FPEXC, 1 << 30)

    def _map(self, address: int, size: int) -> None:
        low, high = address & -PAGE, (address + size + PAGE - 1) & -PAGE
        self.cpu.mem_map(low, high - low)

    def place(self, array: Array) -> int:
        """The address of a copy of the array whose end is that of its pages."""
        size = max(array.nbytes, 1)
        high = self.top + ((size + PAGE - 1) & -PAGE)
        self._map(self.top, size)
        self.top = high + PAGE
        address = (high - array.nbytes) & -max(array.itemsize, 1)
        self.cpu.mem_write(address, array.tobytes())
        return address

    def call(self, arguments: Sequence[int]) -> None:
        """Runs the function with integer arguments."""
        count, size = len(self.registers), 8 if self.wide else 4
        for register, value in zip(self.registers, arguments, strict=False):
            self.cpu.reg_write(register, value)
        rest = arguments[count:]
        stack = (STACK + STACK_BYTES - size * len(rest)) & -16
        data = b"".join(value.to_bytes(size, "little") for value in rest)
        self.cpu.mem_write(stack, data)
        self.cpu.reg_write(self.stack, stack)
        self.cpu.reg_write(self.link, END | (not self.wide))
        self.cpu.emu_start(self.entry, END)

    def read(self, address: int, like: Array) -> Array:
        """An array of memory."""
        data = bytes(self.cpu.mem_read(address, like.nbytes))
        return np.frombuffer(data, like.dtype).reshape(like.shape)


def run_emulated(
    kernel: Kernel, outputs: Sequence[Array], inputs: Sequence[Array], target: Target
) -> list[Array]:
    """What a kernel for another machine leaves in its outputs."""
    kernel.function.verify()
    name = kernel.function.sym_name.data
    text = emit_functions(lower_functions([kernel.function], target), target)
    machine = Machine(linked(text, target, name), target)
    addresses = [machine.place(array) for array in (*outputs, *inputs)]
    machine.call([*addresses, 0, kernel.work_items])
    return [
        machine.read(address, array)
        for address, array in zip(addresses, outputs, strict=False)
    ]
