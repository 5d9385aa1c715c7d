"""Converts the operations of another project's dialects, and lists what cannot be converted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import AnyFloat, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from glow.dialects.errors import GlowError
from glow.dialects.glow import BroadcastOp
from glow.dialects.locations import place_of
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.frontends.graph_builder import GraphBuilder
from glow.passes.graph.fold_constants import Budget, fold

BROKEN = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    StopIteration,
    TypeError,
    ValueError,
)
"""What handlers raise for operands, properties or regions that the dialect does not allow."""

MOST_LISTED = 20
"""Operations that one message lists; the rest is counted."""

FOLDED_SIZE = 16
"""Elements of an operand: counts and bounds are computed here, weights by `fold-constants`."""

FOLDED_BYTES = 1 << 20


class Conversion(ABC):
    """Converts blocks, and notes what cannot be converted."""

    def __init__(self) -> None:
        self.failures: list[str] = []
        self.notes: list[str] = []
        self.budget = Budget(FOLDED_BYTES)

    @abstractmethod
    def is_foreign(self, op: Operation) -> bool:
        """Whether an operation is to be converted."""

    @abstractmethod
    def convert(self, op: Operation) -> tuple[GraphBuilder, Sequence[SSAValue]]:
        """What takes the place of the operation's results; GlowError for what cannot."""

    def convert_block(self, block: Block) -> None:
        """Convert the operations of a block, in order."""
        for op in list(block.ops):
            if self.is_foreign(op):
                self.replace(op)

    def replace(self, op: Operation) -> None:
        """Convert one operation, or note why it cannot be."""
        try:
            builder, values = self.convert(op)
            for old, new in zip(op.results, values, strict=True):
                if old.type != new.type:
                    raise GlowError(f"it says {old.type}, and gives {new.type}")
            builder.replace(*values)
            self.settle(builder)
        except (GlowError, VerifyException) as error:
            reason = error.message if isinstance(error, GlowError) else str(error)
            self.refuse(op, reason)
        except BROKEN:
            self.refuse(op, "its operands, properties or regions do not fit together")

    def refuse(self, op: Operation, reason: str) -> None:
        """Note an operation that cannot be converted."""
        line = " ".join(reason.split())
        self.failures.append(f"'{op.name}' at {place_of(op)} ({line})")
        self.notes.append(f"{place_of(op)}: note: '{op.name}': {line}")

    def settle(self, builder: GraphBuilder) -> None:
        """Compute the new nodes on small constants, which later conversions look at."""
        for node in builder.made:
            if node.parent is not None and _is_small(node):
                fold(node, self.budget)

    def raise_if_any(self) -> None:
        """Raise one GlowError that lists everything that was not converted."""
        if not self.failures:
            return
        count = len(self.failures)
        what = "operation is" if count == 1 else "operations are"
        listed = "; ".join(self.failures[:MOST_LISTED])
        rest = f"; and {count - MOST_LISTED} more" if count > MOST_LISTED else ""
        error = GlowError(f"{count} {what} not converted: {listed}{rest}")
        for note in self.notes[:MOST_LISTED]:
            error.add_note(note)
        raise error


def _is_small(node: NodeOp) -> bool:
    """Whether a node has tensors of a few elements only.

    Numbers that are repeated stay so: what reads them broadcasts by itself (`fold_broadcasts`).
    """
    if isinstance(node, BroadcastOp) and isinstance(element_of(node.result), AnyFloat):
        return False
    values = (*node.inputs, *node.results)
    return all(
        isinstance(one.type, TensorType) and prod(shape_of(one)) <= FOLDED_SIZE
        for one in values
    )
