"""Weights become variables, which calls may change: the first step of training.

A variable has the weight's name in the network, and begins with its value:

    %w = glow.constant @fc1.weight : tensor<128x64xf32>
  becomes
    %w = glow.variable @fc1.weight initial @fc1.weight : tensor<128x64xf32>

By default these are all weights of floats of rank 1 and more: the initializers of an imported
model; in a program that was written, all constants that have a name, in the weight table or as a
value. `names` chooses others, of integers too. Constants of one name and value are one variable;
another value of the same name is `NAME_1`. Quantized weights stay constants: nothing trains
stored integers.

No pipeline runs it by itself: constants are folded, packed and merged, variables are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.glow.state import variables_of
from glow.dialects.locations import named_weight, node_name
from glow.dialects.node import element_of, shape_of
from glow.dialects.quantized import is_quantized
from glow.dialects.weights import numpy_to_dense, stored_value
from glow.passes.rewriting.contract import GraphPass
from glow.passes.rewriting.node_builder import NodeBuilder

Stored = glow.ConstantOp | glow.SplatOp


def convert(function: FuncOp, names: Sequence[str] = ()) -> None:
    """Turn weights of a function into variables; all, or those of the names.

    Raises GlowError for a name that no constant has, and for quantized ones.
    """
    stored = [op for op in function.walk() if isinstance(op, Stored)]
    chosen = list(_named(stored, names) if names else _by_default(stored))
    for name in names:
        if name not in [found for _, found in chosen]:
            known = ", ".join(dict.fromkeys(n for op in stored if (n := name_of(op))))
            raise GlowError(
                f"no weight is called '{name}'; there are {known or 'none'}"
            )
    taken: dict[str, tuple[Attribute | None, Attribute]] = {
        name: (op.properties.get("value"), op.results[0].type)
        for name, op in variables_of(function).items()
    }
    for op, name in chosen:
        value = initial_value(op)
        key = value, op.result.type
        number, variable = 0, name
        while taken.setdefault(variable, key) != key:
            number += 1
            variable = f"{name}_{number}"
        new = glow.VariableOp.of(variable, op.result.type, value)
        new.result.name_hint = op.result.name_hint or new.result.name_hint
        builder = NodeBuilder(op)
        builder.insert(new)
        builder.replace(new.result)


def name_of(op: Stored) -> str | None:
    """The name of a constant: the network's, that of its entry, or of its value."""
    entry = op.weight_name if isinstance(op, glow.ConstantOp) else None
    return named_weight(op) or entry or op.result.name_hint


def _by_default(stored: Sequence[Stored]) -> Iterator[tuple[Stored, str]]:
    """Weights of floats that have axes."""
    is_imported = any(named_weight(op) is not None for op in stored)
    for op in stored:
        name = named_weight(op) if is_imported else name_of(op)
        is_float = isinstance(element_of(op.result), AnyFloat)
        if name is not None and is_float and shape_of(op.result):
            yield op, name


def _named(
    stored: Sequence[Stored], names: Sequence[str]
) -> Iterator[tuple[Stored, str]]:
    """The constants that have one of the names."""
    for op in stored:
        name = name_of(op)
        if name is not None and name in names:
            if is_quantized(op.result.type):
                raise GlowError(
                    f"weight '{name}' is quantized, and cannot be a variable",
                    node=node_name(op),
                )
            yield op, name


def initial_value(op: Stored) -> Attribute | None:
    """What a constant holds, as a variable has it; None for zeros."""
    if isinstance(op, glow.ConstantOp):
        return op.value
    array = stored_value(op.result)
    assert array is not None
    whole = np.array(array, order="C")
    return numpy_to_dense(whole) if whole.tobytes().strip(b"\0") else None


@dataclass(frozen=True)
class ConvertConstantsToVariablesPass(GraphPass):
    """Turn weights into variables; `names` chooses which."""

    name = "convert-constants-to-variables"

    names: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        functions: list[Operation] = list(op.ops)
        for function in functions:
            if isinstance(function, FuncOp) and function.body.blocks:
                convert(function, self.names)
