"""What a pass promises: its level before and after, and how much of the results it preserves.

A pass states it on its class, and `--verify-each`, the lit suites and the fuzzer check it:

    class SinkReshapesPass(GraphPass):
        requires = (GRAPH,)       # what must hold of the module before
        ensures = (GRAPH,)        # and after
        preserves = BITS          # the results: bit for bit, but for rounding, or not

Nothing is checked in a normal run: passes rely on it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from glow.backends.backend import loaded_backends
from glow.dialects.errors import GlowError
from glow.passes.rewriting.operations import all_operations

BITS = "bits"
"""Results keep every bit, of NaN and infinities too (which NaN it is does not count)."""
VALUES = "values"
"""Sums and products are arranged anew, so that results differ by rounding."""
MEANING = "meaning"
"""Results change on purpose (quantization): only shapes and types are kept."""


@dataclass(frozen=True)
class Condition:
    """Something that holds of a module; `broken` says where it does not."""

    name: str
    broken: Callable[[ModuleOp], str | None]

    def check(self, module: ModuleOp, when: str) -> None:
        """Raise GlowError where the condition does not hold."""
        found = self.broken(module)
        if found is not None:
            raise GlowError(f"{when}: not {self.name}: {found}")


def only_dialects(name: str, dialects: Collection[str]) -> Condition:
    """All operations belong to some dialects."""

    def broken(module: ModuleOp) -> str | None:
        for op in all_operations(module):
            if op.name.partition(".")[0] not in dialects:
                return f"{op.name} is none of {', '.join(dialects)}"
        return None

    return Condition(name, broken)


def _foreign_node(module: ModuleOp) -> str | None:
    own = (backend.dialects() for backend in loaded_backends())
    return only_dialects("", (*GRAPH_DIALECTS, *chain(*own))).broken(module)


SCALARS = ("arith", "math")
GRAPH_DIALECTS = ("glow", "func", "builtin", "scf", "tensor", "quant", *SCALARS)
"""`scf` branches and repeats nodes; `tensor.extract` gives it conditions and bounds."""
GRAPH = only_dialects("the graph level", GRAPH_DIALECTS)
NODES = Condition("a level of nodes", _foreign_node)


class GraphPass(ModulePass):
    """A pass from graphs to graphs."""

    requires: ClassVar[tuple[Condition, ...]] = (GRAPH,)
    ensures: ClassVar[tuple[Condition, ...]] = (GRAPH,)
    preserves: ClassVar[str] = BITS


def conditions(compiler_pass: ModulePass, kind: str) -> tuple[Condition, ...]:
    """What a pass `requires` or `ensures`; nothing where it does not say."""
    return getattr(compiler_pass, kind, ())


def preserved_by(compiler_pass: ModulePass) -> str:
    """How much of the results a pass preserves: the bits, unless it says otherwise.

    Earlier, passes said it by `keeps`.
    """
    earlier: str | None = getattr(compiler_pass, "keeps", None)
    if earlier is not None:
        name = type(compiler_pass).__name__
        warnings.warn(f"{name}.keeps is now preserves", FutureWarning, stacklevel=2)
    return earlier or getattr(compiler_pass, "preserves", BITS)


def check_requires(compiler_pass: ModulePass, module: ModuleOp) -> None:
    """Raise GlowError unless a pass may run."""
    for condition in conditions(compiler_pass, "requires"):
        condition.check(module, f"before {compiler_pass.name}")


def check_ensures(compiler_pass: ModulePass, module: ModuleOp) -> None:
    """Raise GlowError unless a pass left what it promises."""
    for condition in conditions(compiler_pass, "ensures"):
        condition.check(module, f"after {compiler_pass.name}")
