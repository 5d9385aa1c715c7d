"""Layers as they compute in training: by the batch, with statistics that follow it.

  %y = glow.batch_norm %x, %scale, %bias, %mean, %variance
becomes
  %y, %new_mean, %new_variance = glow.batch_norm_training %x, %scale, %bias, %mean, %variance
  glow.save %new_mean, @mean
  glow.save %new_variance, @variance
"""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.glow.state import SaveOp, VariableOp
from glow.passes.rewriting.node_builder import NodeBuilder


def use_batch_statistics(function: FuncOp) -> set[str]:
    """Change the batch normalizations of a function; the names of their statistics.

    Those whose statistics are no variables of their own stay as they are.
    """
    last = function.body.block.last_op
    assert last is not None
    names: set[str] = set()
    for op in list(function.walk()):
        if not isinstance(op, glow.BatchNormOp):
            continue
        statistics = [variable_of(op.mean), variable_of(op.variance)]
        found = {name for name in statistics if name is not None}
        if len(found) < 2 or found & names:
            continue
        builder = NodeBuilder(op)
        normal = builder.node(
            glow.BatchNormTrainingOp, *op.inputs, epsilon=op.epsilon
        ).owner
        assert isinstance(normal, glow.BatchNormTrainingOp)
        for value, name in zip(normal.results[1:], statistics, strict=True):
            assert name is not None
            NodeBuilder(last).insert(SaveOp.of(value, name))
            names.add(name)
        builder.replace(normal.result)
    return names


def variable_of(value: SSAValue) -> str | None:
    """The variable whose value this is."""
    owner = value.owner
    return owner.variable_name if isinstance(owner, VariableOp) else None
