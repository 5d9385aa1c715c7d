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
from glow.backends.cpu.dialect.config_attributes import config_attributes
from glow.backends.cpu.tuning.choose import choose
from glow.dialects.node import NodeOp, shape_of
from glow.lowering.target.program_target import settle_target
from glow.passes.rewriting.contract import VALUES
from glow.tuning import choices

SpecOf = Callable[[NodeOp], object]
"""The specification of a node's kernel, whose module it loads."""


def _planes(op: NodeOp) -> object:
    from glow.backends.cpu.selection.convolution import group_size, planes_of

    image, weights = op.inputs[:2]
    return planes_of(op.attributes_view(), image, group_size(weights))


def _plain(op: NodeOp) -> object:
    from glow.backends.cpu.selection.convolution import plain_conv_spec

    image, weights = op.inputs[:2]
    return plain_conv_spec(op.attributes_view(), image, weights)


def _batch_matmul(op: NodeOp) -> object:
    from glow.backends.cpu.selection.matmul import batch_matmul_spec

    return batch_matmul_spec(op.attributes_view(), op.results[0], *op.inputs[:2])


def _int8_batch_matmul(op: NodeOp) -> object:
    from glow.backends.cpu.selection.integers import int8_batch_matmul_spec

    lhs, rhs = op.inputs[:2]
    return int8_batch_matmul_spec(op.attributes_view(), op.results[0], lhs, rhs)


def _attention(op: NodeOp) -> object:
    from glow.backends.cpu.selection.matmul import attention_spec

    return attention_spec(op.attributes_view(), op.results[0], op.inputs)


SPECS: Mapping[type[Operation], SpecOf] = {
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
        choices.refresh()
        for node in op.walk():
            spec_of = SPECS.get(type(node))
            if (
                spec_of is None
                or not _has_elements(node)
                or "config" in node.properties
            ):
                continue
            assert isinstance(node, NodeOp)
            node.properties |= config_attributes(choose(spec_of(node), target))
