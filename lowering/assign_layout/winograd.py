"""Which convolutions are done with few multiplications, within a budget of memory.

Transformed weights are two to four times as large as plain ones. The convolutions that
save the most time for each byte come first, until the budget is spent.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.dialects.weights import constant_value, weights_of
from glow.lowering.assign_layout.conv_shape import WinogradChoice
from glow.lowering.assign_layout.convolution import conv_shape, is_blocked
from glow.lowering.assign_layout.layout import is_f32
from glow.lowering.assign_layout.packing import Packer

FREE_BYTES = 8 * 1024 * 1024
"""Small networks need not save."""

ITEM_BYTES = 4


def choose_winograd(
    module: ModuleOp, packer: Packer, weight_growth: float
) -> dict[Operation, WinogradChoice]:
    """The chosen convolutions. Their weights grow by at most `weight_growth` times the
    bytes of all weights of the module.
    """
    table = weights_of(module)
    total = sum(table.entry(name).nbytes for name in table)
    budget = max(weight_growth * total, FREE_BYTES)
    candidates = [
        (op, choice)
        for op in module.walk()
        if isinstance(op, glow.Conv2dOp)
        and (choice := winograd_choice(op, packer)) is not None
    ]
    candidates.sort(key=lambda item: -item[1].saved_cycles / extra_bytes(*item))
    chosen: dict[Operation, WinogradChoice] = {}
    for op, choice in candidates:
        extra = extra_bytes(op, choice)
        if extra <= budget:
            budget -= extra
            chosen[op] = choice
    return chosen


def winograd_choice(op: glow.Conv2dOp, packer: Packer) -> WinogradChoice | None:
    """How a convolution is done with few multiplications, if it can and that is faster."""
    shape = conv_shape(op)
    fits = is_blocked(shape, packer.lanes) and shape.input_channels >= packer.lanes
    if not fits or not is_f32(op.input, op.weights, op.bias):
        return None
    if constant_value(op.weights) is None:
        return None
    return packer.choose_winograd(shape)


def extra_bytes(op: glow.Conv2dOp, choice: WinogradChoice) -> int:
    """The bytes that transformed weights take more than plain ones."""
    outputs, inputs, height, width = shape_of(op.weights)
    return ITEM_BYTES * (choice.packed_weights - outputs * inputs * height * width)
