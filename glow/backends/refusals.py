"""Which operations a backend may refuse, and the check that it takes all of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.traits import IsTerminator

from glow.backends.backend import DEFAULT_BACKEND, Backend
from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.node import NodeOp, node_name
from glow.dialects.quant import CastOp
from glow.passes.rewriting.operations import all_operations

COPIED = (glow.ConstantOp, glow.SplatOp, arith.ConstantOp)
"""What each part of a divided network that reads it has a copy of."""

Refusal = tuple[Operation, Sequence[str | None]]
"""An operation, and why each of several backends does not take it."""


def is_asked_about(op: Operation) -> bool:
    """Whether somebody may refuse an operation: a node, a cast, a loop or branch.

    Constants are everybody's, and scalar code is its node's.
    """
    is_node = isinstance(op, NodeOp | CastOp) or op.name.startswith("scf.")
    return is_node and not isinstance(op, COPIED) and not op.has_trait(IsTerminator)


def check_taken(module: ModuleOp, backend: Backend) -> None:
    """Raise GlowError for nodes that a backend does not take: all of them, with reasons."""
    found: list[Refusal] = []
    for op in all_operations(module):
        if is_asked_about(op) and (reason := backend.refuses(op)) is not None:
            found.append((op, [reason]))
    if found:
        raise refused_error([backend.name], found)


def refused_error(backends: Sequence[str], refusals: Sequence[Refusal]) -> GlowError:
    """The error for nodes that no backend takes, those with one reason listed together."""
    count = f"{len(refusals)} node{'s' * (len(refusals) != 1)}"
    listed = "; ".join(_by_reason(backends, refusals))
    hint = f"name another backend behind {'it' if len(backends) == 1 else 'them'}"
    if DEFAULT_BACKEND not in backends:
        hint = f"name a fallback: --backend={','.join([*backends, DEFAULT_BACKEND])}"
    if len(backends) == 1:
        message = f"backend '{backends[0]}' does not take {count}: {listed}"
    else:
        message = f"none of the backends {', '.join(backends)} takes {count}: {listed}"
    return GlowError(message, hint=hint)


def _by_reason(backends: Sequence[str], refusals: Iterable[Refusal]) -> Iterator[str]:
    """`glow.tanh at 'a', 'b' (there is no kernel for it)`, for each kind and reason."""
    nodes: dict[tuple[str, str], list[str]] = {}
    for op, reasons in refusals:
        told = [str(reason) for reason in reasons]
        if len(backends) > 1:
            pairs = zip(backends, told, strict=True)
            told = [f"{backend}: {reason}" for backend, reason in pairs]
        nodes.setdefault((op.name, "; ".join(told)), []).append(f"'{unit_name(op)}'")
    for (name, reason), names in nodes.items():
        yield f"{name} at {', '.join(names)} ({reason})"


def unit_name(op: Operation) -> str:
    """The name of the network's node, else of its result, else of the operation."""
    hint = op.results[0].name_hint if op.results else None
    return node_name(op) or hint or op.name
