"""How much memory a part takes: its constants, what it takes, and the values between its nodes.

Constants that share an entry of the weight table count once. Between nodes the bytes that are
alive at once count, in the order of the text; what others read stays alive. A device may take
more: weights that are transformed for an algorithm, what a kernel needs for itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from glow.passes.graph.partition.graph import UnitGraph


class MemoryUse:
    """The bytes of a part that grows unit by unit, in their order."""

    def __init__(self, graph: UnitGraph, units: Iterable[int] = ()) -> None:
        self.graph = graph
        self.constants = 0
        self.inputs = 0
        self.peak = 0
        self._live = 0
        self._held = set[object]()
        self._taken = set[int]()
        self._left: dict[int, int] = {}
        for unit in units:
            self.add(unit)

    @property
    def nbytes(self) -> int:
        """What the part takes."""
        return self.constants + self.inputs + self.peak

    def add(self, unit: int) -> None:
        """Let the part have one more unit, behind those that it has."""
        graph = self.graph
        for key, nbytes in graph.units[unit].constants.items():
            if key not in self._held:
                self._held.add(key)
                self.constants += nbytes
        for number in graph.reads[unit]:
            if number not in self._left and number not in self._taken:
                self._taken.add(number)
                self.inputs += graph.flows[number].nbytes
        for number in graph.gives[unit]:
            self._left[number] = len(graph.flows[number].readers)
            self._live += graph.flows[number].nbytes
        self.peak = max(self.peak, self._live)
        for number in graph.reads[unit]:
            if number in self._left:
                self._left[number] -= 1
                if self._left[number] == 0 and not graph.flows[number].is_returned:
                    self._live -= graph.flows[number].nbytes
