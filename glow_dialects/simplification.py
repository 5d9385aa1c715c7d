"""How nodes come by the patterns of xDSL's `canonicalize`.

The patterns of a dialect name its nodes, and nodes carry the trait; so the trait knows no
dialect: each enters the function that loads its patterns, which are not needed before the
first network is simplified.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from xdsl.ir import Operation
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import HasCanonicalizationPatternsTrait

Patterns = Mapping[type[Operation], tuple[RewritePattern, ...]]

_LOADERS: dict[str, Callable[[], Patterns]] = {}


def register_patterns(dialect: str, load: Callable[[], Patterns]) -> None:
    """Let `load` give the patterns of a dialect's nodes; it is called once."""
    _LOADERS[dialect] = cache(load)


class SimplifiesNode(HasCanonicalizationPatternsTrait):
    """Brings the node's patterns to xDSL's `canonicalize`; loaded when it runs."""

    def verify(self, op: Operation) -> None:
        """Nodes may be without patterns."""

    def get_patterns(self, op: type[Operation]) -> tuple[RewritePattern, ...]:
        """The patterns of the node's class."""
        load = _LOADERS.get(op.name.partition(".")[0])
        return () if load is None else load().get(op, ())

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        """Unused: the patterns depend on the class of the node."""
        return ()
