"""Registers that are loaded at their first use.

Loading all rows of a `vector.transfer_read` where it stands keeps too many registers
alive and makes LLVM, or a driver's compiler, spill; emitting each load just before the
instruction that needs it does not. Loads may pass other loads only: they are all forced
before the next store. A register is a value of LLVM, or the name of a variable of C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeGuard, TypeVar, overload

from xdsl.ir import SSAValue

RegisterT = TypeVar("RegisterT")


class ReadSource(NamedTuple):
    """Where the elements of a lazily read vector lie, as long as nothing was stored."""

    pointer: SSAValue
    distance: int
    strides: tuple[int, ...]
    """Bytes from element to element in each dimension of the vector; 0 repeats."""


class LazyRegisters(Sequence[RegisterT]):
    """A sequence of registers; position `i` holds `make(slots[i])`, made once."""

    __slots__ = ("make", "memo", "slots", "source")

    def __init__(
        self,
        make: Callable[[int], RegisterT],
        slots: Sequence[int],
        memo: dict[int, RegisterT] | None = None,
        source: ReadSource | None = None,
    ):
        self.make = make
        self.slots = slots
        self.memo: dict[int, RegisterT] = {} if memo is None else memo
        self.source = source

    def at(self, slot: int) -> RegisterT:
        """Returns the register of a slot."""
        found = self.memo.get(slot)
        if found is None:
            found = self.memo[slot] = self.make(slot)
        return found

    @overload
    def __getitem__(self, index: int) -> RegisterT: ...
    @overload
    def __getitem__(self, index: slice) -> LazyRegisters[RegisterT]: ...
    def __getitem__(self, index: int | slice) -> RegisterT | LazyRegisters[RegisterT]:
        if isinstance(index, slice):
            return LazyRegisters(self.make, self.slots[index], self.memo)
        return self.at(self.slots[index])

    def __len__(self) -> int:
        return len(self.slots)

    def __iter__(self) -> Iterator[RegisterT]:
        for slot in self.slots:
            yield self.at(slot)

    def pick(self, positions: Sequence[int]) -> LazyRegisters[RegisterT]:
        """Returns the registers at the given positions, still lazy."""
        slots = self.slots
        return LazyRegisters(self.make, [slots[k] for k in positions], self.memo)

    def map(
        self, function: Callable[[RegisterT], RegisterT]
    ) -> LazyRegisters[RegisterT]:
        """Returns the registers through a function, still lazy."""
        return LazyRegisters(lambda slot: function(self.at(slot)), self.slots)

    def load_all(self) -> None:
        """Emits everything that is still missing."""
        for slot in self.slots:
            self.at(slot)
        self.source = None


def is_lazy(
    registers: Sequence[RegisterT],
) -> TypeGuard[LazyRegisters[RegisterT]]:
    """Whether registers are loaded at their first use.

    `isinstance` takes long to say no of a class that is a `Sequence`.
    """
    return type(registers) is LazyRegisters


def pick(
    registers: Sequence[RegisterT], positions: Sequence[int]
) -> Sequence[RegisterT]:
    """Returns registers by position; lazy ones stay lazy."""
    if is_lazy(registers):
        return registers.pick(positions)
    return [registers[k] for k in positions]
