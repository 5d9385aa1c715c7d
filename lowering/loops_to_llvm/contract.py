"""Rules for `vector.contract`."""

from __future__ import annotations

from xdsl.ir import Operation

from glow.lowering.loops_to_llvm.function_lowering import Rule

RULES: dict[type[Operation], Rule] = {}
