"""What every node must have: a rule, a meaning, a way to be computed and examples.

A test that reads the examples of nodes refuses to start where one lacks something.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from glow.backends.cpu.selection import SELECTORS
from glow.dialects import glow
from glow.dialects.instr import NODE_OF
from glow.dialects.node import NodeOp
from glow.interpreter import FUNCTIONS
from glow.lowering.lower_nodes.lower_nodes import LOWERINGS

WITHOUT_KERNEL = (
    glow.ConstantOp, glow.ReshapeOp, glow.ConcatOp, glow.DynamicSliceOp,
    glow.DynamicUpdateOp,
)  # fmt: skip
"""Nodes that become weights, views and copies (`glow-to-instr`)."""


def _has_rule(node: type[NodeOp]) -> bool:
    own = [vars(base) for base in node.__mro__ if base.__module__ != NodeOp.__module__]
    return any("infer" in names or "check" in names for names in own)


def lacks(node: type[NodeOp], with_examples: Collection[type[NodeOp]]) -> Iterator[str]:
    """What a node lacks, and where to add it."""
    kernels = {NODE_OF[each] for each in SELECTORS if each in NODE_OF}
    if not _has_rule(node):
        yield "has no shape rule: define `infer` or `check` in glow_dialects/glow/"
    if node not in FUNCTIONS:
        yield "has no reference function: add it to `NODES` in glow/interpreter/"
    if node not in (*LOWERINGS, *kernels, *WITHOUT_KERNEL):
        yield (
            "has neither a lowering nor a kernel: add it to `LOWERINGS` in "
            "lowering/lower_nodes/ or to `SELECTORS` in glow/backends/cpu/selection/; "
            "an element-wise one has `lowering` or `scalar` in its entry in "
            "glow_dialects/glow/"
        )
    if node not in with_examples:
        yield "has no example: add one in test/python/support/nodes/node_examples.py"


def check_aspects(with_examples: Collection[type[NodeOp]]) -> None:
    """Raise a LookupError that names each node that lacks something."""
    found = [
        f"{node.name} {lack}"
        for node in glow.NODES
        for lack in lacks(node, with_examples)
    ]
    if found:
        raise LookupError("; ".join(found))
