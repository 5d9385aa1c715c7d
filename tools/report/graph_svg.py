"""Draws a graph as SVG; a page's script lets people move, zoom and look closer."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from glow.tools.report.graph import Graph, Node
from glow.tools.report.layout import HEIGHT, ROW, WIDTH, Layout, layered

STYLE = """
.box rect { fill: #e8eef7; stroke: #5b7db1; rx: 4 }
.value rect { fill: #f3f3f3; stroke: #999; rx: 18 }
.gone rect { fill: #fbe3e1; stroke: #c0392b } .new rect { fill: #e0f5e3; stroke: #2e8b45 }
.box.chosen rect { stroke: #000; stroke-width: 2.5 }
.box { cursor: pointer } .box text { font: 11px system-ui, sans-serif }
.box .name { fill: #666; font-size: 9px } .edge { fill: none; stroke: #99a; }
"""

READABLE = 1300
"""So many units fit across the page and are still easy to read."""

SCRIPT = """
for (const svg of document.querySelectorAll('svg.graph')) {
  const whole = svg.viewBox.baseVal;
  const view = {x: whole.x, y: whole.y, w: whole.width, h: whole.height};
  const show = () => svg.setAttribute('viewBox', `${view.x} ${view.y} ${view.w} ${view.h}`);
  svg.addEventListener('wheel', event => {
    event.preventDefault();
    const box = svg.getBoundingClientRect(), factor = event.deltaY > 0 ? 1.15 : 1 / 1.15;
    const x = view.x + view.w * (event.clientX - box.left) / box.width;
    const y = view.y + view.h * (event.clientY - box.top) / box.height;
    view.x = x - (x - view.x) * factor; view.y = y - (y - view.y) * factor;
    view.w *= factor; view.h *= factor; show();
  }, {passive: false});
  const first = [view.x, view.y, view.w, view.h];
  svg.addEventListener('dblclick', () => {
    const whole = (svg.dataset.whole || '').split(' ').map(Number);
    const isFirst = view.w === first[2] && view.h === first[3];
    [view.x, view.y, view.w, view.h] = isFirst && whole.length === 4 ? whole : first;
    show();
  });
  let from = null;
  svg.addEventListener('pointerdown', event => { from = [event.clientX, event.clientY]; });
  window.addEventListener('pointerup', () => { from = null; });
  svg.addEventListener('pointermove', event => {
    if (!from) return;
    const box = svg.getBoundingClientRect();
    const scale = Math.max(view.w / box.width, view.h / box.height);
    view.x -= (event.clientX - from[0]) * scale; view.y -= (event.clientY - from[1]) * scale;
    from = [event.clientX, event.clientY]; show();
  });
  const panel = document.getElementById(svg.dataset.panel);
  svg.addEventListener('click', event => {
    const box = event.target.closest('.box');
    if (!box || !panel) return;
    svg.querySelectorAll('.chosen').forEach(other => other.classList.remove('chosen'));
    box.classList.add('chosen');
    panel.textContent = box.querySelector('title').textContent;
  });
  const search = document.getElementById(svg.dataset.search);
  if (search) search.addEventListener('change', () => {
    const box = [...svg.querySelectorAll('.box')].find(
      one => one.querySelector('title').textContent.includes(search.value));
    if (!box || !search.value) return;
    const at = box.getBBox();
    view.w = 900; view.h = 500; view.x = at.x - 350; view.y = at.y - 200; show();
    box.dispatchEvent(new MouseEvent('click', {bubbles: true}));
  });
}
"""


def shown(graph: Graph) -> list[int]:
    """The numbers of the nodes to draw."""
    return [number for number, node in enumerate(graph.nodes) if node.kind != "hidden"]


def draw_graph(graph: Graph, panel: str = "", search: str = "") -> str:
    """A graph as an SVG element of its own size."""
    layout = layered(shown(graph), list(graph.edges))
    content = "\n".join(_elements(graph, layout))
    return (
        f'<svg class="graph" xmlns="http://www.w3.org/2000/svg" data-panel="{panel}" '
        f'data-search="{search}" width="100%" height="600" {_views(layout)}>\n'
        f"<style>{STYLE}</style>\n{content}\n</svg>"
    )


def draw_inside(graph: Graph, x: float, y: float) -> tuple[str, Layout]:
    """A graph as a group, moved to a place in another SVG."""
    layout = layered(shown(graph), list(graph.edges))
    content = "\n".join(_elements(graph, layout))
    return f'<g transform="translate({x:.0f} {y:.0f})">\n{content}\n</g>', layout


def _views(layout: Layout) -> str:
    """The first view, of boxes that can be read, and that of everything."""
    width, height = layout.width + 40, layout.height + 40
    across = max(min(width, 2 * READABLE), READABLE)
    start = (layout.width - across) / 2
    return (
        f'viewBox="{start:.0f} -20 {across:.0f} {min(height, across / 2):.0f}" '
        f'data-whole="-20 -20 {width:.0f} {height:.0f}"'
    )


def _elements(graph: Graph, layout: Layout) -> Iterator[str]:
    for (source, target), label in graph.edges.items():
        if source in layout.places and target in layout.places:
            yield _edge(layout.places[source], layout.places[target], label)
    for number, place in layout.places.items():
        yield _box(graph.nodes[number], number, place)


def _edge(source: tuple[float, float], target: tuple[float, float], label: str) -> str:
    x1, y1 = source[0] + WIDTH / 2, source[1] + HEIGHT
    x2, y2 = target[0] + WIDTH / 2, target[1]
    bend = max(abs(y2 - y1) / 2, 12)
    # Around the boxes in between, where there are some.
    aside = WIDTH if y2 - y1 > ROW and abs(x1 - x2) < WIDTH else 0
    return (
        f'<path class="edge" d="M{x1:.0f} {y1:.0f}C{x1 + aside:.0f} {y1 + bend:.0f} '
        f'{x2 + aside:.0f} {y2 - bend:.0f} {x2:.0f} {y2:.0f}">'
        f"<title>{escape(label)}</title></path>"
    )


def _box(node: Node, number: int, place: tuple[float, float]) -> str:
    x, y = place
    title = "\n".join(
        [node.title, node.name, *(f"{k}: {v}" for k, v in node.details.items())]
    )
    return (
        f'<g class="box {node.kind}" id="node{number}"><title>{escape(title)}</title>'
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{WIDTH}" height="{HEIGHT}"/>'
        f'<text x="{x + 8:.0f}" y="{y + 16:.0f}">{escape(_short(node.title, 30))}</text>'
        f'<text class="name" x="{x + 8:.0f}" y="{y + 31:.0f}">'
        f"{escape(_short(node.name or node.details.get('type', ''), 36))}</text></g>"
    )


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else "…" + text[1 - length :]
