"""The target of a program: what its layouts and packed weights were chosen for.

The first pass that asks about the machine writes it to the module, and whatever comes later
has to agree. Weights packed for one target mean something else to the kernels of another,
and nothing but this tells the two apart:

    builtin.module attributes {glow.target = #glow.target<{name = "x86-64-v3",
        arch = "x86_64", core = "generic-avx2", vector_bytes = 32 : i64, ...}>} { ... }

`core` is the family (`core.py`) by whose numbers kernels and tiles were chosen. `name` is for
people; targets agree where all else does. From the loops level on the entries are a plain
dictionary, since upstream MLIR reads that text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute

from glow.dialects.attributes import int_attr
from glow.dialects.errors import GlowError
from glow.dialects.glow.target import TargetAttr, wrong_entries
from glow.lowering.target.cores import CORES
from glow.lowering.target.gpu_machine import GPU_MACHINES
from glow.lowering.target.named_targets import CPUS, GPUS, NAMED_TARGETS
from glow.lowering.target.target import FEATURE, HOST, UNCALIBRATED, Target

ATTRIBUTE = "glow.target"


@dataclass(frozen=True)
class ProgramTarget:
    """What of a `Target` decides about layouts and kernels."""

    name: str = field(compare=False)
    arch: str
    core: str
    vector_bytes: int
    vector_registers: int
    l1_bytes: int
    l2_bytes: int
    features: tuple[str, ...]

    @staticmethod
    def of(target: Target, name: str) -> ProgramTarget:
        """That of a target, which `name` names; the host goes by the name of its CPU."""
        has = {
            "fma": target.fma_instruction,
            target.byte_dot: target.byte_dot != "none",
            "bf16": target.has_bf16,
            "int8_tiles": target.has_int8_tiles,
            "bf16_tiles": target.has_bf16_tiles,
            "size": target.for_size,
            "threads": target.cpu in GPU_MACHINES,
        }
        base, changes = split_name(name)
        return ProgramTarget(
            (target.cpu if base in (HOST, UNCALIBRATED) else base) + changes,
            target.triple.split("-")[0],
            target.core.family,
            target.vector_bytes,
            target.num_vector_registers,
            target.l1_bytes,
            target.l2_bytes,
            tuple(feature for feature, present in has.items() if present),
        )

    @staticmethod
    def from_attribute(attribute: Attribute) -> ProgramTarget:
        """What an attribute spells; raises GlowError for another form."""
        parts = entries_of(attribute)
        return ProgramTarget(
            _text(parts["name"]),
            _text(parts["arch"]),
            _text(parts["core"]),
            _number(parts["vector_bytes"]),
            _number(parts["vector_registers"]),
            _number(parts["l1_bytes"]),
            _number(parts["l2_bytes"]),
            _texts(parts["features"]),
        )

    def attribute(self) -> TargetAttr:
        """The attribute that spells it."""
        return TargetAttr(self.dictionary())

    def dictionary(self) -> DictionaryAttr:
        """Its entries, which upstream MLIR reads."""
        return DictionaryAttr(
            {
                "name": StringAttr(self.name),
                "arch": StringAttr(self.arch),
                "core": StringAttr(self.core),
                "vector_bytes": int_attr(self.vector_bytes),
                "vector_registers": int_attr(self.vector_registers),
                "l1_bytes": int_attr(self.l1_bytes),
                "l2_bytes": int_attr(self.l2_bytes),
                "features": ArrayAttr([StringAttr(text) for text in self.features]),
            }
        )

    def described(self, other: ProgramTarget) -> str:
        """The name, with the parts that differ from those of another target."""
        parts: list[str] = []
        for part in fields(self):
            value = getattr(self, part.name)
            if part.compare and value != getattr(other, part.name):
                known = "+".join(self.features) if part.name == "features" else value
                parts.append(f"{part.name} {known}")
        return f"{self.name} ({', '.join(parts)})"

    def names_here(self) -> Iterator[str]:
        """The names by which this machine knows the target."""
        for name in (
            self.name,
            f"host{split_name(self.name)[1]}",
            HOST,
            UNCALIBRATED,
            *NAMED_TARGETS,
            *GPUS,
            *CPUS,
        ):
            try:
                if ProgramTarget.of(Target.from_string(name), name) == self:
                    yield name
            except GlowError:  # A CPU that only its own machine knows by name.
                continue


def split_name(name: str) -> tuple[str, str]:
    """The CPU and the changes of features in the name of a target."""
    name = name.partition("@")[0]
    changes = FEATURE.search(name)
    return (name[: changes.start()], name[changes.start() :]) if changes else (name, "")


def entries_of(attribute: Attribute) -> Mapping[str, Attribute]:
    """The entries of a target; raises GlowError for anything else."""
    entries = attribute.entries if isinstance(attribute, TargetAttr) else attribute
    data: Mapping[str, Attribute] = {}
    if isinstance(entries, DictionaryAttr):
        data = entries.data
    wrong = wrong_entries(data)
    if wrong is not None:
        raise GlowError(f"{ATTRIBUTE} {wrong}")
    return data


def _text(attribute: Attribute) -> str:
    assert isinstance(attribute, StringAttr)
    return attribute.data


def _number(attribute: Attribute) -> int:
    assert isinstance(attribute, IntegerAttr)
    return cast("IntegerAttr", attribute).value.data


def _texts(attribute: Attribute) -> tuple[str, ...]:
    assert isinstance(attribute, ArrayAttr)
    return tuple(_text(item) for item in cast("ArrayAttr[Attribute]", attribute))


def program_target(module: ModuleOp) -> ProgramTarget | None:
    """The target of a program; None for one that fits any."""
    attribute = module.attributes.get(ATTRIBUTE)
    return None if attribute is None else ProgramTarget.from_attribute(attribute)


def machine_of(module: ModuleOp) -> Target | None:
    """The machine that a program is lowered for; None for any, or one without a name here."""
    lowered_for = program_target(module)
    name = None if lowered_for is None else next(lowered_for.names_here(), None)
    return None if name is None else Target.from_string(name)


def check_target(module: ModuleOp, name: str) -> None:
    """Raise GlowError where a program was lowered for another target than the named one."""
    lowered_for = program_target(module)
    if lowered_for is None:
        return
    wanted = ProgramTarget.of(Target.from_string(name), name)
    if lowered_for != wanted:
        raise GlowError(
            f"the program is lowered for {lowered_for.described(wanted)}, not for "
            f"{wanted.described(lowered_for)}",
            hint=advice(lowered_for),
        )


def advice(target: ProgramTarget) -> str:
    """How to compile a program that is lowered for a target."""
    name = next(target.names_here(), None)
    if name is None and target.core not in CORES:
        return "--target-core=FILE names the figures that it was lowered by"
    if name is None:
        return "lower the network anew: no name stands for that target here"
    changes = [("-+"[sign == "with"]) + which for sign, which in FEATURE.findall(name)]
    features = f" --target-features={','.join(changes)}" if changes else ""
    return f"--target-cpu={split_name(name)[0]}{features} compiles it for that"


def settle_target(module: ModuleOp, name: str) -> Target:
    """The target of a name, for which the program is from now on.

    Raises GlowError where it is lowered for another one already.
    """
    check_target(module, name)
    target = Target.from_string(name)
    if ATTRIBUTE not in module.attributes:
        module.attributes[ATTRIBUTE] = ProgramTarget.of(target, name).attribute()
    return target


def settle_plain_target(module: ModuleOp, name: str) -> Target:
    """As `settle_target`, for a program of loops: its target is a dictionary from now on."""
    target, settled = settle_target(module, name), program_target(module)
    assert settled is not None
    module.attributes[ATTRIBUTE] = settled.dictionary()
    return target
