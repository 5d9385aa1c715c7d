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

    def with_unit(self, unit: int) -> int:
        """What the part would take with one more unit."""
        added = sum(self._new_constants(unit).values())
        added += sum(
            self.graph.flows[number].nbytes for number in self._new_inputs(unit)
        )
        return (
            self.constants + self.inputs + added + max(self.peak, self._live_at(unit))
        )

    def add(self, unit: int) -> None:
        """Let the part have one more unit, behind those that it has."""
        flows = self.graph.flows
        self.peak = max(self.peak, self._live_at(unit))
        for key, nbytes in self._new_constants(unit).items():
            self._held.add(key)
            self.constants += nbytes
        for number in self._new_inputs(unit):
            self._taken.add(number)
            self.inputs += flows[number].nbytes
        for number in self.graph.gives[unit]:
            self._left[number] = len(flows[number].readers)
            self._live += flows[number].nbytes
        for number in self.graph.reads[unit]:
            if number in self._left:
                self._left[number] -= 1
                if self._left[number] == 0 and not flows[number].is_returned:
                    self._live -= flows[number].nbytes

    def _new_constants(self, unit: int) -> dict[object, int]:
        """The constants of a unit that the part does not have."""
        constants = self.graph.units[unit].constants
        return {key: size for key, size in constants.items() if key not in self._held}

    def _new_inputs(self, unit: int) -> list[int]:
        """The values that a unit reads of others, and that the part does not take."""
        return [
            number
            for number in self.graph.reads[unit]
            if number not in self._left and number not in self._taken
        ]

    def _live_at(self, unit: int) -> int:
        """The bytes between nodes while a unit runs."""
        given = self.graph.gives[unit]
        return self._live + sum(self.graph.flows[number].nbytes for number in given)
