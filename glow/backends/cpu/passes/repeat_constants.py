"""Numbers for each of a few channels that are last are repeated for a whole row.

Pixels of three channels, as images are read, are rows of three elements to an elementwise kernel
where each channel has a number of its own: a vector has room for more. With the constant repeated
along the pixels of a row, such rows are one.

    %c = glow.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
    %0 = glow.mul %x, %c : tensor<1x224x224x3xf32>
  becomes
    %c = glow.constant ... : tensor<224x3xf32>
    %0 = glow.mul %x, %c : tensor<1x224x224x3xf32>
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weights import constant_value
from glow.lowering.target.program_target import settle_target
from glow.passes.rewriting.contract import BITS
from glow.passes.rewriting.node_builder import NodeBuilder, name_of
from glow.passes.rewriting.operations import all_operations
from glow.passes.rewriting.scalar_bodies import has_scalar_body

MOST_REPEATED = 4096
"""The elements of a repeated constant: 16 KB of floats, half of a small first cache."""


def last_axes(value: SSAValue) -> tuple[int, int]:
    """The sizes of a value's last two axes, 1 where it has none."""
    first, second = (1, 1, *shape_of(value))[-2:]
    return first, second


def by_channel(op: NodeOp, lanes: int) -> list[SSAValue]:
    """The constants to repeat, so that all operands walk the last two axes as one."""
    if len(op.results) != 1 or not has_scalar_body(op):
        return []
    rows, channels = whole = last_axes(op.results[0])
    if not 1 < channels < lanes or rows == 1 or rows * channels > MOST_REPEATED:
        return []
    found = [value for value in op.operands if last_axes(value) == (1, channels)]
    others = [value for value in op.operands if value not in found]
    fits = all(last_axes(value) in (whole, (1, 1)) for value in others)
    return found if fits and all(map(_is_one_row, found)) else []


def _is_one_row(value: SSAValue) -> bool:
    array = constant_value(value)
    return array is not None and array.size == array.shape[-1]


def repeat_constants(module: ModuleOp, lanes: int) -> None:
    """Repeat in program order."""
    repeated: dict[tuple[SSAValue, int], SSAValue] = {}
    for op in all_operations(module):
        if not isinstance(op, NodeOp):
            continue
        for value in by_channel(op, lanes):
            rows, channels = last_axes(op.results[0])
            if (value, rows) not in repeated:
                array = constant_value(value)
                assert array is not None
                row = array.reshape(1, channels)
                repeated[value, rows] = NodeBuilder(op).constant(
                    np.tile(row, (rows, 1)), f"{name_of(value)}.rows"
                )
            for index, operand in enumerate(op.operands):
                if operand is value:
                    op.operands[index] = repeated[value, rows]


@dataclass(frozen=True)
class RepeatConstantsPass(ModulePass):
    """Repeat numbers of few channels along rows, by the vectors of a target
    (host, avx512, avx2, neon, scalar).
    """

    name = "repeat-constants"
    preserves = BITS

    target: str = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        repeat_constants(op, settle_target(op, self.target).lanes(32))
