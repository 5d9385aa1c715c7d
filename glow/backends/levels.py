"""Which level of the compiler a program has."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType, ModuleOp

from glow.backends.backend import backends_in
from glow.backends.pipeline import INSTR, LOOPS, LOWERED
from glow.signature import main_function


def level_of(module: ModuleOp) -> str | None:
    """The level of LEVELS that a module has; None for a graph that is to be optimized."""
    dialects = {op.name.partition(".")[0] for op in module.walk()}
    if "instr" in dialects:
        return INSTR
    if any(not dialects.isdisjoint(one.dialects()) for one in backends_in(module)):
        return LOWERED
    arguments = [value.type for value in main_function(module).body.block.args]
    if "glow" not in dialects and any(isinstance(t, MemRefType) for t in arguments):
        return LOOPS
    return None
