"""Which regions an operation runs and how often: what instruction passes know of `scf`.

A branch runs one region or the other, a loop its regions again and again. Instructions have
regions too, of scalar operations: these are no code of their own.

    scf.for       body                    any number of times
    scf.while     condition, then body    the condition at least once
    scf.if        one of two              at most once each
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

CONTROL_FLOW = (scf.ForOp, scf.IfOp, scf.WhileOp)
"""The operations whose regions hold instructions."""

TERMINATORS = (scf.YieldOp, scf.ConditionOp)


@dataclass(frozen=True)
class Inner:
    """A block that an operation runs."""

    block: Block
    is_certain: bool = False
    """Whether it runs at least once."""
    is_repeated: bool = False
    """Whether it may run again after it has run."""


def regions_run_by(op: Operation) -> Sequence[Inner]:
    """The blocks that an operation runs, in the order in which they first may."""
    if not op.regions:
        return ()
    if isinstance(op, scf.ForOp):
        trips = trip_count(op)
        return [Inner(op.body.block, bool(trips), trips is None or trips > 1)]
    if isinstance(op, scf.WhileOp):
        return [
            Inner(op.before_region.block, is_certain=True, is_repeated=True),
            Inner(op.after_region.block, is_repeated=True),
        ]
    if isinstance(op, scf.IfOp):
        return [Inner(region.block) for region in op.regions if region.blocks]
    return ()


def alternatives(op: Operation) -> bool:
    """Whether exactly one of the regions runs."""
    return isinstance(op, scf.IfOp) and all(region.blocks for region in op.regions)


def is_empty(op: Operation) -> bool:
    """Whether nothing happens in a branch or a counted loop."""
    return isinstance(op, scf.ForOp | scf.IfOp) and all(
        inner.block.first_op is inner.block.last_op for inner in regions_run_by(op)
    )


def trip_count(op: scf.ForOp) -> int | None:
    """How often a loop's body runs, if its bounds are constants."""
    bounds = [index_value(value) for value in (op.lb, op.ub, op.step)]
    low, high, step = bounds
    if low is None or high is None or not step:
        return None
    return len(range(low, high, step))


def index_value(value: SSAValue) -> int | None:
    """The number that a bound is, if it is a constant."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None
