"""What a `linalg.generic` says: its maps, its sizes, and how its body combines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, StringAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineDimExpr,
    AffineMap,
)
from xdsl.utils.hints import isa

from glow.dialects.errors import GlowError
from glow.dialects.foreign.words import Word
from glow.dialects.linalg import LinalgOp
from glow.dialects.node import shape_of
from glow.frontends.linalg.linalg_builder import LinalgBuilder

COMBINERS = {
    "arith.addf": "add",
    "arith.addi": "add",
    "arith.andi": "and",
    "arith.maximumf": "max",
    "arith.maxnumf": "max",
    "arith.maxsi": "max",
    "arith.minimumf": "min",
    "arith.minnumf": "min",
    "arith.minsi": "min",
    "arith.mulf": "mul",
    "arith.muli": "mul",
    "arith.ori": "or",
}


@dataclass(frozen=True)
class Generic:
    """An iteration: the maps of all operands, its sizes, and which dimensions are reduced."""

    maps: Sequence[AffineMap]
    sizes: Sequence[int]
    reduced: Sequence[int]

    @classmethod
    def read(cls, op: LinalgOp) -> Generic:
        """The iteration of a generic; GlowError where it has none that we read."""
        maps, kinds = (
            op.properties.get("indexing_maps"),
            op.properties.get("iterator_types"),
        )
        if not isa(maps, ArrayAttr) or not isa(kinds, ArrayAttr):
            raise GlowError("a generic without maps or iterators")
        accesses = [one.data for one in maps if isinstance(one, AffineMapAttr)]
        words = [_word(kind) for kind in kinds]
        reduced = [at for at, word in enumerate(words) if word == "reduction"]
        if not set(words) <= {"parallel", "reduction"}:
            raise GlowError(f"iterators that are {', '.join(words)}")
        sizes = [0] * len(words)
        for operand, access in zip(op.operands, accesses, strict=True):
            for axis, expression in enumerate(access.results):
                if isinstance(expression, AffineDimExpr):
                    sizes[expression.position] = shape_of(operand)[axis]
        return cls(accesses, sizes, reduced)


def _word(kind: object) -> str:
    if isinstance(kind, StringAttr):
        return kind.data
    return kind.word.data if isinstance(kind, Word) else ""


def body_of(builder: LinalgBuilder) -> Block:
    """The body; GlowError where it is missing."""
    if not builder.op.regions:
        raise GlowError("a body is missing")
    return builder.op.regions[0].block


def combined(block: Block, number: int, argument: SSAValue) -> tuple[str, SSAValue]:
    """How a body combines its start with a value, and that value."""
    last = block.last_op
    assert last is not None
    step = last.operands[number].owner
    if isinstance(step, Operation) and step.name in COMBINERS:
        lhs, rhs = step.operands
        if argument in (lhs, rhs) and argument.has_one_use():
            return COMBINERS[step.name], rhs if lhs is argument else lhs
    names = ", ".join(op.name for op in block.ops if op is not last)
    raise GlowError(f"a reduction by {names or 'nothing'} is not supported")
