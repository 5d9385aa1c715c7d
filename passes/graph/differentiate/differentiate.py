"""Adds the backward graph of a loss to a function, from the loss back to variables.

    func.func @main(%x: tensor<8x4xf32>, %w: tensor<4xf32>) -> tensor<f32> {
      %y = glow.mul %x, %w : tensor<8x4xf32>
      %loss = glow.reduce_sum %y axes [0, 1] : tensor<f32>
      func.return %loss : tensor<f32>
    }
  becomes by `differentiate{loss=loss wrt=w outputs=gradients}`
      %loss = ...
      %w.grad = glow.reduce_sum %x axes [0] : tensor<4xf32>
      func.return %loss, %w.grad : tensor<f32>, tensor<4xf32>

The backward graph is made of ordinary nodes and differentiates again. It stands behind the
whole forward graph and reads its values; the passes that follow know nothing of it.

With `optimizer` (`sgd`, `"adam{beta1=0.8}"`, `passes/graph/optimizers.py`) the variables are
updated in place of that, and the function takes a `rate`.

`loss` names a value of one element (`%loss` or `loss`; the only result if left out). `wrt`
names arguments (`x`) and variables or weights (`@w`), or is `all` for each variable that the
loss depends on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import OUTPUT_NAMES
from glow.dialects.node import tensor_type
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.reverse_walk import (
    GradientSums,
    dependents,
    walk_back,
)
from glow.passes.graph.differentiate.rules import RULES
from glow.passes.graph.differentiate.targets import ALL, losses, names_in, targets
from glow.passes.graph.optimizers import RATE, add_input, add_updates, parse_updates
from glow.passes.rewriting.contract import MEANING, GraphPass


def differentiate(
    function: FuncOp, loss: SSAValue, wrt: Sequence[str]
) -> tuple[GradientBuilder, dict[str, SSAValue]]:
    """Add the backward graph of a loss; returns the gradient of each name in `wrt`.

    `all` stands for the variables that the loss depends on. The builder erases what is not
    used, once the gradients are (`erase_unused`). Raises GlowError for a name that there is
    not, and for what has no gradient.
    """
    sources = targets(function, wrt)
    block = function.body.block
    last = block.last_op
    assert last is not None
    values = [value for reads in sources.values() for value in reads]
    builder = GradientBuilder(last, dependents(block.ops, values), RULES)
    sums = GradientSums(builder)
    builder.location = last.location
    sums.add(loss, builder.number(1.0, loss))
    walk_back(sums, list(block.ops))
    builder.location = last.location
    gradients = {
        name: gradient
        for name, reads in sources.items()
        if (gradient := total(sums, name, reads, needed=ALL not in wrt)) is not None
    }
    if not gradients:
        raise GlowError(
            "the loss depends on no variable", hint="name arguments or weights in wrt"
        )
    return builder, gradients


def total(
    sums: GradientSums, name: str, reads: Sequence[SSAValue], needed: bool
) -> SSAValue | None:
    """The sum of the gradients of a variable's reads; raises GlowError if it is `needed`."""
    first, *others = reads
    for other in others:
        if (gradient := sums.get(other)) is not None:
            sums.add(first, gradient)
    gradient = sums.get(first)
    if gradient is None and needed:
        raise GlowError(
            f"the loss does not depend on '{name}', or not through differentiable nodes"
        )
    return gradient


def return_values(function: FuncOp, values: dict[str, SSAValue]) -> None:
    """Let a function return more values; names of outputs become `NAME.grad`."""
    last = function.body.block.last_op
    assert isinstance(last, ReturnOp)
    last.operands = [*last.operands, *values.values()]
    function.update_function_type()
    names = names_in(function, OUTPUT_NAMES)
    if names:
        names += [f"{name.removeprefix('@')}.grad" for name in values]
        function.attributes[OUTPUT_NAMES] = ArrayAttr(list(map(StringAttr, names)))


@dataclass(frozen=True)
class DifferentiatePass(GraphPass):
    """Add the gradients of a loss to functions; see the module."""

    name = "differentiate"
    preserves = MEANING

    loss: str | None = None
    wrt: tuple[str, ...] = (ALL,)
    outputs: Literal["gradients"] = "gradients"
    optimizer: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        for function, loss in losses(op, self.loss):
            builder, gradients = differentiate(function, loss, self.wrt)
            if self.optimizer is None:
                return_values(function, gradients)
            else:
                rate = add_input(function, RATE, tensor_type((), f32))
                updates = parse_updates(self.optimizer)
                add_updates(function, gradients, updates, rate)
            builder.erase_unused()
