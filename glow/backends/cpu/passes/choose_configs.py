"""Configurations of the kernels whose operands are not packed: batched matmuls with dynamic
operands, attention, depthwise convolutions and those in the plain layout.

    %0 = cpu.batch_matmul %a, %b lhs_axes [0, 1, 2] rhs_axes [0, 1, 2] result_axes [0, 1, 2]
  becomes
    %0 = cpu.batch_matmul %a, %b lhs_axes [0, 1, 2] rhs_axes [0, 1, 2] result_axes [0, 1, 2]
        config #cpu.batch_matmul_config<form = direct, rows = 8, blocks = 2>

Kernels with packed weights are configured where these are packed (`layout/`). What has a
configuration keeps it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.dialect.config import config_attributes
from glow.dialects.node import NodeOp, shape_of
from glow.lowering.target.program_target import settle_target
from glow.lowering.target.target import Target
from glow.passes.rewriting.contract import VALUES

Choose = Callable[[NodeOp, Target], object]
"""Takes a node and gives the configuration of its kernel, whose module it loads."""


def _planes(op: NodeOp, target: Target) -> object:
    from glow.backends.cpu.selection.convolution import group_size, planes_of

    image, weights = op.inputs[:2]
    planes = planes_of(op.attributes_view(), image, group_size(weights))
    # With pairs of bytes, tiles are a twentieth faster.
    is_plain = target.prefers_small_loops and target.byte_dot == "none"
    small_loops = target.for_size or is_plain
    return planes.choose_config(target.core, small_loops=small_loops)


def _plain(op: NodeOp, target: Target) -> object:
    from glow.backends.cpu.kernels.convolution.direct_conv import choose_plain_config
    from glow.backends.cpu.selection.convolution import plain_conv_spec

    image, weights = op.inputs[:2]
    return choose_plain_config(
        plain_conv_spec(op.attributes_view(), image, weights), target
    )


def _batch_matmul(op: NodeOp, target: Target) -> object:
    from glow.backends.cpu.selection.matmul import batch_matmul_spec

    spec = batch_matmul_spec(op.attributes_view(), op.results[0], *op.inputs[:2])
    return spec.choose_config(target)


def _int8_batch_matmul(op: NodeOp, target: Target) -> object:
    from glow.backends.cpu.selection.integers import int8_batch_matmul_spec

    lhs, rhs = op.inputs[:2]
    spec = int8_batch_matmul_spec(op.attributes_view(), op.results[0], lhs, rhs)
    return spec.choose_config(target)


def _attention(op: NodeOp, target: Target) -> object:
    from glow.backends.cpu.selection.matmul import attention_spec

    spec = attention_spec(op.attributes_view(), op.results[0], op.inputs)
    return spec.choose_config(target)


CHOICES: Mapping[type[Operation], Choose] = {
    cpu.DepthwiseConv2dOp: _planes,
    cpu.GroupedConv2dOp: _planes,
    cpu.Int8DepthwiseConv2dOp: _planes,
    cpu.PlainConv2dOp: _plain,
    cpu.BatchMatmulOp: _batch_matmul,
    cpu.Int8BatchMatmulOp: _int8_batch_matmul,
    cpu.AttentionOp: _attention,
}


def _has_elements(op: Operation) -> bool:
    values = [*op.operands, *op.results]
    return all(prod(shape_of(value)) for value in values)


@dataclass(frozen=True)
class ChooseConfigsPass(ModulePass):
    """Configure the kernels that `assign-layout` leaves; option `target` names the machine."""

    name = "choose-configs"
    preserves = VALUES
    target: str = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        target = settle_target(op, self.target)
        for node in op.walk():
            choose = CHOICES.get(type(node))
            if choose is None or not _has_elements(node) or "config" in node.properties:
                continue
            assert isinstance(node, NodeOp)
            node.properties |= config_attributes(choose(node, target))
