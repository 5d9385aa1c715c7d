"""Runs an object for another machine in Unicorn, and counts its instructions.

The object is linked by LLVM's linker (`ziglang` from PyPI has it, or Debian's `lld`), its
sections are copied into the memory of an emulated CPU, and a function of it is called:

    emulator = Emulator(object_bytes, Target.from_string("cortex-m4"))
    outcome = emulator.call("lenet", [constants, mutables, activations])
    outcome.status, outcome.instructions

Arrays of bytes are passed by their address. Around each stand guard bytes; a call that changes
one, or that reads or writes anywhere else, raises GlowError. What is written is in the arrays
afterwards. The stack is filled before, so that what was used of it is known.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from glow.bundles.elf import ObjectSymbols
from glow.bundles.emulated.machines import Machine, machine_of
from glow.bundles.emulated.runtime import memory_change, routine
from glow.dialects.errors import GlowError
from glow.lowering.target.target import Target

if TYPE_CHECKING:
    from numpy.typing import NDArray

CODE = 0x0010_0000
RETURN = 0x0008_0000
"""Where a call returns to, which ends it."""
STACK_END, STACK_SIZE = 0x2000_0000, 0x0010_0000
BUFFERS = 0x4000_0000
PAGE = 0x1000
GUARD = 64
"""Bytes before and behind a buffer, which is aligned to as many."""
FILL = 0xA5


@dataclass(frozen=True)
class Outcome:
    """What a call did."""

    status: int
    instructions: int
    """Without those of the compiler's runtime (`emulated.runtime`)."""
    stack_bytes: int
    runtime_calls: int


class Emulator:
    """A linked object and the machine that it runs on.

    Raises GlowError where Unicorn or a linker is missing, or does not know the machine.
    """

    def __init__(self, object_code: bytes, target: Target) -> None:
        self.machine = machine_of(target)
        undefined = ObjectSymbols(object_code).undefined
        self.image = ObjectSymbols(linked(object_code, undefined, target))
        self.symbols = {each.name: each.value for each in self.image.defined}
        self.called = {self.symbols[name] & ~1: name for name in undefined}

    def call(self, name: str, arguments: Sequence[int | NDArray[np.uint8]]) -> Outcome:
        """Call a function; arrays of bytes are passed by address and are changed."""
        if name not in self.symbols:
            raise GlowError(f"the bundle has no function '{name}'")
        return _Call(self, name, arguments).run()


class EmulatedCode:
    """The object of a bundle in a folder; `last` is what the last call did."""

    def __init__(self, folder: Path, manifest: Mapping[str, object]) -> None:
        described = cast("Mapping[str, str]", manifest["target"])
        code = (folder / f"{manifest['name']}.o").read_bytes()
        self._emulator = Emulator(code, described_target(described))
        self.last: Outcome | None = None

    def call(
        self,
        symbol: str,
        constants: NDArray[np.uint8],
        mutables: NDArray[np.uint8],
        activations: NDArray[np.uint8],
    ) -> int:
        """What an entry returns."""
        fixed = constants.view()
        fixed.flags.writeable = False
        self.last = self._emulator.call(symbol, [fixed, mutables, activations])
        return self.last.status


def described_target(described: Mapping[str, str]) -> Target:
    """The target that a manifest describes."""
    parts = {key: described[key] for key in ("triple", "cpu", "features", "abi")}
    return replace(Target.from_string(described["name"]), **parts)


class _Call:
    """One call, in an emulated CPU of its own."""

    def __init__(
        self,
        emulator: Emulator,
        name: str,
        arguments: Sequence[int | NDArray[np.uint8]],
    ) -> None:
        self.emulator = emulator
        self.machine: Machine = emulator.machine
        self.start = emulator.symbols[name]
        self.unicorn: Any = self.machine.make()
        self.instructions = 0
        self.runtime_calls = 0
        self.problem: str | None = None
        self.lengths: dict[tuple[int, int], int] = {}
        self.buffers: list[tuple[int, NDArray[np.uint8]]] = []
        self._load()
        self.registers = [self._place(argument) for argument in arguments]

    def _load(self) -> None:
        """Copy the sections, and make a stack and the place to return to."""
        loaded = [s for s in self.emulator.image.sections if s.is_loaded]
        first = min((s.address for s in loaded), default=CODE) // PAGE * PAGE
        end = max((s.address + s.size for s in loaded), default=CODE)
        self.unicorn.mem_map(first, _pages(end - first))
        for section in loaded:
            content = self.emulator.image.content(section)
            self.unicorn.mem_write(section.address, content)
        self.unicorn.mem_map(RETURN, PAGE)
        self.unicorn.mem_map(STACK_END - STACK_SIZE, STACK_SIZE)
        self.unicorn.mem_write(STACK_END - STACK_SIZE, bytes([FILL]) * STACK_SIZE)

    def _place(self, argument: int | NDArray[np.uint8]) -> int:
        """The register of an argument: a number, or where a copy of a buffer is."""
        if isinstance(argument, int):
            return argument
        last = self.buffers[-1] if self.buffers else None
        base = BUFFERS if last is None else last[0] + _pages(last[1].size + PAGE)
        base = -(-base // PAGE) * PAGE + PAGE
        guard = bytes([FILL]) * GUARD
        self.unicorn.mem_map(base - PAGE, _pages(PAGE + argument.size + GUARD))
        self.unicorn.mem_write(base - GUARD, guard + argument.tobytes() + guard)
        self.buffers.append((base, argument))
        return base

    def run(self) -> Outcome:
        """Run until the function returns."""
        from unicorn.unicorn import UcError
        from unicorn.unicorn_const import UC_HOOK_BLOCK

        machine, unicorn = self.machine, self.unicorn
        machine.prepare(unicorn, self.registers, STACK_END, RETURN)
        unicorn.hook_add(UC_HOOK_BLOCK, self._block)
        try:
            unicorn.emu_start(self.start | machine.start_bit, RETURN)
        except UcError as error:
            place = unicorn.reg_read(machine.counter)
            raise GlowError(
                f"the emulated code failed at {place:#x}: {error}"
            ) from None
        if self.problem is not None:
            raise GlowError(self.problem)
        self._check_guards()
        status = unicorn.reg_read(machine.arguments[0])
        used = self._stack_used()
        signed = status - (1 << 32) if status & (1 << 31) else status
        return Outcome(signed, self.instructions, used, self.runtime_calls)

    def _block(self, unicorn: Any, address: int, size: int, _: object) -> None:
        """Count a block of instructions; do what a function of the runtime does."""
        name = self.emulator.called.get(address)
        if name is not None:
            self.runtime_calls += 1
            try:
                self._runtime(name)
            except GlowError as error:
                self.problem = error.message
                unicorn.emu_stop()
            return
        key = (address, size)
        if key not in self.lengths:
            code = bytes(unicorn.mem_read(address, size))
            self.lengths[key] = self.machine.count(code)
        self.instructions += self.lengths[key]

    def _runtime(self, name: str) -> None:
        registers = [self.unicorn.reg_read(r) for r in self.machine.arguments]
        change = memory_change(name, registers)
        if change is not None:
            source, byte, size = change
            read = self.unicorn.mem_read
            content = bytes([byte]) * size if source is None else read(source, size)
            self.unicorn.mem_write(registers[0], bytes(content))
            return
        found = routine(name)
        if found is None:
            raise GlowError(f"the emulator has no '{name}', which the bundle calls")
        operands: list[int] = []
        for bits in found.operand_bits:
            count = -(-bits // self.machine.bits)
            parts, registers = registers[:count], registers[count:]
            total = sum(p << (k * self.machine.bits) for k, p in enumerate(parts))
            operands.append(total & ((1 << bits) - 1))
        result = found.compute(*operands) & ((1 << found.result_bits) - 1)
        for number in range(-(-found.result_bits // self.machine.bits)):
            part = (result >> (number * self.machine.bits)) & self.machine.mask
            self.unicorn.reg_write(self.machine.arguments[number], part)

    def _check_guards(self) -> None:
        """Copy the buffers back; raises GlowError where the bytes around one changed."""
        guard = bytes([FILL]) * GUARD
        for number, (base, argument) in enumerate(self.buffers):
            before = bytes(self.unicorn.mem_read(base - GUARD, GUARD))
            behind = bytes(self.unicorn.mem_read(base + argument.size, GUARD))
            if before != guard or behind != guard:
                raise GlowError(f"the bundle wrote outside of its buffer {number}")
            content = bytes(self.unicorn.mem_read(base, argument.size))
            if argument.flags.writeable:
                argument[...] = np.frombuffer(content, np.uint8)
            elif content != argument.tobytes():
                raise GlowError(f"the bundle wrote to its constant buffer {number}")

    def _stack_used(self) -> int:
        """The bytes of the stack from the first one that changed."""
        stack = bytes(self.unicorn.mem_read(STACK_END - STACK_SIZE, STACK_SIZE))
        return STACK_SIZE - (len(stack) - len(stack.lstrip(bytes([FILL]))))


def _pages(size: int) -> int:
    return -(-size // PAGE) * PAGE


def linked(object_code: bytes, undefined: Sequence[str], target: Target) -> bytes:
    """An executable of an object and empty functions for what it lacks."""
    from glow.runtime.native_code import compile_object

    lines = [f"define void @{name}() {{ ret void }}" for name in undefined]
    runtime = compile_object("\n".join(lines), target)
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "bundle.o"), Path(folder, "runtime.o")
        for file, content in zip(files, (object_code, runtime), strict=True):
            file.write_bytes(content)
        return _linked_files(files, Path(folder, "image"))


def _linked_files(files: Sequence[Path], image: Path) -> bytes:
    """The executable that the linker makes of objects."""
    names = [str(file) for file in files]
    places = ["-e", "0", f"-Ttext={CODE:#x}", f"--image-base={CODE:#x}", "-n"]
    command = [*linker(), *names, "-o", str(image), *places]
    run = subprocess.run(command, check=False, capture_output=True, text=True)
    if run.returncode:
        raise GlowError(f"the bundle does not link: {run.stderr}")
    return image.read_bytes()


@cache
def linker() -> tuple[str, ...]:
    """The command of LLVM's linker; raises GlowError where there is none."""
    if find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "ld.lld")
    found = shutil.which("ld.lld")
    if found is None:
        raise GlowError(
            "emulation needs a linker", hint="pip install 'glow-xdsl[bundles]'"
        )
    return (found,)
