"""Numbers of types, for keys of dictionaries: types are equal if their numbers are."""

from __future__ import annotations

from xdsl.ir import Attribute


class TypeNumbers:
    """Numbers equal types alike, and hashes each object once, as that is dear.

    Whether equal types are one object is up to caches, on which code must not depend.
    """

    def __init__(self) -> None:
        self._numbers: dict[Attribute, int] = {}
        # An object that is kept has its identity to itself.
        self._seen: dict[int, tuple[Attribute, int]] = {}

    def __call__(self, type_: Attribute) -> int:
        """Returns the number of a type."""
        found = self._seen.get(id(type_))
        if found is None:
            number = self._numbers.setdefault(type_, len(self._numbers))
            found = self._seen[id(type_)] = (type_, number)
        return found[1]
