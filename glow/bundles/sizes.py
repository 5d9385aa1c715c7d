"""What a bundle takes of a machine's memories: code and constants in flash, and RAM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

from glow.bundles.elf import ObjectSymbols
from glow.bundles.loader import read_manifest
from glow.bundles.wasm.object_file import symbols_of


@dataclass(frozen=True)
class BundleSizes:
    """Bytes. The flash takes text, rodata and weights; the RAM all else."""

    name: str
    target: str
    text: int
    """Code, and constants that stand among it."""
    rodata: int
    """Constants of the code; not the weights, also where these are linked."""
    weights: int
    activations: int
    inputs_and_outputs: int
    stack: int | None
    """None where it is unknown."""
    kernels: Mapping[str, int]
    """The code of each kernel."""

    @property
    def flash(self) -> int:
        """All that does not change."""
        return self.text + self.rodata + self.weights

    @property
    def ram(self) -> int:
        """All that a call needs."""
        return self.activations + self.inputs_and_outputs + (self.stack or 0)

    def as_json(self) -> Mapping[str, object]:
        """All of it, with the sums."""
        return {**asdict(self), "flash": self.flash, "ram": self.ram}


def code_bytes(folder: Path, name: str) -> tuple[int, int]:
    """The bytes of instructions, and of constants that are not weights."""
    module = folder / f"{name}.wasm"
    if module.exists():
        return symbols_of(module.read_bytes()).loaded_bytes(), 0
    sections = ObjectSymbols((folder / f"{name}.o").read_bytes()).sections
    weights = f".rodata.{name}"
    constants = [s.size for s in sections if s.is_constant and s.name != weights]
    return sum(section.size for section in sections if section.is_code), sum(constants)


def bundle_sizes(folder: Path) -> BundleSizes:
    """The sizes of the bundle in a folder; raises GlowError where there is none."""
    manifest = read_manifest(folder)
    name = str(manifest["name"])
    text, rodata = code_bytes(folder, name)
    target = cast("Mapping[str, str]", manifest["target"])
    stack = cast("int | None", manifest["stack_bytes"])
    return BundleSizes(
        name,
        target["name"],
        text,
        rodata,
        cast(int, manifest["constants_bytes"]),
        cast(int, manifest["activations_bytes"]),
        cast(int, manifest["mutables_bytes"]),
        stack,
        cast("Mapping[str, int]", manifest["kernel_bytes"]),
    )
