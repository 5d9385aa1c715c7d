"""The bytes that go from part to part: each value once for each other part that reads it."""

from __future__ import annotations

from collections.abc import Sequence

from glow.passes.graph.partition.graph import Flow, UnitGraph


def crossing_bytes(graph: UnitGraph, labels: Sequence[int]) -> int:
    """The bytes that cross between units of different labels."""
    return sum(flow_bytes(flow, labels) for flow in graph.flows)


def flow_bytes(flow: Flow, labels: Sequence[int]) -> int:
    """The bytes of a value times the other labels that read it; of a network's input none."""
    if flow.source is None:
        return 0
    readers = {labels[reader] for reader in flow.readers}
    return flow.nbytes * len(readers - {labels[flow.source]})
