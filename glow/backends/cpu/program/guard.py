"""Keeps variables as they are where a call finds an error in its data.

Kernels that meet an index outside of its axis note it in a byte, and the call goes on. Before the
first change of a variable, `main` looks at the bytes of the kernels so far, and leaves out all that
follows where one is set. So an error that is found before that leaves every variable as it was.

    gather y, table, indices, error
    ...                                     ->  gather y, table, indices, error
    update w, gradient                          if not error: update w, gradient
"""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr, i8
from xdsl.ir import SSAValue

from glow.backends.cpu.program.program import BufferBinding, Guard, Step, calls_of
from glow.dialects import arith


def guarded(steps: tuple[Step, ...], end: int) -> tuple[Step, ...]:
    """The steps, a guard around those from the first change of a variable on.

    Variables are the mutables before the byte `end`.
    """
    first = next((n for n, step in enumerate(steps) if changes(step, end)), 0)
    noted = [call.bindings[-1] for call in calls_of(steps[:first]) if call.notes_error]
    if not noted:
        return steps
    start = min(binding.offset for binding in noted)
    size = max(binding.offset for binding in noted) + 1 - start
    reports = BufferBinding("mutables", start, size)
    return (*steps[:first], Guard(reports, steps[first:]))


def changes(step: Step, end: int) -> bool:
    """Whether a step writes the mutables before the byte `end`."""
    return any(
        binding.space == "mutables" and binding.offset < end
        for call in calls_of([step])
        for binding in call.bindings[: call.writes]
    )


def insert_test(
    builder: Builder, reports: SSAValue, indices: list[SSAValue]
) -> SSAValue:
    """Insert the test that all bytes of a buffer are 0."""
    zero = builder.insert(arith.ConstantOp(IntegerAttr(0, i8))).result
    found = zero
    for index in indices:
        byte = builder.insert(memref.LoadOp.get(reports, [index])).res
        found = builder.insert(arith.OrIOp(found, byte)).result
    return builder.insert(arith.CmpiOp(found, zero, "eq")).result
