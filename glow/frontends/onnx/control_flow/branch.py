"""`If` as `scf.if`: both branches are imported, unless the condition is known.

Where they give values of different shapes, or one needs a number that it computes, the
condition must be known: then only one branch is in the program.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects import scf
from xdsl.ir import Block, Region

from glow.dialects.errors import GlowError
from glow.dialects.node import fail_unless
from glow.frontends.onnx.control_flow.bodies import (
    Bodies,
    HeldResults,
    discard,
    flag,
    type_text,
    unknown,
)
from glow.frontends.onnx.control_flow.regions import ending, insert, scalar
from glow.frontends.onnx.frame import UNKNOWN, Frame
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.lists import elements_of, form_of, tensors_in, with_elements
from glow.frontends.onnx.messages import GraphProto
from glow.frontends.onnx.node import OnnxNode, Operand, element_type, shape
from glow.frontends.onnx.refusal import NeedsValue


def import_if(bodies: Bodies, node: OnnxNode, frame: Frame) -> HeldResults:
    """A known condition's branch, else an operation that runs one of both."""
    condition = flag(node, node.value(0))
    branches = [node.attr_graph(name) for name in ("then_branch", "else_branch")]
    if not isinstance(condition, Constant):
        both = Branches(bodies, node, frame, branches)
        if both.are_unknown:
            both.discard()
            return unknown(node)
        if both.reason is None:
            return both.place(condition)
        both.discard()
    else:
        both = None
    what = f"condition, since {both.reason}," if both else "condition"
    taken = node.known(condition, what).item()
    return bodies.import_body(branches[not taken], (), frame)


class Branches:
    """Both branches in blocks of their own, and the reason why one must be left out."""

    def __init__(
        self, bodies: Bodies, node: OnnxNode, frame: Frame, branches: list[GraphProto]
    ) -> None:
        self.node = node
        self.blocks = [Block() for _ in branches]
        self.results: list[HeldResults] = []
        self.reason: str | None = None
        for block, branch in zip(self.blocks, branches, strict=True):
            try:
                with node.graph.inside(block):
                    self.results.append(bodies.import_body(branch, (), frame))
            except NeedsValue as need:
                if not any(need.block is inner for inner in self.blocks):
                    raise
                self.reason = f"a branch needs its {need.what}"
        if self.reason is None:
            if node.graph.assumes_fixed_shapes:
                self._join_ranks()
            self.reason = _difference(*self.results)

    def _join_ranks(self) -> None:
        """One number, of which a branch gives another rank than the other, gets the larger."""
        for number, both in enumerate(zip(*self.results, strict=False)):
            tensors = tensors_in(both)
            if UNKNOWN in both or tensors is None:
                continue
            shapes = [shape(value) for value in tensors]
            if {prod(one) for one in shapes} != {1}:
                continue
            ones = (1,) * max(map(len, shapes))
            given = zip(self.blocks, self.results, tensors, strict=True)
            for block, values, value in given:
                with self.node.graph.inside(block):
                    values[number] = self.node.reshape(value, ones)

    @property
    def are_unknown(self) -> bool:
        """Whether a result comes from what is not supported."""
        return any(UNKNOWN in values for values in self.results)

    def discard(self) -> None:
        """Give up both blocks."""
        for block in self.blocks:
            discard(block)

    def place(self, condition: Operand) -> HeldResults:
        """The results of the operation that runs one of both."""
        graph = self.node.graph
        for block, values in zip(self.blocks, self.results, strict=True):
            with graph.inside(block):
                insert(graph, ending(graph, elements_of(values)))
        types = [graph.value_of(value).type for value in elements_of(self.results[0])]
        test = scalar(graph, graph.value_of(condition))
        then, otherwise = map(Region, self.blocks)
        op = insert(graph, scf.IfOp(test, types, then, otherwise))
        return with_elements(self.results[0], op.results)


def _difference(then: HeldResults, otherwise: HeldResults) -> str | None:
    """The first results of other shapes; GlowError for other elements or numbers."""
    fail_unless(
        len(then) == len(otherwise),
        f"the branches give {len(then)} and {len(otherwise)} results",
    )
    forms = [(form_of(a), form_of(b)) for a, b in zip(then, otherwise, strict=True)]
    if different := [pair for pair in forms if pair[0] != pair[1]]:
        return f"the branches give {' and '.join(different[0])}"
    pairs = zip(elements_of(then), elements_of(otherwise), strict=True)
    for number, both in enumerate(pairs):
        if UNKNOWN in both:
            continue
        one, other = map(type_text, both)
        if element_type(both[0]) != element_type(both[1]):
            raise GlowError(
                f"If: result {number} is {one} in the then branch, but {other} in the "
                "else branch"
            )
        if one != other:
            return f"the branches give {one} and {other}"
    return None
