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

CORE_OF_FEATURE: Mapping[str, Core] = {"amx-tile": intel.SAPPHIRE_RAPIDS}
"""The first core that has a feature."""


def core_of_features(features: Mapping[str, bool]) -> Core | None:
    """The numbers of a core whose name does not say them, None where features do not either.

    Virtual machines may show another number of the model than the processor has, by which LLVM
    takes a Xeon with tiles for a Rocket Lake.
    """
    found = (core for name, core in CORE_OF_FEATURE.items() if features.get(name))
    return next(found, None)
