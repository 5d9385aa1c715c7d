"""The boards that QEMU has for Arm's microcontrollers, one a core.

Source: Arm's application notes AN385, AN386, AN500, AN505 and AN547, and QEMU's
`hw/arm/mps2.c`, `mps2-tz.c` and `mps3r.c`; what is called flash here is memory that keeps code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True)
class Board:
    """A machine of QEMU, its memories, and what GCC wants to know about its CPU."""

    machine: str
    flags: str
    flash: int = 0
    flash_bytes: int = 4 * MIB
    ram: int = 0x2000_0000
    ram_bytes: int = 4 * MIB

    def parts(self, cpu: str) -> Mapping[str, str]:
        """What stands in the files of an example, by its name there."""
        return {
            "CPU": cpu,
            "MACHINE": self.machine,
            "FLAGS": self.flags,
            "FLASH": hex(self.flash),
            "FLASH_BYTES": hex(self.flash_bytes),
            "RAM": hex(self.ram),
            "RAM_BYTES": hex(self.ram_bytes),
        }


BOARDS: Mapping[str, Board] = {
    "cortex-m0plus": Board("mps2-an385", "-mcpu=cortex-m0plus -mfloat-abi=soft"),
    "cortex-m3": Board("mps2-an385", "-mcpu=cortex-m3 -mfloat-abi=soft"),
    "cortex-m4": Board("mps2-an386", "-mcpu=cortex-m4 -mfloat-abi=hard"),
    "cortex-m7": Board("mps2-an500", "-mcpu=cortex-m7 -mfloat-abi=hard"),
    "cortex-m33": Board(
        "mps2-an505",
        "-mcpu=cortex-m33 -mfloat-abi=hard",
        flash=0x1000_0000,
        ram=0x3800_0000,
    ),
    "cortex-m55": Board(
        "mps3-an547",
        "-mcpu=cortex-m55 -mfloat-abi=hard",
        flash_bytes=MIB // 2,
        ram=0x2100_0000,
        ram_bytes=4 * MIB,
    ),
}
"""By LLVM's name of the CPU. A Cortex-M3 runs the code of a Cortex-M0+."""
