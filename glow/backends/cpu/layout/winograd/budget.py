"""Which convolutions are done with few multiplications, within a budget of memory.

Transformed weights are two to four times as large as plain ones. The convolutions that
save the most time for each byte come first, until the budget is spent. Convolutions that
share their weights and shape (the images of a batch) share the transformed weights too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from glow.backends.cpu.layout.conv_shape import WinogradChoice
from glow.backends.cpu.layout.convolution import conv_shape, is_blocked
from glow.backends.cpu.layout.layout import blocked_source, constant_key, is_f32
from glow.backends.cpu.layout.packer import Packer
from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.dialects.numerics import FREE_BYTES, WEIGHT_GROWTH
from glow.dialects.weights import constant_value, weights_of
from glow.passes.rewriting.operations import all_operations

Convolution: TypeAlias = glow.Conv2dOp | glow.Conv2dIntegerOp

ITEM_BYTES = 4
INT8_ITEM_BYTES = 2
"""Those of transformed weights of bytes."""


@dataclass(frozen=True)
class WeightGrowth:
    """What transformed weights may take more than plain ones."""

    factor: float = WEIGHT_GROWTH
    """Times the bytes of all weights of the module."""
    free_bytes: int = FREE_BYTES
    """At least so much: small networks need not save."""

    def budget(self, module: ModuleOp) -> float:
        """The bytes of a module."""
        table = weights_of(module)
        total = sum(table.entry(name).nbytes for name in table)
        return max(self.factor * total, self.free_bytes)


USUAL_GROWTH = WeightGrowth()


def choose_winograd(
    module: ModuleOp,
    packer: Packer,
    growth: WeightGrowth,
    squares: AbstractSet[Operation] = frozenset(),
) -> dict[Operation, WinogradChoice]:
    """The chosen convolutions, whose weights grow by as much as is allowed.

    Those of `squares` (`space_to_depth.py`), which were made for that, come first.
    """
    budget = growth.budget(module)
    groups: dict[object, list[Convolution]] = defaultdict(list)
    for op in all_operations(module):
        if isinstance(op, Convolution):
            groups[constant_key(op.operands[1]), conv_shape(op)].append(op)
    candidates = [
        Candidate(ops, choice)
        for ops in groups.values()
        if (choice := winograd_choice(ops[0], packer)) is not None
    ]
    candidates.sort(
        key=lambda candidate: (
            candidate.ops[0] not in squares,
            -candidate.saved_cycles_per_byte,
        )
    )
    chosen: dict[Operation, WinogradChoice] = {}
    for candidate in candidates:
        if candidate.extra_bytes <= budget:
            budget -= candidate.extra_bytes
            choice = replace(candidate.choice, zero_taps=candidate.ops[0] in squares)
            chosen |= dict.fromkeys(candidate.ops, choice)
    return chosen


@dataclass(frozen=True)
class Candidate:
    """Convolutions of the same shape that share their weights, and how they can be done."""

    ops: Sequence[Convolution]
    choice: WinogradChoice

    @property
    def extra_bytes(self) -> int:
        """The bytes that transformed weights take more than plain ones."""
        op = self.ops[0]
        is_int8 = isinstance(op, glow.Conv2dIntegerOp)
        plain, item = (1, INT8_ITEM_BYTES) if is_int8 else (ITEM_BYTES, ITEM_BYTES)
        return item * self.choice.packed_weights - plain * prod(
            shape_of(op.operands[1])
        )

    @property
    def saved_cycles_per_byte(self) -> float:
        """The worth of the memory."""
        return len(self.ops) * self.choice.saved_cycles / self.extra_bytes


def winograd_choice(op: Convolution, packer: Packer) -> WinogradChoice | None:
    """How a convolution is done with few multiplications, if it can and that is faster."""
    if isinstance(op, glow.Conv2dIntegerOp):
        return _int8_choice(op, packer)
    shape = conv_shape(op)
    many = shape.input_channels >= packer.lanes or blocked_source(op.input) is not None
    fits = is_blocked(shape, packer.lanes) and many
    if not fits or not is_f32(op.input, op.weights, op.bias):
        return None
    weights, choice = constant_value(op.weights), packer.choose_winograd(shape)
    if weights is None or choice is None:
        return None
    factors = packer.winograd_factors(weights, shape, choice.tile)
    return None if factors is None else replace(choice, factors=factors)


def _int8_choice(op: glow.Conv2dIntegerOp, packer: Packer) -> WinogradChoice | None:
    """The same of a convolution of bytes, which fill at least one block."""
    shape, weights = conv_shape(op), constant_value(op.operands[1])
    few = shape.input_channels < packer.lanes and blocked_source(op.input) is None
    if weights is None or weights.dtype != np.int8 or few:
        return None
    return packer.choose_int8_winograd(weights, shape)
