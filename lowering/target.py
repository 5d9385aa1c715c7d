"""What kernel builders and code generation know about the machine.

Builders read widths and sizes from a `Target` and never test for an instruction set by
name; code generation passes the triple, the CPU and the features on to LLVM. The same
builders serve the host (`host_target()`) and other machines (`Target.from_string`).
LLVM is imported only to ask it about the host.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache

from glow.dialects.errors import GlowError

KIB = 1024


@dataclass(frozen=True)
class Target:
    """A CPU as kernel builders see it; sizes in bytes, one core's share of caches."""

    triple: str
    cpu: str
    features: str
    vector_bytes: int
    num_vector_registers: int
    has_fma: bool
    has_vnni: bool = False
    has_bf16: bool = False
    l1_bytes: int = 32 * KIB
    l2_bytes: int = 512 * KIB

    def lanes(self, element_bits: int) -> int:
        """Returns how many elements of the given width one vector register holds."""
        return max(1, self.vector_bytes * 8 // element_bits)

    @staticmethod
    def from_string(text: str) -> Target:
        """Returns the target that the text names: `host`, `avx512`, `avx512bf16`, `avx2`, `neon`,
        `scalar`, or one of these as a feature of the CPU backend,
        `cpu{features=avx2}`. Raises GlowError for an unknown name.
        """
        match = re.fullmatch(r"cpu(?:\{features=(\S+)\})?|(\S+)", text.strip())
        name = (match.group(1) or match.group(2) or "host") if match else text
        if name == "host":
            return host_target()
        if name not in PRESETS:
            known = ", ".join(["host", *PRESETS])
            raise GlowError(f"unknown target '{text}'", hint=f"known targets: {known}")
        return PRESETS[name]


PRESETS = {
    "avx512": Target(
        triple="x86_64-unknown-linux-gnu",
        cpu="x86-64-v4",
        features="+avx512vnni",
        vector_bytes=64,
        num_vector_registers=32,
        has_fma=True,
        has_vnni=True,
        l2_bytes=1024 * KIB,
    ),
    "avx512bf16": Target(
        triple="x86_64-unknown-linux-gnu",
        cpu="x86-64-v4",
        features="+avx512vnni,+avx512bf16",
        vector_bytes=64,
        num_vector_registers=32,
        has_fma=True,
        has_vnni=True,
        has_bf16=True,
        l2_bytes=1024 * KIB,
    ),
    "avx2": Target(
        triple="x86_64-unknown-linux-gnu",
        cpu="x86-64-v3",
        features="",
        vector_bytes=32,
        num_vector_registers=16,
        has_fma=True,
        l2_bytes=256 * KIB,
    ),
    "neon": Target(
        triple="aarch64-unknown-linux-gnu",
        cpu="generic",
        features="+neon",
        vector_bytes=16,
        num_vector_registers=32,
        has_fma=True,
    ),
    "scalar": Target(
        triple="x86_64-unknown-linux-gnu",
        cpu="x86-64",
        features="",
        vector_bytes=16,
        num_vector_registers=16,
        has_fma=False,
    ),
}


@cache
def host_target() -> Target:
    """Returns the target of the machine that this process runs on."""
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    preset = host_preset(dict(features), llvm.get_process_triple())
    vnni = "avx512vnni" if preset.vector_bytes == 64 else "avxvnni"
    return replace(
        preset,
        triple=llvm.get_process_triple(),
        cpu=llvm.get_host_cpu_name(),
        features=features.flatten(),
        has_vnni=features.get(vnni, False),
        has_bf16=features.get("avx512bf16", False),
        **cache_sizes(),
    )


def host_preset(features: dict[str, bool], triple: str) -> Target:
    """Returns the preset with the vector width that the features allow."""
    if features.get("avx512f") and features.get("avx512bw"):
        return PRESETS["avx512"]
    if features.get("avx2") and features.get("fma"):
        return PRESETS["avx2"]
    if triple.startswith(("aarch64", "arm64")):
        return PRESETS["neon"]
    return PRESETS["scalar"]


def cache_sizes() -> dict[str, int]:
    """Returns `l1_bytes` and `l2_bytes` where the system tells them."""
    sizes = {"l1_bytes": read_cache_size(0), "l2_bytes": read_cache_size(2)}
    return {name: size for name, size in sizes.items() if size}


def read_cache_size(index: int) -> int:
    """Returns the size of a cache of the first core in bytes, 0 where unknown."""
    path = f"/sys/devices/system/cpu/cpu0/cache/index{index}/size"
    try:
        with open(path, encoding="ascii") as file:
            text = file.read().strip()
    except OSError:
        return 0
    units = {"K": KIB, "M": KIB * KIB}
    digits = text.rstrip("KM")
    return int(digits) * units.get(text[-1:], 1) if digits.isdigit() else 0
