"""The first node of a step whose result is not finite.

The step runs once more on the interpreter, from the state and the batch that it had. A node
counts where it makes NaN, or an infinity of finite numbers: masks hold infinities on purpose.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Operation

from glow.dialects.errors import GlowError
from glow.dialects.glow.state import VariableBase
from glow.dialects.glow.storage import ConstantOp, SplatOp
from glow.dialects.node import NodeOp, node_name
from glow.dialects.weight_table import Array
from glow.interpreter.interpreter import make_interpreter
from glow.interpreter.variables import Variables
from glow.signature import main_function, signature_of


class FoundError(Exception):
    """Ends a run at the node that was looked for; says what it is."""


class Search(Interpreter.Listener):
    """Looks at operands and results of each node."""

    def __init__(self) -> None:
        self.operands: dict[Operation, tuple[bool, bool]] = {}

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        """Remember what comes in."""
        if isinstance(op, NodeOp):
            self.operands[op] = kinds(args)

    def did_interpret_op(self, op: Operation, results: PythonValues) -> None:
        """Stop where what goes out is worse than what came in."""
        if isinstance(op, VariableBase):
            self.operands[op] = (False, False)
        elif not isinstance(op, NodeOp) or isinstance(op, ConstantOp | SplatOp):
            return
        had_nan, had_infinity = self.operands.pop(op)
        nan, infinity = kinds(results)
        if (nan and not had_nan) or (infinity and not (had_infinity or had_nan)):
            raise FoundError(described(op, "NaN" if nan else "infinity"))


def kinds(values: Iterable[Any]) -> tuple[bool, bool]:
    """Whether there is NaN among the numbers of arrays, and whether there is infinity."""
    nan = infinity = False
    for value in values:
        array = cast("Array", np.asarray(value))
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            nan |= bool(np.isnan(array).any())
            infinity |= bool(np.isinf(array).any())
    return nan, infinity


def described(op: Operation, what: str) -> str:
    """What a node is, and what it computes."""
    if isinstance(op, VariableBase):
        return f"variable '{op.variable_name}' holds {what} before the step"
    hint = op.results[0].name_hint
    value = f" for '%{hint}'" if hint else ""
    return f"node '{node_name(op)}' ({op.name}) is the first to compute {what}{value}"


def first_not_finite(
    module: ModuleOp, inputs: Sequence[Array], variables: dict[str, Array]
) -> str:
    """A clause that names the first node of a graph that is not finite."""
    function = main_function(module)
    for info, array in zip(signature_of(function).inputs, inputs, strict=True):
        if any(kinds([array])):
            return f"input '{info.name}' holds {'NaN' if kinds([array])[0] else 'infinity'}"
    state = Variables(variables)
    state.add_missing(function)
    interpreter = make_interpreter(module, variables=state)
    interpreter.listeners = (*interpreter.listeners, Search())
    try:
        interpreter.call_op(function, tuple(inputs))
    except Exception as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, FoundError):
                return str(cause)
            if isinstance(cause, GlowError):
                raise cause from None
            cause = cause.__cause__ or cause.__context__
        raise
    return "all nodes are finite on the interpreter"
