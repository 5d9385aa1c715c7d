"""What each instruction of a planned function costs: kernels, operations, bytes, time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from math import prod

from xdsl.dialects import func, scf
from xdsl.ir import Operation

from glow.backends.cpu.kernels.convolution.prologue_spec import PrologueConv2dSpec
from glow.backends.cpu.program.kernel_table import KernelTable
from glow.backends.cpu.program.program import KernelCall
from glow.backends.cpu.report.kernel_log import CallBuilder
from glow.backends.cpu.report.kernel_profile import (
    KernelProfile,
    operations_of,
    spec_of,
)
from glow.backends.inspection import Cost
from glow.dialects import instr
from glow.dialects.node import shape_of
from glow.lowering.target.target import Target
from glow.passes.rewriting.regions import trip_count

SILENT = ("arith.constant", "builtin.unrealized_conversion_cast", "glow.yield")
"""What a scalar region holds besides its operations."""


def kernel_costs(
    function: func.FuncOp,
    target: Target,
    table: KernelTable,
    profile: KernelProfile | None = None,
) -> Mapping[instr.InstructionOp, Cost]:
    """The cost of each instruction, with times if there is a profile.

    Calls that are equal, as those of layers without weights on the same memory, take as long as
    all of them in the mean.
    """
    builder = CallBuilder(function, target, table)
    builder.run()
    seconds: dict[Hashable, float] = {}
    if profile is not None:
        for call, row in zip(profile.calls, profile.rows(), strict=True):
            key = _convolution_of(call) or call
            seconds[key] = seconds.get(key, 0.0) + row.seconds
    owners = Counter(call for calls in builder.calls_of.values() for call in set(calls))
    for call, count in owners.items():
        if call in seconds:
            seconds[call] /= count
    return {
        op: _cost(op, calls, None if profile is None else seconds)
        for op, calls in builder.calls_of.items()
    }


def _cost(
    op: instr.InstructionOp,
    calls: list[KernelCall],
    seconds: dict[Hashable, float] | None,
) -> Cost:
    trips = _trip_count(op)
    operations = sum(map(operations_of, calls)) or _scalar_operations(op)
    return Cost(
        trips * len(calls),
        trips * operations,
        trips * sum(binding.size for call in calls for binding in call.bindings),
        None
        if seconds is None
        else sum(_seconds(call, seconds) for call in dict.fromkeys(calls)),
    )


def _convolution_of(call: KernelCall) -> Hashable | None:
    """The convolution that runs together with its prologue: what it is and writes."""
    spec = spec_of(call)
    if not isinstance(spec, PrologueConv2dSpec):
        return None
    return spec.spec, call.bindings[0]


def _seconds(call: KernelCall, seconds: dict[Hashable, float]) -> float:
    """The time of a call; a prologue's is that of the convolution behind it."""
    fused = (spec_of(call), call.bindings[0])
    return seconds.get(call, seconds.get(fused, 0.0))


def _scalar_operations(op: instr.InstructionOp) -> int:
    """The operations of an element-wise instruction; none of one that only moves."""
    if not op.is_data_parallel or isinstance(op, instr.CopyOp | instr.SplatOp):
        return 0
    inside = [
        inner
        for region in op.regions
        for inner in region.walk()
        if inner.name not in SILENT
    ]
    return prod(shape_of(op.outs[0])) * (len(inside) if op.regions else 1)


def _trip_count(op: Operation) -> int:
    """How often an instruction runs: the trip counts of the loops around it, if known."""
    trips, parent = 1, op.parent_op()
    while parent is not None:
        if isinstance(parent, scf.ForOp):
            count = trip_count(parent)
            trips *= 1 if count is None else count
        parent = parent.parent_op()
    return trips
