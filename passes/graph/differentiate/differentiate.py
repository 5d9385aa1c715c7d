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
from math import prod
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.hints import isa

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import OUTPUT_NAMES
from glow.dialects.node import shape_of, tensor_type
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.reverse_walk import (
    GradientSums,
    dependents,
    is_differentiable,
    walk_back,
)
from glow.passes.graph.differentiate.rules import RULES
from glow.passes.graph.optimizers import RATE, add_input, add_updates, parse_updates
from glow.passes.rewriting.contract import MEANING, GraphPass

ALL = "all"

Variables = dict[str, list[SSAValue]]
"""The values that a name in `wrt` stands for: an argument, or each read of a variable."""


def differentiate(
    function: FuncOp, loss: SSAValue, wrt: Sequence[str]
) -> tuple[GradientBuilder, dict[str, SSAValue]]:
    """Add the backward graph of a loss; returns the gradient of each name in `wrt`.

    `all` stands for the variables that the loss depends on. The builder erases what is not
    used, once the gradients are (`erase_unused`). Raises GlowError for a loss of more than
    one element, a name that there is not, and what has no gradient.
    """
    check_loss(loss)
    variables = variables_of(function)
    names = [n for n in variables if n.startswith("@")] if ALL in wrt else list(wrt)
    sources = {name: find(variables, name) for name in names}
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


def check_loss(loss: SSAValue) -> None:
    """Raise GlowError unless a loss is one float."""
    if not is_differentiable(loss):
        raise GlowError(f"the loss must be a tensor of floats, not {loss.type}")
    if prod(shape_of(loss)) != 1:
        raise GlowError(
            f"the loss must be one number, not {loss.type}",
            hint="reduce it, for example with glow.reduce_sum or glow.reduce_mean",
        )


def variables_of(function: FuncOp) -> Variables:
    """What gradients may be asked for: arguments by name, variables and weights by `@name`."""
    variables: Variables = {}
    for argument in function.args:
        if argument.name_hint is not None and is_differentiable(argument):
            variables.setdefault(argument.name_hint, []).append(argument)
    for op in function.body.block.ops:
        name = symbol_of(op)
        if name is not None and is_differentiable(op.results[0]):
            variables.setdefault(f"@{name}", []).append(op.results[0])
    return variables


def symbol_of(op: Operation) -> str | None:
    """The name of the weight or variable that an operation reads."""
    if isinstance(op, glow.ConstantOp):
        return op.weight_name
    if isinstance(op, glow.VariableOp):
        return op.variable_name
    return None


def find(variables: Variables, name: str) -> Sequence[SSAValue]:
    """The values of a name; raises GlowError listing what there is."""
    plain = name.removeprefix("%")
    found = variables.get(name) or variables.get(plain) or variables.get(f"@{plain}")
    if found is None:
        known = ", ".join(sorted(variables)) or "none"
        raise GlowError(
            f"nothing to differentiate is called '{name}'; there are {known}"
        )
    return found


def losses(module: ModuleOp, name: str | None) -> list[tuple[FuncOp, SSAValue]]:
    """The functions that have a loss of that name; without a name the only result."""
    found = [
        (function, loss)
        for function in module.ops
        if isinstance(function, FuncOp) and function.body.blocks
        for loss in values_named(function, name)
    ]
    if not found:
        what = "a function with one result" if name is None else f"a value '{name}'"
        raise GlowError(f"there is no loss: no function has {what}")
    return found


def values_named(function: FuncOp, name: str | None) -> Sequence[SSAValue]:
    """The value of a function's block that has a name, if there is one."""
    block = function.body.block
    if name is None:
        assert block.last_op is not None
        results = block.last_op.operands
        return results if len(results) == 1 else []
    wanted = name.removeprefix("%")
    values = (*block.args, *(result for op in block.ops for result in op.results))
    return [value for value in values if value.name_hint == wanted][-1:]


def return_values(function: FuncOp, values: dict[str, SSAValue]) -> None:
    """Let a function return more values; names of outputs become `NAME.grad`."""
    last = function.body.block.last_op
    assert isinstance(last, ReturnOp)
    last.operands = [*last.operands, *values.values()]
    function.update_function_type()
    names = function.attributes.get(OUTPUT_NAMES)
    if isa(names, ArrayAttr[StringAttr]):
        more = [StringAttr(f"{name.removeprefix('@')}.grad") for name in values]
        function.attributes[OUTPUT_NAMES] = ArrayAttr([*names.data, *more])


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
