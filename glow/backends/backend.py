"""What a backend is: a few answers and a `compile`.

A hardware vendor's package adds one by an entry point in the group `glow.backends`
that names a class derived from `Backend`. Ours stand here: reading the entry points of
all packages takes longer than to compile a small network's graph.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from glow.dialects.errors import GlowError
from glow.dialects.node import NodeOp
from glow.dialects.weight_table import Array


class CompiledFunction(Protocol):
    """Native (or interpreted) code of one network.

    It may have more, of which `CompiledModel` makes use: `run_into(inputs, outputs)`, which
    writes into arrays without copies, and the text `details` for people to read.
    """

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs for inputs of the right shapes and dtypes; thread-safe."""
        ...


class Backend(ABC):
    """A way to run networks."""

    name: str

    @abstractmethod
    def should_lower(self, op: NodeOp) -> bool:
        """Whether node lowering replaces this node by simpler ones."""

    def prefers_f32(self, op: Operation, target: str, numerics: str) -> bool:
        """Whether a product of f32 is not faster in bf16."""
        return False

    @abstractmethod
    def lowered_passes(
        self, target: str, numerics: str, weight_growth: float
    ) -> Sequence[str]:
        """Passes from the optimized graph to the backend's nodes.

        Weights that they transform may take `weight_growth` times the bytes of all
        weights in addition.
        """

    def instr_passes(self, target: str) -> Sequence[str]:
        """Passes from nodes to planned instructions; none for graph backends."""
        return ()

    @abstractmethod
    def compile(
        self, module: ModuleOp, target: str, threads: int | None
    ) -> CompiledFunction:
        """The runnable function of a module after all passes of the backend."""


OWN = {
    "cpu": ("glow.backends.cpu", "CpuBackend"),
    "interpreter": ("glow.backends.interpreter", "InterpreterBackend"),
}


def get_backend(name: str) -> Backend:
    """The backend of that name; raises GlowError listing those there are."""
    if name in OWN:
        module, class_name = OWN[name]
        return getattr(import_module(module), class_name)()
    from importlib.metadata import entry_points

    found = {point.name: point for point in entry_points(group="glow.backends")}
    if name not in found:
        known = ", ".join(sorted({*OWN, *found}))
        raise GlowError(f"unknown backend '{name}'", hint=f"there are {known}")
    return found[name].load()()
