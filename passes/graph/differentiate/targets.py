"""Finds by name what is differentiated: the loss, and what its gradient is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import INPUT_NAMES, OUTPUT_NAMES
from glow.dialects.node import shape_of
from glow.passes.graph.differentiate.reverse_walk import is_differentiable

ALL = "all"

Targets = dict[str, list[SSAValue]]
"""The values that a name stands for: an argument, or each read of a variable or weight."""


def names_in(function: FuncOp, attribute: str) -> list[str]:
    """What the network calls the inputs or outputs of a function."""
    names = function.attributes.get(attribute)
    if names is None:
        return []
    return [name.data for name in cast("ArrayAttr[StringAttr]", names).data]


def losses(module: ModuleOp, name: str | None) -> list[tuple[FuncOp, SSAValue]]:
    """The functions that have a loss of that name; without a name the only result.

    Raises GlowError where there is none, or a loss is not one float.
    """
    found = [
        (function, loss)
        for function in module.ops
        if isinstance(function, FuncOp) and function.body.blocks
        for loss in values_named(function, name)
    ]
    if not found:
        what = "a function with one result" if name is None else f"a value '{name}'"
        raise GlowError(f"there is no loss: no function has {what}")
    for _, loss in found:
        check_loss(loss)
    return found


def values_named(function: FuncOp, name: str | None) -> Sequence[SSAValue]:
    """The value in a function's block, or the output of the network, that has a name."""
    block = function.body.block
    assert block.last_op is not None
    results = block.last_op.operands
    if name is None:
        return results if len(results) == 1 else []
    wanted = name.removeprefix("%")
    values = (*block.args, *(result for op in block.ops for result in op.results))
    found = [value for value in values if value.name_hint == wanted]
    outputs = zip(names_in(function, OUTPUT_NAMES), results, strict=False)
    return found[-1:] or [value for output, value in outputs if output == wanted]


def check_loss(loss: SSAValue) -> None:
    """Raise GlowError unless a loss is one float."""
    if not is_differentiable(loss):
        raise GlowError(f"the loss must be a tensor of floats, not {loss.type}")
    if prod(shape_of(loss)) != 1:
        raise GlowError(
            f"the loss must be one number, not {loss.type}",
            hint="reduce it, for example with glow.reduce_sum or glow.reduce_mean",
        )


def targets(function: FuncOp, wrt: Sequence[str]) -> Targets:
    """The values of each name; `all` is each variable. Raises GlowError for an unknown name."""
    variables = reads(function, glow.VariableOp)
    if ALL in wrt:
        return variables
    known = {**reads(function, glow.ConstantOp), **variables, **arguments(function)}
    return {name: find(known, name) for name in wrt}


def arguments(function: FuncOp) -> Targets:
    """The arguments of floats by their names in the text, and in the network."""
    hints = [argument.name_hint for argument in function.args]
    names = names_in(function, INPUT_NAMES) or hints
    return {
        name: [argument]
        for known in (names, hints)
        for name, argument in zip(known, function.args, strict=True)
        if name is not None and is_differentiable(argument)
    }


def reads(function: FuncOp, reader: type[glow.ConstantOp | glow.VariableOp]) -> Targets:
    """The reads of each variable, or of each weight, by `@name`."""
    found: Targets = {}
    for op in function.body.block.ops:
        name = symbol_of(op) if isinstance(op, reader) else None
        if name is not None and is_differentiable(op.results[0]):
            found.setdefault(f"@{name}", []).append(op.results[0])
    return found


def symbol_of(op: Operation) -> str | None:
    """The name of the weight or variable that an operation reads."""
    if isinstance(op, glow.VariableOp):
        return op.variable_name
    return op.weight_name if isinstance(op, glow.ConstantOp) else None


def find(known: Targets, name: str) -> list[SSAValue]:
    """The values of a name; raises GlowError listing what there is."""
    plain = name.removeprefix("%")
    found = known.get(name) or known.get(plain) or known.get(f"@{plain}")
    if found is None:
        names = ", ".join(sorted(known)) or "none"
        raise GlowError(
            f"nothing to differentiate is called '{name}'; there are {names}"
        )
    return found
