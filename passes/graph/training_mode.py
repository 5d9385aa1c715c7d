"""Layers compute as they do while a network is trained.

    %y = glow.batch_norm %x, %scale, %bias, %mean, %variance
    %z = glow.dropout %y, %constant ratio 0.1
  becomes
    %y, %0, %1 = glow.batch_norm_training %x, %scale, %bias, %mean, %variance momentum 0.1
    %z = glow.dropout %y, %seed ratio 0.1
    glow.save %0, @mean
    glow.save %1, @variance
    glow.save %seed_1, @seed                    // the same key, the next call

Statistics become variables under their weights' names; where layers share them, each goes on
from what the one before leaves. Dropouts draw from one generator, each a stream of its own,
whose state is the variable `@seed`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.glow.training.layers import SEED
from glow.dialects.node import node_name
from glow.dialects.weights import numpy_to_dense
from glow.passes.graph.convert_constants_to_variables import initial_value, name_of
from glow.passes.rewriting.contract import MEANING, GraphPass
from glow.passes.rewriting.node_builder import NodeBuilder
from glow.passes.rewriting.node_builder import name_of as value_name
from glow.passes.rewriting.operations import all_operations

GENERATOR = "seed"
"""The variable of the generator: its key and the number of the call."""

MOMENTUM = 0.1
"""What moving averages take of a batch, as in PyTorch."""


def use_batch_statistics(function: FuncOp, momentum: float = MOMENTUM) -> set[str]:
    """Let batch normalizations use and save statistics; returns the names of these.

    Raises GlowError for statistics that are computed, or that something in a branch or loop
    normalizes by.
    """
    block = function.body.block
    last = block.last_op
    assert last is not None
    latest: dict[str, SSAValue] = {}
    for op in all_operations(function):
        if not isinstance(op, glow.BatchNormOp):
            continue
        if op.parent is not block:
            raise GlowError(
                "the statistics of a branch or loop cannot be saved", node=node_name(op)
            )
        builder = NodeBuilder(op)
        names = [variable_of(op.mean), variable_of(op.variance)]
        old = [
            latest.get(name, value)
            for name, value in zip(names, (op.mean, op.variance), strict=True)
        ]
        normal = glow.BatchNormTrainingOp.build_node(
            [op.input, op.scale, op.bias, *old], epsilon=op.epsilon, momentum=momentum
        )
        builder.insert(normal)
        latest.update(zip(names, normal.results[1:], strict=True))
        builder.replace(normal.result)
    for name, value in latest.items():
        NodeBuilder(last).insert(glow.SaveOp.of(value, name))
    return set(latest)


def variable_of(value: SSAValue) -> str:
    """The variable that a statistic is; a constant becomes one. GlowError for others."""
    owner = value.owner
    if isinstance(owner, glow.VariableOp):
        return owner.variable_name
    if not isinstance(owner, glow.ConstantOp | glow.SplatOp):
        raise GlowError(
            f"the statistics {value_name(value)} are computed, and cannot be saved",
            hint="batch normalizations take weights or variables in training",
        )
    name = name_of(owner) or value_name(value)
    variable = glow.VariableOp.of(name, owner.result.type, initial_value(owner))
    builder = NodeBuilder(owner)
    builder.insert(variable)
    builder.replace(variable.result)
    return name


def use_generator(function: FuncOp, seed: int = 0) -> None:
    """Let dropouts draw from one generator, whose state is a variable."""
    dropouts = [op for op in function.walk() if isinstance(op, glow.DropoutOp)]
    block = function.body.block
    first, last = block.first_op, block.last_op
    if not dropouts or first is None or last is None:
        return
    initial = numpy_to_dense(np.array([seed, 0], np.int64))
    state = glow.VariableOp.of(GENERATOR, SEED, initial)
    NodeBuilder(first).insert(state)
    for stream, op in enumerate(dropouts):
        builder = NodeBuilder(op)
        settings = {"ratio": op.attributes_view().float("ratio"), "stream": stream}
        builder.replace(
            builder.node(glow.DropoutOp, op.input, state.result, **settings)
        )
    builder = NodeBuilder(last)
    one = builder.constant(np.array([0, 1], np.int64), "next_call")
    following = builder.node(glow.AddOp, state.result, one)
    builder.insert(glow.SaveOp.of(following, GENERATOR))


def remove_dropouts(function: FuncOp) -> None:
    """Let a function compute as after training: nothing is dropped."""
    for op in all_operations(function):
        if isinstance(op, glow.DropoutOp):
            NodeBuilder(op).replace(op.input)


@dataclass(frozen=True)
class TrainingModePass(GraphPass):
    """Let layers compute as in training; `momentum` of statistics, `seed` of dropout."""

    name = "training-mode"
    preserves = MEANING

    momentum: float = MOMENTUM
    seed: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        for function in op.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                use_batch_statistics(function, self.momentum)
                use_generator(function, self.seed)
