"""Which products of bf16 the CPU computes as they are, and which f32 products it would rather.

Dot products of pairs take half of the time of f32 multiply-adds. They need a CPU that has
them and pairs along the depth; a convolution with few multiplications (Winograd), or of
channels alone, is faster in f32.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Protocol, runtime_checkable

from xdsl.dialects.builtin import bf16
from xdsl.ir import Operation

from glow.backends.backend import get_backend
from glow.backends.cpu.layout.conv_shape import is_depthwise
from glow.backends.cpu.layout.convolution import conv_shape, is_blocked
from glow.backends.cpu.tuning.choose import choose_level
from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.dialects.weights import constant_value
from glow.lowering.target.target import Target
from glow.passes.rewriting.node_builder import element_type

WINOGRAD_MARGIN = 1.2
"""Up to so many times the time of a direct convolution in bf16, as estimated, a Winograd
convolution in f32 is faster: its estimate is on the safe side."""


def fits_conv2d(op: glow.Conv2dOp, lanes: int) -> bool:
    """Whether a convolution with constant weights reads whole blocks, pairs of channels."""
    shape = conv_shape(op)
    per_group = shape.input_channels // shape.group
    return (
        constant_value(op.weights) is not None
        and is_blocked(shape, lanes)
        and not is_depthwise(shape)
        and per_group % 2 == 0
        and shape.input_channels >= lanes
    )


def fits_matmul(op: glow.MatmulOp | glow.FullyConnectedOp) -> bool:
    """Whether the right side is a constant matrix with an even number of rows."""
    weights = op.inputs[1]
    if isinstance(op, glow.MatmulOp) and (op.transpose_lhs or op.transpose_rhs):
        return False
    shape = shape_of(weights)
    return len(shape) == 2 and shape[0] % 2 == 0 and constant_value(weights) is not None


def has_pairs_kernel(op: Operation, target: Target) -> bool:
    """Whether a product has a kernel that multiplies pairs of bf16."""
    if not target.has_bf16:
        return False
    if isinstance(op, glow.Conv2dOp):
        return fits_conv2d(op, target.lanes(32))
    if isinstance(op, glow.MatmulOp | glow.FullyConnectedOp):
        return fits_matmul(op)
    return False


def stays_half(op: Operation, target: Target) -> bool:
    """Whether a product of bf16 is computed as it is."""
    return element_type(op.operands[0]) == bf16 and has_pairs_kernel(op, target)


@runtime_checkable
class KeepsHalf(Protocol):
    """A backend that says which nodes it computes on 16-bit floats."""

    def keeps_half(self, op: Operation, target: Target) -> bool:
        """Whether a node on 16-bit floats has a kernel of them; else it computes in f32."""
        ...


def half_rule(backend: str) -> Callable[[Operation, Target], bool]:
    """Which nodes on 16-bit floats a backend computes as they are."""
    found = get_backend(backend)
    return found.keeps_half if isinstance(found, KeepsHalf) else stays_half


def prefers_f32(op: Operation, target: Target, numerics: str) -> bool:
    """Whether a product of f32 is not faster in bf16, by the cost model or by what was tuned."""
    if not has_pairs_kernel(op, target):
        return True
    usual = int(not _is_faster_in_f32(op, target, numerics))
    return not choose_level("bf16", _shape(op), usual, target, 1 - usual)


def _shape(op: Operation) -> tuple[object, ...]:
    """What the choice for a product depends on."""
    if isinstance(op, glow.Conv2dOp):
        return (conv_shape(op),)
    rows, (depth, columns) = shape_of(op.operands[0])[:-1], shape_of(op.operands[1])
    return prod(rows), columns, depth


def _is_faster_in_f32(op: Operation, target: Target, numerics: str) -> bool:
    if not isinstance(op, glow.Conv2dOp) or numerics == "exact":
        return False
    from glow.backends.cpu.layout.winograd.choice import choose_winograd_tile

    winograd = choose_winograd_tile(conv_shape(op), target)
    if winograd is None:
        return False
    direct = winograd.cycles + winograd.saved_cycles
    return winograd.cycles < WINOGRAD_MARGIN / target.core.bf16_speedup * direct
