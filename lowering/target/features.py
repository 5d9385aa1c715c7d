"""Features of CPUs by their names in LLVM, and architectures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glow.lowering.target.target import Target

AMX = ("amx-int8", "amx-bf16", "amx-tile")
"""Products of matrix tiles, and what they are built on."""


def is_architecture(target: Target, triple: str) -> bool:
    """Whether a triple is of a target's architecture."""
    return target.triple.split("-")[0] == triple.split("-")[0]


def same_architecture(one: Target, other: Target) -> bool:
    """Whether two machines have the same instructions but for extensions."""
    return is_architecture(one, other.triple)


def byte_dot_of(has: Mapping[str, bool], target: Target) -> str:
    """Returns the int8 dot product that features allow a machine of a target."""
    if target.is_aarch64:
        return next((name for name in ("i8mm", "dotprod") if has.get(name)), "none")
    if not target.triple.startswith("x86_64"):
        return target.byte_dot
    return "vnni" if has.get(vnni_feature(target), False) else "none"


def vnni_feature(target: Target) -> str:
    """Returns the name of the integer dot products for x86 vectors of that size."""
    return {64: "avx512vnni", 32: "avxvnni"}.get(target.vector_bytes, "")


AVX2_BYTES = 32
"""The vectors of AVX2, which shuffles all bytes of one."""


def looks_up_bytes(target: Target) -> bool:
    """Whether instructions look vectors of bytes up in a table faster than loads do."""
    is_wide = target.is_x86 and target.vector_bytes >= AVX2_BYTES
    return is_wide and not target.for_size


def has_byte_permutations(target: Target) -> bool:
    """Whether one instruction looks 64 bytes up in a table of 128 (AVX512_VBMI)."""
    signs = [one[0] for one in target.features.split(",") if one[1:] == "avx512vbmi"]
    return looks_up_bytes(target) and signs[-1:] == ["+"]
