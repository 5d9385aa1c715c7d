"""Variables: what functions keep between calls, on the graph and on buffers.

On the graph reads give the values from before the call, and saves are kept until it is over. On
buffers a variable is memory that instructions write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues
from xdsl.ir import Operation

from glow.dialects import glow, instr
from glow.dialects.glow.state import VariableBase, variables_of
from glow.dialects.weights import initial_value
from glow.interpreter.arrays import Array
from glow.interpreter.instructions import Method


class Variables:
    """The variables of a run: `values` by name, and what was saved since."""

    def __init__(self, values: dict[str, Array]) -> None:
        self.values = values
        self.saved: dict[str, Array] = {}

    def read(self, op: VariableBase) -> Array:
        """The memory of a variable."""
        name = op.variable_name
        if name not in self.values:
            self.values[name] = initial_value(op)
        return self.values[name]

    def add_missing(self, function: Operation) -> None:
        """Give the variables of a function that have no value their initial one."""
        for op in variables_of(function).values():
            self.read(op)

    def commit(self) -> None:
        """Let what was saved take effect, in the memory of the variables."""
        saved = {name: array.copy() for name, array in self.saved.items()}
        for name, array in saved.items():
            self.values[name][...] = array
        self.saved.clear()


def variable_methods(variables: Variables) -> Mapping[type[Operation], Method]:
    """What xDSL's interpreter calls for operations on variables."""

    def read(
        self: InterpreterFunctions, _: Interpreter, op: Any, args: PythonValues
    ) -> PythonValues:
        view = variables.read(op).view()
        view.flags.writeable = False
        return (view,)

    def memory(
        self: InterpreterFunctions, _: Interpreter, op: Any, args: PythonValues
    ) -> PythonValues:
        return (variables.read(op),)

    def save(
        self: InterpreterFunctions, _: Interpreter, op: Any, args: PythonValues
    ) -> PythonValues:
        variables.saved[op.variable_name] = args[0]
        return ()

    return {glow.VariableOp: read, instr.VariableOp: memory, glow.SaveOp: save}
