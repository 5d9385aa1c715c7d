"""Groups of data-parallel instructions that can run as one loop, and what keeps two apart."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from math import prod

from xdsl.ir import SSAValue

from glow.dialects.node import shape_of
from glow.passes.instr.accesses import Access, BufferRange
from glow.passes.instr.stack_region import Member

FEW_ELEMENTS = 1 << 14
"""A loop over so many takes no longer than a call or two."""


class Relation(IntEnum):
    """How two groups depend on each other, stronger ones last."""

    NONE = 0
    SHARES = 1
    """Both read some buffer element by element; of loops over few elements, any buffer. To
    read one number twice is cheaper than to keep what large loops read until both can run.
    """
    DEPENDS = 2
    """One writes elements that the other reads or writes at the same position."""
    CONFLICTS = 3
    """As one loop they would compute something else."""


@dataclass(eq=False)
class Group:
    """Members that can run as one loop; a closed group takes no more."""

    members: list[Member]
    accesses: dict[SSAValue, list[Access]]
    """By root."""
    shape: tuple[int, ...]
    is_shape_fixed: bool
    """Whether some operand broadcasts to exactly this shape."""
    places: set[BufferRange]
    length: int
    """The work on an element: the members, or what the bodies of stacks have."""
    is_open: bool = True

    @property
    def elements(self) -> int:
        """The size of the iteration space."""
        return prod(self.shape)

    def is_whole(self, access: Access) -> bool:
        """Whether an access goes through its buffer element by element."""
        return prod(shape_of(access.value)) == self.elements

    def relation(self, other: Group) -> Relation:
        """How the members of two groups depend on each other's memory."""
        worst = Relation.NONE
        for root, accesses in self.accesses.items():
            for theirs in other.accesses.get(root, ()):
                for mine in accesses:
                    worst = max(worst, self._relation_of(other, mine, theirs))
        return worst

    def _relation_of(self, other: Group, mine: Access, theirs: Access) -> Relation:
        if not mine.conflicts(theirs):
            shared = mine.place == theirs.place and (
                self.elements <= FEW_ELEMENTS or self.is_whole(mine)
            )
            return Relation.SHARES if shared else Relation.NONE
        if (
            mine.place == theirs.place
            and self.is_whole(mine)
            and other.is_whole(theirs)
            and self.elements == other.elements
        ):
            return Relation.DEPENDS
        return Relation.CONFLICTS

    def is_like(self, other: Group) -> bool:
        """Whether both iterate alike."""
        return self.shape == other.shape or (
            self.elements == other.elements
            and not (self.is_shape_fixed and other.is_shape_fixed)
        )

    def joined(self, other: Group) -> Group:
        """The group of all members; the smaller one is added to the larger one."""
        small, large = sorted((self, other), key=lambda group: len(group.members))
        fixed = self if self.is_shape_fixed or not other.is_shape_fixed else other
        for root, accesses in small.accesses.items():
            large.accesses.setdefault(root, []).extend(accesses)
        return Group(
            large.members + small.members,
            large.accesses,
            fixed.shape,
            fixed.is_shape_fixed,
            large.places | small.places,
            large.length + small.length,
        )

    def in_order(self) -> list[Member]:
        """The members in program order."""
        return sorted(self.members, key=lambda member: member.at)
