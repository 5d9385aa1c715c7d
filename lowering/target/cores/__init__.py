"""The tables of core families; one that is listed here is known by its name and its CPUs'."""

from collections.abc import Mapping

from glow.lowering.target.core import Core
from glow.lowering.target.cores import amd, arm, embedded, generic, intel

CORES: Mapping[str, Core] = {
    core.family: core
    for family in (amd, intel, arm, generic, embedded)
    for core in family.CORES
}
"""By the name of the family."""

CORE_OF_CPU: Mapping[str, Core] = {
    cpu: core for core in CORES.values() for cpu in core.cpus
}
"""By LLVM's name of the CPU."""
