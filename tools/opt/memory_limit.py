"""`--memory-limit`: each memory plan of a pipeline is kept to so many bytes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from xdsl.passes import ModulePass

from glow.dialects.errors import UsageError


def with_memory_limit(
    passes: Sequence[ModulePass], limit: int
) -> tuple[ModulePass, ...]:
    """The passes with each memory plan kept to a limit."""
    from glow.passes.instr.fit_memory import FitMemoryPass
    from glow.passes.instr.plan_memory import PlanMemoryPass

    limited: list[ModulePass] = []
    for one in passes:
        if isinstance(one, PlanMemoryPass):
            limited.append(FitMemoryPass(limit))
            limited.append(dataclasses.replace(one, limit=limit))
        else:
            limited.append(one)
    if len(limited) == len(passes):
        raise UsageError("--memory-limit is for --plan-memory, which does not run")
    return tuple(limited)
