"""What kernel builders and code generation know about the machine.

Builders read widths and sizes from a `Target` and never test for an instruction set by
name; code generation passes the triple, the CPU and the features on to LLVM. The same
builders serve the host (`host_target()`) and other machines (`Target.from_string`).
LLVM is imported only to ask it about the host.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache

from glow.dialects.errors import GlowError
from glow.lowering.target.cache_sizes import cache_sizes
from glow.lowering.target.core import Core
from glow.lowering.target.cores import CORE_OF_CPU, CORES, core_of_features
from glow.lowering.target.features import (
    AMX,
    byte_dot_of,
    is_architecture,
    same_architecture,
    vnni_feature,
)
from glow.lowering.target.named_targets import CPUS, ROWS, WITHOUT_VNNI, whole_triple
from glow.lowering.target.tile_permission import has_tiles
from glow.runtime.caches.calibration import calibrated

WORD = 4
"""The int8 products that an int8 dot product accumulates in a lane."""


@dataclass(frozen=True)
class Target:
    """A CPU as kernel builders see it."""

    triple: str
    cpu: str
    features: str
    core: Core
    """The numbers by which kernels and tiles are chosen."""
    fma_instruction: bool
    """Whether a float multiply-add is one instruction; else it is two operations."""
    has_bf16: bool = False
    has_int8_tiles: bool = False
    """Whether matrix tiles of bytes are multiplied (AMX)."""
    has_bf16_tiles: bool = False
    index_bits: int = 64
    """The width of addresses and trip counts."""
    byte_dot: str = "none"
    """The int8 dot product: `vnni`, `dotprod` (signed with signed), `i8mm` (unsigned
    with signed too), `smlad` (two 16-bit products), `mve`, `relaxed-simd`, or `none`."""
    round_instruction: bool = True
    """Whether a float is rounded to the nearest even integer without a call."""
    round_conversion: bool = True
    """Whether a float becomes the nearest integer without a call."""
    float_instructions: bool = True
    """Whether the CPU adds floats by itself; else the compiler's runtime does."""
    abi: str = ""
    """LLVM's name of the calling convention, where the triple does not say it."""
    for_size: bool = False
    """Whether code is to be small before it is fast."""
    weight_budget: int | None = None
    """The bytes that weights and code may take (flash); None for no limit."""
    ram_budget: int | None = None
    """The bytes that the arena, inputs and outputs and the stack may take."""
    by_tables: bool = False
    """Whether nothing that was measured on this machine counts: code is the same on all."""

    @property
    def is_wasm(self) -> bool:
        """Whether code is WebAssembly, whose files are of another format."""
        return self.triple.startswith("wasm")

    @property
    def is_aarch64(self) -> bool:
        """Whether it is a 64-bit Arm, with instructions for `arith.maximumf` and roundings."""
        return self.triple.startswith(("aarch64", "arm64"))

    @property
    def is_x86(self) -> bool:
        """Whether it is a 64-bit x86, whose addresses may have any distance in them, and whose
        int8 dot products factors of their own in each lane.
        """
        return self.triple.startswith(("x86_64", "amd64"))

    @property
    def vector_bytes(self) -> int:
        """The width of vectors."""
        return self.core.vector_bytes

    @property
    def dot_bytes(self) -> int:
        """The bytes along the depth that one dot product accumulates: a word, or a vector."""
        return self.vector_bytes if self.byte_dot == "mve" else WORD

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

    @property
    def prefers_small_loops(self) -> bool:
        """Whether kernels are loops over single results rather than over tiles of them."""
        return self.for_size or self.lanes(32) == 1

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

        `host`, a preset (`avx512`, `avx512bf16`, `avx512amx`, `avx2`, `neon`, `scalar`), a row of
        `NAMED_TARGETS`, a CPU as LLVM calls it, or a triple and a CPU
        (`thumbv7em-none-eabi:cortex-m4`); then features to add and remove:
        `host_without-avx512f`, `haswell_with-avxvnni`. Or one of these as a feature of the
        CPU backend, `cpu{features=avx2}`. `host,uncalibrated` goes by tables alone, not by
        what was measured on this machine. Figures of a file stand before those of the core's
        table behind an `@`: `host@core.json`. Raises GlowError for an unknown name.
        """
        match = re.fullmatch(r"cpu(?:\{features=(\S+)\})?|(\S+)", text.strip())
        name = (match.group(1) or match.group(2) or "host") if match else text
        name, _, file = name.partition("@")
        base = re.split(FEATURE, name)[0]
        target = host_target() if base == HOST and file else base_target(base)
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
        if SIZE in features:
            others = {name: on for name, on in features.items() if name != SIZE}
            return replace(self, for_size=features[SIZE]).changed(others)
        if not features:
            return self
        has = {**self.feature_levels(), **features}
        if not features.get("amx-tile", True):
            has |= dict.fromkeys(AMX, False)
        signed = ["-+"[enabled] + name for name, enabled in features.items()]
        changed = replace(
            self,
            features=",".join(filter(None, [self.features, *signed])),
            byte_dot=byte_dot_of(has, self),
        )
        if not self.is_x86:
            return changed
        if not (has["avx2"] and has["fma"]):
            has["avx512f"] = False
        level = host_preset(has, self.triple)
        width, registers = level.vector_bytes, level.num_vector_registers
        return replace(
            changed,
            core=self.core.with_vectors(width, registers),
            fma_instruction=level.fma_instruction,
            byte_dot=byte_dot_of(has, level),
            round_instruction=has.get("sse4.1", self.round_instruction),
            has_bf16=has["avx512bf16"] and level.vector_bytes == 64,
            has_int8_tiles=has["amx-int8"] and level.vector_bytes == 64,
            has_bf16_tiles=has["amx-bf16"] and level.vector_bytes == 64,
        )

    def feature_levels(self) -> dict[str, bool]:
        """Returns the features that descriptions depend on, and whether this has them."""
        if not self.is_x86:
            dot = self.byte_dot
            return {"dotprod": dot in ("dotprod", "i8mm"), "i8mm": dot == "i8mm"}
        wide, middle = self.vector_bytes == 64, self.vector_bytes >= 32
        return {
            **dict.fromkeys(("avx512f", "avx512bw"), wide),
            **dict.fromkeys(("avx2", "fma"), middle),
            "avx512bf16": self.has_bf16,
            "amx-int8": self.has_int8_tiles,
            "amx-bf16": self.has_bf16_tiles,
            vnni_feature(self): self.byte_dot == "vnni",
        }


HOST, UNCALIBRATED = "host", "host,uncalibrated"
"""This machine, by what was measured of it, and without."""

SIZE = "size"
"""The feature that is no machine's: code is to be small."""

TRIPLE_END = ":"
"""Between a triple and the CPU in the name of a target."""

FEATURE = re.compile(r"_(with|without)-([A-Za-z0-9.-]+)")
"""A change of features in the name of a target."""


PRESETS = {
    "avx512": Target(
        triple="x86_64-unknown-linux-gnu",
        cpu="x86-64-v4",
        features="+avx512vnni",
        core=CORES["generic-avx512"],
        fma_instruction=True,
        byte_dot="vnni",
    ),
    "avx2": Target(
        triple="x86_64-unknown-linux-gnu",
        cpu="x86-64-v3",
        features="",
        core=CORES["generic-avx2"],
        fma_instruction=True,
    ),
    "neon": Target(
        triple="aarch64-unknown-linux-gnu",
        cpu="generic",
        features="+neon",
        core=CORES["generic-neon"],
        fma_instruction=True,
    ),
    "scalar": Target(
        triple="x86_64-unknown-linux-gnu",
        cpu="x86-64",
        features="",
        core=CORES["generic-sse"],
        fma_instruction=False,
        round_instruction=False,
    ),
}
"""The instruction sets, each with the numbers of a core that is not known further."""

PRESETS["avx512bf16"] = replace(
    PRESETS["avx512"], features="+avx512vnni,+avx512bf16", has_bf16=True
)
PRESETS["avx512amx"] = replace(
    PRESETS["avx512bf16"],
    features="+avx512vnni,+avx512bf16,+amx-tile,+amx-int8,+amx-bf16",
    has_int8_tiles=True,
    has_bf16_tiles=True,
)


def base_target(name: str) -> Target:
    """Returns the host, a preset, a named target or a CPU; GlowError for another name."""
    if name == HOST:
        return replace(host_target(), core=calibrated(host_target().core))
    if name == UNCALIBRATED:
        return replace(host_target(), by_tables=True)
    if name in PRESETS:
        return PRESETS[name]
    if name in ROWS:
        return named_target(name)
    triple, is_triple, cpu = name.partition(TRIPLE_END)
    if is_triple:
        return target_of_triple(triple, cpu)
    if name not in CPUS:
        raise GlowError(f"unknown target '{name}'", hint=near_targets(name))
    preset = replace(PRESETS[CPUS[name]], cpu=name, core=CORE_OF_CPU[name])
    if name in WITHOUT_VNNI:
        return replace(preset, features="", byte_dot="none")
    return preset


def named_target(name: str) -> Target:
    """Returns the target of a row of the table."""
    row = ROWS[name]
    return Target(
        triple=row.triple,
        cpu=row.cpu,
        features=row.features,
        core=CORES[row.core],
        fma_instruction=row.fma_instruction,
        index_bits=row.index_bits,
        byte_dot=row.byte_dot,
        round_instruction=row.round_instruction,
        round_conversion=row.round_conversion,
        float_instructions=row.float_instructions,
        abi=row.abi,
    )


def target_of_triple(triple: str, cpu: str) -> Target:
    """Returns the target of a CPU (any of the architecture) for another system or ABI.

    Raises GlowError for an architecture, or a CPU of it, that has no name here.
    """
    names = [cpu] if cpu else list(ROWS)
    candidates = [base_target(name) for name in names]
    fitting = [one for one in candidates if is_architecture(one, triple)]
    if not fitting:
        what = f"no target is of the triple '{triple}'"
        if cpu:
            what = f"'{cpu}' is no CPU of the triple '{triple}'"
        raise GlowError(what, hint="glow compile --list-targets lists them")
    return replace(fitting[0], triple=whole_triple(triple))


def near_targets(name: str) -> str:
    """What to write instead of an unknown name."""
    known = [HOST, UNCALIBRATED, *PRESETS, *ROWS, *CPUS]
    near = list(dict.fromkeys(get_close_matches(name, known, 3)))
    listed = "glow compile --list-targets lists them"
    if not near:
        return listed
    return f"did you mean {' or '.join(map(repr, near))}? {listed}"


def check_features(target: Target, names: Sequence[str]) -> None:
    """Raise GlowError for a feature that LLVM does not know, and would ignore.

    It lists those of the host's architecture only.
    """
    if not names or not same_architecture(target, host_target()):
        return
    import llvmlite.binding as llvm

    known = [*llvm.get_host_cpu_features(), SIZE]
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"did you mean '{near[0]}'?" if near else None
            raise GlowError(f"unknown feature '{name}'", hint=hint)


@cache
def host_target() -> Target:
    """Returns the target of the machine that this process runs on."""
    from glow.lowering.target.llvm_library import llvm

    features = llvm.get_host_cpu_features()
    if features.get("amx-tile") and not has_tiles():
        features.update(dict.fromkeys(AMX, False))
    preset = host_preset(dict(features), llvm.get_process_triple())
    name = llvm.get_host_cpu_name()
    return replace(
        preset,
        triple=llvm.get_process_triple(),
        cpu=name,
        features=features.flatten(),
        core=host_core(name, preset, features),
        byte_dot=byte_dot_of(features, preset),
        round_instruction=features.get("sse4.1", preset.round_instruction),
        has_bf16=features.get("avx512bf16", False),
        has_int8_tiles=features.get("amx-int8", False),
        has_bf16_tiles=features.get("amx-bf16", False),
    )


def host_core(name: str, preset: Target, features: Mapping[str, bool]) -> Core:
    """Returns the numbers of a CPU of this machine, by LLVM's name of it.

    Without a table for it those of a core with its features, or of the preset, which knows the
    instructions. The system knows the sizes of the caches better than a table.
    """
    known = name in CPUS and same_architecture(PRESETS[CPUS[name]], preset)
    core = CORE_OF_CPU[name] if known else core_of_features(features) or preset.core
    width, registers = preset.vector_bytes, preset.num_vector_registers
    return replace(core.with_vectors(width, registers), **cache_sizes())


def host_preset(features: dict[str, bool], triple: str) -> Target:
    """Returns the preset with the vector width that the features allow."""
    if features.get("avx512f") and features.get("avx512bw"):
        return PRESETS["avx512"]
    if features.get("avx2") and features.get("fma"):
        return PRESETS["avx2"]
    if triple.startswith(("aarch64", "arm64")):
        return PRESETS["neon"]
    return PRESETS["scalar"]
