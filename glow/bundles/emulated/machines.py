"""The CPUs that Unicorn emulates, and how functions are called on each.

Sources: Procedure Call Standard for the Arm Architecture, and for the Arm 64-bit Architecture;
RISC-V ELF psABI, integer calling convention.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from glow.dialects.errors import GlowError
from glow.lowering.target.target import Target

STACK_ALIGNMENT = 16

LONG_THUMB = 0b11101
"""From these five bits on, an instruction of Thumb has 32 bits."""


def count_thumb(code: bytes) -> int:
    """The instructions of Thumb code: of 16 bits, or 32."""
    place = count = 0
    while place < len(code):
        place += 4 if code[place + 1] >> 3 >= LONG_THUMB else 2
        count += 1
    return count


def count_riscv(code: bytes) -> int:
    """The instructions of RISC-V code: of 32 bits where the lowest two are set."""
    place = count = 0
    while place < len(code):
        place += 4 if code[place] & 3 == 3 else 2
        count += 1
    return count


def count_words(code: bytes) -> int:
    """The instructions of code where each has 32 bits."""
    return len(code) // 4


@dataclass(frozen=True)
class Machine:
    """A CPU of Unicorn by its numbers there, with registers of its calling convention."""

    architecture: int
    mode: int
    cpu: int | None
    bits: int
    arguments: Sequence[int]
    stack: int
    link: int
    """The register with the address to return to."""
    counter: int
    count: Callable[[bytes], int]
    start_bit: int = 0
    """What addresses of functions have set: 1 for Thumb."""

    @property
    def mask(self) -> int:
        """The bits of a register."""
        return (1 << self.bits) - 1

    def make(self) -> Any:
        """A new CPU."""
        from unicorn.unicorn import Uc

        unicorn = Uc(self.architecture, self.mode)
        if self.cpu is not None:
            unicorn.ctl_set_cpu_model(self.cpu)
        return unicorn

    def prepare(
        self, unicorn: Any, arguments: Sequence[int], stack: int, link: int
    ) -> None:
        """Set the registers of a call."""
        enable_floats(unicorn, self)
        for register, value in zip(self.arguments, arguments, strict=False):
            unicorn.reg_write(register, value)
        size, others = self.bits // 8, arguments[len(self.arguments) :]
        stack -= -(-len(others) * size // STACK_ALIGNMENT) * STACK_ALIGNMENT
        for number, value in enumerate(others):
            unicorn.mem_write(stack + number * size, value.to_bytes(size, "little"))
        unicorn.reg_write(self.stack, stack)
        unicorn.reg_write(self.link, link | self.start_bit)


def enable_floats(unicorn: Any, machine: Machine) -> None:
    """Switch the unit for floats on, as start-up code does."""
    from unicorn import arm64_const, arm_const, riscv_const, unicorn_const

    if machine.architecture == unicorn_const.UC_ARCH_ARM:
        unicorn.reg_write(arm_const.UC_ARM_REG_C1_C0_2, 0xF << 20)
        unicorn.reg_write(arm_const.UC_ARM_REG_FPEXC, 1 << 30)
    elif machine.architecture == unicorn_const.UC_ARCH_ARM64:
        unicorn.reg_write(arm64_const.UC_ARM64_REG_CPACR_EL1, 3 << 20)
    elif machine.architecture == unicorn_const.UC_ARCH_RISCV:
        unicorn.reg_write(riscv_const.UC_RISCV_REG_MSTATUS, 1 << 13)


def machine_of(target: Target) -> Machine:
    """The machine that runs code of a target; raises GlowError where there is none."""
    if find_spec("unicorn") is None:
        raise GlowError(
            "emulation needs Unicorn", hint="pip install 'glow-xdsl[bundles]'"
        )
    architecture = target.triple.split("-")[0]
    if target.core.family in ("cortex-m55", "generic-riscv-v"):
        raise GlowError(f"Unicorn has no vectors of {target.core.summary}")
    if architecture.startswith("thumb"):
        return _thumb()
    if architecture.startswith("aarch64"):
        return _arm64()
    if architecture.startswith("riscv"):
        return _riscv(is_wide=architecture == "riscv64")
    raise GlowError(f"Unicorn emulates no code for {target.triple}")


def _thumb() -> Machine:
    from unicorn import arm_const, unicorn_const

    names = ("R0", "R1", "R2", "R3")
    return Machine(
        unicorn_const.UC_ARCH_ARM,
        unicorn_const.UC_MODE_THUMB,
        arm_const.UC_CPU_ARM_MAX,
        32,
        [getattr(arm_const, f"UC_ARM_REG_{name}") for name in names],
        arm_const.UC_ARM_REG_SP,
        arm_const.UC_ARM_REG_LR,
        arm_const.UC_ARM_REG_PC,
        count_thumb,
        start_bit=1,
    )


def _arm64() -> Machine:
    from unicorn import arm64_const, unicorn_const

    return Machine(
        unicorn_const.UC_ARCH_ARM64,
        unicorn_const.UC_MODE_ARM,
        arm64_const.UC_CPU_ARM64_MAX,
        64,
        [getattr(arm64_const, f"UC_ARM64_REG_X{number}") for number in range(8)],
        arm64_const.UC_ARM64_REG_SP,
        arm64_const.UC_ARM64_REG_X30,
        arm64_const.UC_ARM64_REG_PC,
        count_words,
    )


def _riscv(*, is_wide: bool) -> Machine:
    from unicorn import riscv_const, unicorn_const

    mode = unicorn_const.UC_MODE_RISCV64 if is_wide else unicorn_const.UC_MODE_RISCV32
    return Machine(
        unicorn_const.UC_ARCH_RISCV,
        mode,
        None,
        64 if is_wide else 32,
        [getattr(riscv_const, f"UC_RISCV_REG_A{number}") for number in range(8)],
        riscv_const.UC_RISCV_REG_SP,
        riscv_const.UC_RISCV_REG_RA,
        riscv_const.UC_RISCV_REG_PC,
        count_riscv,
    )
