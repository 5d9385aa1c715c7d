"""`choose(spec, target)`: the one place where a kernel gets its configuration.

It asks in this order:

    1. the configuration that the program says (`config #cpu.matmul_config<...>`)
    2. what `glow tune` kept on this machine (`glow/tuning/choices.py`)
    3. what `glow tune --fit` learned of kernels like it, where it knows enough
    4. the cost model of the kernel's family

Weights are packed and kernels are built by what was chosen, which the node says from then on.
Builders and packers of programs that say nothing go by the model alone, so that both agree.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from glow.lowering.target.target import Target
from glow.tuning import choices

if TYPE_CHECKING:
    from glow.backends.cpu.tuning.families import Family
    from glow.tuning.model import Trees

MOST_LEARNED = 24
"""The candidates that a learned model looks at."""

_warned: set[str] = set()


def choose(spec: Any, target: Target) -> Any:
    """The configuration of a kernel, of the class that its family has."""
    if spec.config is not None:
        return spec.config
    from glow.backends.cpu.tuning.families import FAMILIES

    family = FAMILIES[type(spec).__name__]
    config = _tuned(spec, target, family)
    if config is None:
        config = family.model(spec, target)
        trees = choices.learned()
        if (
            trees is not None
            and not target.by_tables
            and type(spec).__name__ in trees.families
        ):
            config = _learned(spec, config, target, trees)
    choices.tell(spec, config)
    return config


def choose_level(
    algorithm: str,
    shape: tuple[object, ...],
    level: int,
    target: Target,
    other: int = 0,
) -> int:
    """In which of two ways a layer is computed (`algorithms.py`); the cost model says `level`.

    Nothing else than `other` stands instead: by default a choice can take an algorithm away that
    the model chooses, but adds none that `numerics` might not allow.
    """
    if level == other:
        return level
    from glow.backends.cpu.tuning.algorithms import AlgorithmSpec

    return choose(AlgorithmSpec(algorithm, shape, level, other=other), target).level


def _tuned(spec: Any, target: Target, family: Family) -> object | None:
    """What tuning kept for a kernel; None without, or where it does not fit."""
    chosen = choices.current()
    kept = isinstance(chosen, choices.Choices)
    if chosen is None or (kept and target.by_tables):
        return None
    from glow.backends.cpu.tuning.families import config_from, spec_text, wrong_config
    from glow.tuning.records import kernel_key

    found = chosen.find(kernel_key(spec_text(spec)), target)
    if found is None:
        return None
    given, place = found
    config = config_from(family.config, given)
    wrong = f"the fields {dict(given)}"
    if config is not None:
        wrong = wrong_config(spec, config, target)
    if wrong is None:
        return config
    if place not in _warned:
        _warned.add(place)
        message = f"{place}: a {type(spec).__name__} cannot have {wrong}; ignored"
        warnings.warn(message, stacklevel=2)
    return None


def _learned(spec: Any, usual: object, target: Target, trees: Trees) -> object:
    """The candidate that a model expects to be fastest, if by enough; else the usual one."""
    from glow.backends.cpu.tuning.candidates import candidates
    from glow.backends.cpu.tuning.features import FEATURES, features

    if trees.names != tuple(FEATURES):
        return usual
    every = candidates(spec, target)[:MOST_LEARNED]
    return every[trees.pick([features(spec, config, target) for config in every])]
