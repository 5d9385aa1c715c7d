"""Assigns each node of `main` to the first of several backends that takes it.

    --assign-backends=npu,cpu

    %a = glow.matmul %x, %w : tensor<4x4xf32>
    %b = glow.softmax %a axis 1 : tensor<4x4xf32>
  becomes, where the backend `npu` has no softmax,
    %a = glow.matmul %x, %w backend "npu" : tensor<4x4xf32>
    %b = glow.softmax %a axis 1 backend "cpu" : tensor<4x4xf32>

A backend says itself what it does not take (`Backend.refuses`), and `unsupported=npu=glow.relu`
names more that one should not get. What is assigned already stays where that backend takes it. A
node with regions, and nodes that must stay together (reads and saves of a variable), have one
backend. `outline-parts` makes functions of what is assigned; both are what
`glow run --backend=npu,cpu` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr

from glow.backends.refusals import refused_error
from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import BACKEND
from glow.passes.graph.partition.divide import function_to_divide
from glow.passes.graph.partition.graph import Unit, UnitGraph
from glow.passes.graph.partition.options import parse_unsupported
from glow.passes.graph.partition.problem import Refused
from glow.passes.graph.partition.support import unsupported_reason
from glow.passes.rewriting.contract import GraphPass
from glow.passes.rewriting.node_builder import erase_dead_nodes


def assign_backends(
    module: ModuleOp, backends: Sequence[str], unsupported: Refused | None = None
) -> None:
    """Write the first backend that takes a node on it; GlowError tells of all that none takes."""
    more = unsupported or {}
    if not backends:
        raise GlowError(
            "backends are missing", hint="such as --assign-backends=npu,cpu"
        )
    function = function_to_divide(module)
    erase_dead_nodes(module)
    graph = UnitGraph(function)
    refused: dict[int, list[str | None]] = {}
    for number, unit in enumerate(graph.units):
        reasons: list[str | None] = []
        first = [name for name in backends if _is_assigned(unit, name)]
        for backend in [*first, *backends]:
            reasons.append(unsupported_reason(unit, backend, more.get(backend, ())))
            if reasons[-1] is None:
                for op in unit.ops:
                    op.attributes[BACKEND] = StringAttr(backend)
                break
        else:
            refused[number] = reasons[len(first) :]
    if refused:
        found = [(graph.units[n].ops[0], reasons) for n, reasons in refused.items()]
        raise refused_error(backends, found)


def _is_assigned(unit: Unit, backend: str) -> bool:
    """Whether a unit has a backend already, by hand or by this pass."""
    return all(op.attributes.get(BACKEND) == StringAttr(backend) for op in unit.ops)


@dataclass(frozen=True)
class AssignBackendsPass(GraphPass):
    """Assign each node to the first backend that takes it."""

    name = "assign-backends"
    positional: ClassVar[str] = "backends"

    backends: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        assign_backends(op, self.backends, parse_unsupported(self.unsupported))
