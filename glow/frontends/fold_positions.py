"""Lets gathers count from the end themselves, where a choice before them does.

    %1 = glow.select (glow.less %i, 0), (glow.add %i, 50), %i
    %2 = glow.gather %table, %1 axis 0 : tensor<50x32xf32> ...
  becomes
    %2 = glow.gather %table, %i axis 0

Other projects' gathers take no negative positions, so their programs, and ours in their dialects,
choose first. A clamp between both keeps what is outside at the ends.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.rewriting.matching import beside_number, number_of
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of


def fold_positions(module: ModuleOp) -> None:
    """Let gathers read positions as they were before a choice."""
    for op in list(module.walk()):
        if isinstance(op, glow.GatherOp | glow.GatherElementsOp):
            _fold(op)


def _fold(op: glow.GatherOp | glow.GatherElementsOp) -> None:
    table, chosen = op.inputs
    axis = op.attributes_view().int("axis")
    extent = shape_of(table)[axis]
    shape, builder = shape_of(chosen), NodeBuilder(op)
    if isinstance(chosen.owner, glow.ReshapeOp):
        chosen = chosen.owner.input
    inside = _before_clamp(chosen, extent)
    positions = _before_choice(chosen if inside is None else inside, extent)
    if positions is None:
        return
    if inside is not None:
        bounds = {"low": float(-extent), "high": float(extent - 1)}
        positions = builder.node(glow.ClipOp, positions, **bounds)
    positions = builder.reshape(positions, shape)
    new = builder.create(type(op), [table, positions], attributes_of(op))
    builder.replace(new)


def _before_clamp(value: SSAValue, extent: int) -> SSAValue | None:
    """i of `min(max(i, 0), extent - 1)`."""
    lowered = beside_number(value, glow.MinOp, extent - 1)
    return None if lowered is None else beside_number(lowered, glow.MaxOp, 0)


def _before_choice(value: SSAValue, extent: int) -> SSAValue | None:
    """i of `i < 0 ? i + extent : i`."""
    choice = value.owner
    if not isinstance(choice, glow.SelectOp):
        return None
    test, moved, same = (
        choice.operands[0].owner,
        choice.operands[1].owner,
        choice.operands[2],
    )
    if not isinstance(test, glow.LessOp) or not isinstance(moved, glow.AddOp):
        return None
    is_test = test.operands[0] is same and number_of(test.operands[1]) == 0
    added = [one for one in moved.operands[:2] if one is not same]
    is_sum = len(added) == 1 and number_of(added[0]) == extent
    return same if is_test and is_sum else None
