"""`If` as `scf.if`: both branches are imported, unless the condition is known."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Block, Region

from glow.dialects.errors import GlowError
from glow.dialects.node import fail_unless
from glow.frontends.onnx.control_flow.bodies import (
    Bodies,
    Results,
    discard,
    flag,
    type_text,
    unknown,
)
from glow.frontends.onnx.control_flow.regions import ending, insert, scalar
from glow.frontends.onnx.frame import UNKNOWN, Frame
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.node import OnnxNode, element_type


def import_if(bodies: Bodies, node: OnnxNode, frame: Frame) -> Results:
    """A constant condition's branch, else an operation that runs one of both."""
    condition = flag(node, node.value(0))
    branches = [node.attr_graph(name) for name in ("then_branch", "else_branch")]
    if isinstance(condition, Constant):
        return bodies.import_body(branches[not condition.array.item()], (), frame)
    blocks, results = (Block(), Block()), list[Results]()
    for block, branch in zip(blocks, branches, strict=True):
        with node.graph.inside(block):
            results.append(bodies.import_body(branch, (), frame))
    reason = _difference(*results)
    if reason or UNKNOWN in (*results[0], *results[1]):
        for block in blocks:
            discard(block)
        if UNKNOWN in (*results[0], *results[1]):
            return unknown(node)
        node.known(condition, f"condition, since the branches give {reason},")
    for block, values in zip(blocks, results, strict=True):
        with node.graph.inside(block):
            insert(node.graph, ending(node.graph, values))
    types = [node.graph.value_of(value).type for value in results[0]]
    test = scalar(node.graph, node.graph.value_of(condition))
    then, otherwise = map(Region, blocks)
    op = scf.IfOp(test, types, then, otherwise)
    return list(insert(node.graph, op).results)


def _difference(then: Results, otherwise: Results) -> str | None:
    """The first results of other shapes; GlowError for other elements or numbers."""
    fail_unless(
        len(then) == len(otherwise),
        f"the branches give {len(then)} and {len(otherwise)} results",
    )
    for number, both in enumerate(zip(then, otherwise, strict=True)):
        if UNKNOWN in both:
            continue
        one, other = map(type_text, both)
        if element_type(both[0]) != element_type(both[1]):
            raise GlowError(
                f"If: result {number} is {one} in the then branch, but {other} in the "
                "else branch"
            )
        if one != other:
            return f"{one} and {other}"
    return None
