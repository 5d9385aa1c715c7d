"""Two modules side by side in one picture: what went is red, what came is green."""

from __future__ import annotations

from collections import Counter

from xdsl.dialects.builtin import ModuleOp

from glow.tools.report import html
from glow.tools.report.graph import Graph, Node, graph_of
from glow.tools.report.graph_svg import SCRIPT, STYLE, draw_inside

GAP = 120
HEADING = 40


def graph_diff(before: Graph, after: ModuleOp, suffix: str) -> str:
    """The difference as an `.svg` picture or an `.html` page."""
    picture = draw_difference(before, graph_of(after))
    if suffix == ".svg":
        return picture
    details = '<pre id="chosen">Click on a node.</pre>'
    return html.page("Before and after", [picture, details], SCRIPT)


def draw_difference(before: Graph, after: Graph) -> str:
    """Both graphs in one SVG."""
    gone = _mark(before, after, "gone")
    new = _mark(after, before, "new")
    left, left_layout = draw_inside(before, 0, HEADING)
    right, right_layout = draw_inside(after, left_layout.width + GAP, HEADING)
    width = left_layout.width + GAP + right_layout.width
    height = HEADING + max(left_layout.height, right_layout.height)
    middle = left_layout.width + GAP
    return (
        '<svg class="graph" xmlns="http://www.w3.org/2000/svg" data-panel="chosen" '
        f'width="100%" height="800" viewBox="-20 -20 {width + 40:.0f} {height + 40:.0f}">\n'
        f"<style>{STYLE}</style>\n"
        f'<text x="0" y="12">before: {_count(before)} nodes, {gone} of them go</text>\n'
        f'<text x="{middle:.0f}" y="12">after: {_count(after)} nodes, {new} of them are '
        f"new</text>\n{left}\n{right}\n</svg>\n"
    )


def _count(graph: Graph) -> int:
    return len(graph.number)


def _mark(graph: Graph, other: Graph, kind: str) -> int:
    """Mark the nodes that the other graph lacks; returns how many there are."""
    there = Counter(_content(other.nodes[number]) for number in other.number.values())
    marked = 0
    for number in graph.number.values():
        node = graph.nodes[number]
        if there[_content(node)]:
            there[_content(node)] -= 1
        elif node.kind == "node":
            node.kind = kind
            marked += 1
    return marked


def _content(node: Node) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    return node.title, node.name, tuple(sorted(node.details.items()))
