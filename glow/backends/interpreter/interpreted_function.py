"""A module's graph, run with NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from types import MappingProxyType

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from glow.dialects.glow import BroadcastOp, ConstantOp, SplatOp
from glow.dialects.node import NodeOp, node_name
from glow.dialects.weight_table import Array
from glow.interpreter import run
from glow.interpreter.variables import Variables
from glow.passes.graph.fold_constants import bytes_of
from glow.runtime.memory import check_memory
from glow.signature import main_function

VIEWS = (ConstantOp, SplatOp, BroadcastOp)
"""Nodes whose results take no memory of their own."""


class InterpretedFunction:
    """Runs a module node by node; raises GlowError where its values exceed the memory."""

    def __init__(self, module: ModuleOp) -> None:
        for op in module.walk():
            if isinstance(op, NodeOp) and not isinstance(op, VIEWS):
                size = sum(map(bytes_of, op.results))
                check_memory({f"the results of node '{node_name(op)}'": size})
        self._module = module
        state = Variables({})
        state.add_missing(main_function(module))
        self._values = state.values
        self.variables: Mapping[str, Array] = MappingProxyType(self._values)
        self._lock = Lock()

    def copy(self) -> InterpretedFunction:
        """The same graph with variables of its own, which have the values of these."""
        other = InterpretedFunction(self._module)
        with self._lock:
            for name, array in self._values.items():
                np.copyto(other.variables[name], array)
        return other

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs for the given inputs; those with variables one after the other."""
        if not self._values:
            return run(self._module, inputs)
        with self._lock:
            return run(self._module, inputs, variables=self._values)
