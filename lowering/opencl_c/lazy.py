"""Registers that are loaded at their first use.

All rows of a `vector.transfer_read`, loaded where it stands, are more registers than a machine
has, and a driver's compiler keeps near to the order that it reads. Loads may pass other loads
only: all are printed before the next store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import overload


class LazyRegisters(Sequence[str]):
    """Names of registers; that at position `i` is `make(slots[i])`, printed once."""

    __slots__ = ("made", "make", "slots")

    def __init__(
        self,
        make: Callable[[int], str],
        slots: Sequence[int],
        made: dict[int, str] | None = None,
    ) -> None:
        self.make = make
        self.slots = slots
        self.made: dict[int, str] = {} if made is None else made

    def at(self, slot: int) -> str:
        """The name of the register of a slot."""
        found = self.made.get(slot)
        if found is None:
            found = self.made[slot] = self.make(slot)
        return found

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> LazyRegisters: ...
    def __getitem__(self, index: int | slice) -> str | LazyRegisters:
        if isinstance(index, slice):
            return LazyRegisters(self.make, self.slots[index], self.made)
        return self.at(self.slots[index])

    def __len__(self) -> int:
        return len(self.slots)

    def __iter__(self) -> Iterator[str]:
        for slot in self.slots:
            yield self.at(slot)

    def pick(self, positions: Sequence[int]) -> LazyRegisters:
        """The registers at positions, still lazy."""
        slots = [self.slots[k] for k in positions]
        return LazyRegisters(self.make, slots, self.made)


def pick(registers: Sequence[str], positions: Sequence[int]) -> Sequence[str]:
    """Registers by position; lazy ones stay lazy."""
    if isinstance(registers, LazyRegisters):
        return registers.pick(positions)
    return [registers[k] for k in positions]
