"""Places for the nodes of a graph: one layer below the other (after Sugiyama).

A node's layer is one below the lowest of what it reads. Inside a layer, nodes are
ordered by the middle of their neighbours, a few times downwards and upwards, and then put
as near to that middle as the nodes beside them allow. All steps take about as long as the
graph is large.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 190, 40
"""The size of a box."""

COLUMN, ROW = WIDTH + 24, HEIGHT + 34
"""From one box to the next."""

SWEEPS = 6


@dataclass(frozen=True)
class Layout:
    """The left upper corners of the boxes, by node, and the size of everything."""

    places: dict[int, tuple[float, float]]
    width: float
    height: float


def layered(nodes: Collection[int], edges: Collection[tuple[int, int]]) -> Layout:
    """Places for some nodes; edges lead from lower to higher layers."""
    above: dict[int, list[int]] = {node: [] for node in nodes}
    below: dict[int, list[int]] = {node: [] for node in nodes}
    for source, target in edges:
        if source in above and target in above and source != target:
            above[target].append(source)
            below[source].append(target)
    layers = _layers(above, below)
    x = _ordered_places(layers, above, below)
    least = min(x.values(), default=0.0)
    places = {
        node: ((x[node] - least) * COLUMN, number * float(ROW))
        for number, layer in enumerate(layers)
        for node in layer
    }
    width = max((place[0] for place in places.values()), default=0.0) + WIDTH
    return Layout(places, width, max(len(layers), 1) * ROW)


def _layers(
    above: dict[int, list[int]], below: dict[int, list[int]]
) -> list[list[int]]:
    """Nodes by the length of the longest path to them; what closes a cycle counts not."""
    waiting = {node: len(sources) for node, sources in above.items()}
    depth = dict.fromkeys(above, 0)
    ready = [node for node, count in waiting.items() if not count]
    done: set[int] = set()
    while len(done) < len(above):
        if not ready:  # a cycle, as loops may have
            ready.append(next(node for node in above if node not in done))
        node = ready.pop()
        if node in done:
            continue
        done.add(node)
        for target in below[node]:
            if target not in done:
                depth[target] = max(depth[target], depth[node] + 1)
                waiting[target] -= 1
                if not waiting[target]:
                    ready.append(target)
    for node in above:  # inputs stand right above their first reader
        if not above[node] and below[node]:
            depth[node] = max(min(depth[target] for target in below[node]) - 1, 0)
    layers: list[list[int]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for node, number in depth.items():
        layers[number].append(node)
    return layers


def _ordered_places(
    layers: Sequence[list[int]],
    above: dict[int, list[int]],
    below: dict[int, list[int]],
) -> dict[int, float]:
    """The column of each node, not whole numbers."""
    x = {node: float(at) for layer in layers for at, node in enumerate(layer)}
    for sweep in range(SWEEPS):
        downwards = sweep % 2 == 0
        neighbours = above if downwards else below
        for layer in layers if downwards else reversed(layers):
            wanted = {node: _middle(x, neighbours[node], x[node]) for node in layer}
            layer.sort(key=wanted.__getitem__)
            _spread(layer, wanted, x)
    return x


def _middle(x: dict[int, float], neighbours: Sequence[int], default: float) -> float:
    """The median column of the neighbours."""
    if not neighbours:
        return default
    columns = sorted(x[node] for node in neighbours)
    return (columns[(len(columns) - 1) // 2] + columns[len(columns) // 2]) / 2


def _spread(
    layer: Sequence[int], wanted: dict[int, float], x: dict[int, float]
) -> None:
    """Put nodes in order, a column apart, as near as possible to where they want to be.

    Groups of touching nodes move together to the mean of their wishes.
    """
    groups: list[tuple[float, int]] = []  # the first column's wish, and the size
    for node in layer:
        start, size = wanted[node], 1
        while groups and groups[-1][0] + groups[-1][1] > start:
            before, count = groups.pop()
            start = (before * count + (start - count) * size) / (count + size)
            size += count
        groups.append((start, size))
    nodes = iter(layer)
    for start, size in groups:
        for at in range(size):
            x[next(nodes)] = start + at
