"""What kernel builders and code generation know about the machine.

Builders read widths and sizes from a `Target` and never test for an instruction set by
name; code generation passes the triple, the CPU and the features on to LLVM. The same
builders serve the host (`host_target()`) and other machines (`Target.from_string`).
LLVM is imported only to ask it about the host.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache

from glow.dialects.errors import GlowError
from glow.lowering.target.core import Core
from glow.lowering.target.cores import CORE_OF_CPU, CORES

KIB = 1024


@dataclass(frozen=True)
class Target:
    """A CPU as kernel builders see it."""

    triple: str
    cpu: str
    features: str
    core: Core
    """The numbers by which kernels and tiles are chosen."""
    has_fma: bool
    has_vnni: bool = False
    has_bf16: bool = False

    @property
    def vector_bytes(self) -> int:
        """The width of vectors."""
        return self.core.vector_bytes

    @property
    def num_vector_registers(self) -> int:
        """How many of them there are."""
        return self.core.vector_registers

    @property
    def l1_bytes(self) -> int:
        """The first cache for data."""
        return self.core.l1_bytes

    @property
    def l2_bytes(self) -> int:
        """One core's share of the second cache."""
        return self.core.l2_bytes

    def with_core(self, **figures: float) -> Target:
        """The target with other numbers of its core."""
        return replace(self, core=replace(self.core, **figures))

    def with_core_file(self, path: str) -> Target:
        """The target with the figures of a file; raises GlowError for a wrong one."""
        from glow.lowering.target.core_file import core_of_file

        return replace(self, core=core_of_file(path, self.core))

    def lanes(self, element_bits: int) -> int:
        """Returns how many elements of the given width one vector register holds."""
        return max(1, self.vector_bytes * 8 // element_bits)

    @staticmethod
    def from_string(text: str) -> Target:
        """Returns the target that the text names.

        `host`, a preset (`avx512`, `avx512bf16`, `avx2`, `neon`, `scalar`) or a CPU as
        LLVM calls it, then features to add and remove: `host_without-avx512f`,
        `haswell_with-avxvnni`. Or one of these as a feature of the CPU backend,
        `cpu{features=avx2}`. Figures of a file stand before those of the core's table
        behind an `@`: `host@core.json`. Raises GlowError for an unknown name.
        """
        match = re.fullmatch(r"cpu(?:\{features=(\S+)\})?|(\S+)", text.strip())
        name = (match.group(1) or match.group(2) or "host") if match else text
        name, _, file = name.partition("@")
        target = base_target(re.split(FEATURE, name)[0])
        changes = re.findall(FEATURE, name)
        check_features(target, [feature for _, feature in changes])
        target = target.changed({feature: sign == "with" for sign, feature in changes})
        return target if not file else target.with_core_file(file)

    def runs_on(self, machine: Target) -> bool:
        """Whether a machine has what the description says; LLVM's CPU may have more."""
        levels = machine.feature_levels()
        return same_architecture(self, machine) and all(
            levels.get(feature) or f"+{feature}" in machine.features.split(",")
            for feature, needed in self.feature_levels().items()
            if needed
        )

    def changed(self, features: Mapping[str, bool]) -> Target:
        """Returns the target with features, or without them and what is built on them."""
        if not features:
            return self
        has = {**self.feature_levels(), **features}
        if not (has["avx2"] and has["fma"]):
            has["avx512f"] = False
        level = host_preset(has, self.triple)
        signed = ["-+"[enabled] + name for name, enabled in features.items()]
        return replace(
            self,
            features=",".join(filter(None, [self.features, *signed])),
            core=_with_vectors_of(self.core, level),
            has_fma=level.has_fma,
            has_vnni=has.get(vnni_feature(level), False),
            has_bf16=has["avx512bf16"] and level.vector_bytes == 64,
        )

    def feature_levels(self) -> dict[str, bool]:
        """Returns the features that descriptions depend on, and whether this has them."""
        wide, middle = self.vector_bytes == 64, self.vector_bytes >= 32
        return {
            **dict.fromkeys(("avx512f", "avx512bw"), wide),
            **dict.fromkeys(("avx2", "fma"), middle),
            "avx512bf16": self.has_bf16,
            vnni_feature(self): self.has_vnni,
        }


FEATURE = re.compile(r"_(with|without)-([A-Za-z0-9.-]+)")
"""A change of features in the name of a target."""


PRESETS = {
    "avx512": Target(
        triple="x86_64-unknown-linux-gnu",
        cpu="x86-64-v4",
        features="+avx512vnni",
        core=CORES["generic-avx512"],
        has_fma=True,
        has_vnni=True,
    ),
    "avx2": Target(
        triple="x86_64-unknown-linux-gnu",
        cpu="x86-64-v3",
        features="",
        core=CORES["generic-avx2"],
        has_fma=True,
    ),
    "neon": Target(
        triple="aarch64-unknown-linux-gnu",
        cpu="generic",
        features="+neon",
        core=CORES["generic-neon"],
        has_fma=True,
    ),
    "scalar": Target(
        triple="x86_64-unknown-linux-gnu",
        cpu="x86-64",
        features="",
        core=CORES["generic-sse"],
        has_fma=False,
    ),
    "avx512bf16": Target(
        triple="x86_64-unknown-linux-gnu",
        cpu="x86-64-v4",
        features="+avx512vnni,+avx512bf16",
        core=CORES["generic-avx512"],
        has_fma=True,
        has_vnni=True,
        has_bf16=True,
    ),
}
"""The instruction sets, each with the numbers of a core that is not known further."""


CPUS = {
    **dict.fromkeys(("x86-64", "x86-64-v2"), "scalar"),
    **dict.fromkeys(
        ("x86-64-v3", "haswell", "broadwell", "skylake", "znver1", "znver2", "znver3"),
        "avx2",
    ),
    **dict.fromkeys(("x86-64-v4", "skylake-avx512"), "avx512"),
    **dict.fromkeys(("cascadelake", "icelake-server"), "avx512"),
    **dict.fromkeys(("cooperlake", "sapphirerapids", "emeraldrapids"), "avx512bf16"),
    **dict.fromkeys(("znver4", "znver5"), "avx512bf16"),
    **dict.fromkeys(("generic", "cortex-a72", "cortex-a76", "neoverse-n1"), "neon"),
    **dict.fromkeys(("neoverse-n2", "neoverse-v1", "neoverse-v2"), "neon"),
}
"""The instruction sets of CPUs, by LLVM's names; `CORE_OF_CPU` has their numbers."""

WITHOUT_VNNI = ("x86-64-v4", "skylake-avx512")


def base_target(name: str) -> Target:
    """Returns the host, a preset or a CPU; raises GlowError for another name."""
    if name == "host":
        return host_target()
    if name in PRESETS:
        return PRESETS[name]
    if name not in CPUS:
        known = ", ".join(["host", *PRESETS, *CPUS])
        raise GlowError(f"unknown target '{name}'", hint=f"known targets: {known}")
    preset = replace(PRESETS[CPUS[name]], cpu=name, core=CORE_OF_CPU[name])
    if name in WITHOUT_VNNI:
        return replace(preset, features="", has_vnni=False)
    return preset


def check_features(target: Target, names: Sequence[str]) -> None:
    """Raise GlowError for a feature that LLVM does not know, and would ignore.

    It lists those of the host's architecture only.
    """
    if not names or not same_architecture(target, host_target()):
        return
    import llvmlite.binding as llvm

    known = llvm.get_host_cpu_features()
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"did you mean '{near[0]}'?" if near else None
            raise GlowError(f"unknown feature '{name}'", hint=hint)


def same_architecture(one: Target, other: Target) -> bool:
    """Whether two machines have the same instructions but for extensions."""
    return one.triple.split("-")[0] == other.triple.split("-")[0]


def target_name(
    cpu: str | None, features: str | None, core_file: str | None = None
) -> str:
    """Returns the name of a CPU (the host's) with features such as `+avxvnni,-fma`.

    Raises GlowError for a feature without a sign, a CPU that is not known, or a file that
    has no figures for its core.
    """
    name = "host" if cpu is None else cpu
    for change in filter(None, (features or "").split(",")):
        match = re.fullmatch(r"([-+])([A-Za-z0-9.-]+)", change.strip())
        if match is None:
            raise GlowError(f"feature '{change}' has no sign", hint="+avx2 or -avx2")
        name += f"_{'with' if match[1] == '+' else 'without'}-{match[2]}"
    if core_file is not None:
        name += f"@{os.path.abspath(core_file)}"
    if name != "host":  # Which needs LLVM, and is always known.
        Target.from_string(name)
    return name


def runnable_target(name: str) -> Target:
    """Returns a target by name; raises GlowError where this machine cannot run it."""
    target = Target.from_string(name)
    if not target.runs_on(host_target()):
        raise GlowError(
            f"this machine cannot run code for '{name}'",
            hint="glow compile writes object files for other machines",
        )
    return target


def vnni_feature(target: Target) -> str:
    """Returns the name of the integer dot products for x86 vectors of that size."""
    return {64: "avx512vnni", 32: "avxvnni"}.get(target.vector_bytes, "")


@cache
def host_target() -> Target:
    """Returns the target of the machine that this process runs on."""
    from glow.lowering.target.llvm_library import llvm

    features = llvm.get_host_cpu_features()
    preset = host_preset(dict(features), llvm.get_process_triple())
    name = llvm.get_host_cpu_name()
    return replace(
        preset,
        triple=llvm.get_process_triple(),
        cpu=name,
        features=features.flatten(),
        core=host_core(name, preset),
        has_vnni=features.get(vnni_feature(preset), False),
        has_bf16=features.get("avx512bf16", False),
    )


def host_core(name: str, preset: Target) -> Core:
    """Returns the numbers of a CPU of this machine, by LLVM's name of it.

    Those of the preset, which knows the instructions, where there is no table for the CPU.
    The system knows the sizes of the caches better than a table.
    """
    known = name in CPUS and same_architecture(PRESETS[CPUS[name]], preset)
    core = CORE_OF_CPU[name] if known else preset.core
    return replace(_with_vectors_of(core, preset), **cache_sizes())


def _with_vectors_of(core: Core, preset: Target) -> Core:
    return core.with_vectors(preset.vector_bytes, preset.num_vector_registers)


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
