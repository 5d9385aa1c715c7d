"""Counts how often each rewrite of a pass changed the program.

Rewrites that are functions in a table report themselves (`glow.passes.rewriting.trace`). The
simplifications of `canonicalize`, and xDSL's patterns, which are classes, know nothing of
counting: as long as we count, they are wrapped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from glow.dialects.glow.canonicalization import PATTERNS, Simplification, Simplify
from glow.dialects.node import NodeOp

COMBINED = {
    "GreedyRewritePatternApplier",
    "CanonicalizationRewritePattern",
    Simplify.__name__,
}
"""Patterns that only call others."""

Match = Callable[[Any, Operation, PatternRewriter], None]


class PatternWatch:
    """Counts rewrites between `watch` and `unwatch`."""

    def __init__(self, counts: Counter[str]) -> None:
        self.counts = counts
        self.classes: dict[type[RewritePattern], Match] = {}
        self.tables: dict[Simplify, Sequence[Simplification]] = {}

    def watch(self) -> None:
        """Watch what is loaded by now and not yet watched."""
        for kind in _kinds(RewritePattern):
            own = kind.__dict__.get("match_and_rewrite")
            is_watched = kind in self.classes or kind.__name__ in COMBINED
            if own is not None and not is_watched:
                self.classes[kind] = own
                kind.match_and_rewrite = self._counting_match(own)
        for pattern in (one for patterns in PATTERNS.values() for one in patterns):
            if isinstance(pattern, Simplify) and pattern not in self.tables:
                own = self.tables[pattern] = pattern.simplifications
                pattern.simplifications = list(map(self._counting, own))

    def unwatch(self) -> None:
        """Take the wrappers off again."""
        for kind, match in self.classes.items():
            kind.match_and_rewrite = match
        for pattern, simplifications in self.tables.items():
            pattern.simplifications = simplifications

    def _counting_match(self, match: Match) -> Match:
        def counting(pattern: Any, op: Operation, rewriter: PatternRewriter) -> None:
            had_done = rewriter.has_done_action
            match(pattern, op, rewriter)
            if rewriter.has_done_action and not had_done:
                self.counts[type(pattern).__name__] += 1

        return counting

    def _counting(self, simplify: Simplification) -> Simplification:
        def counting(op: NodeOp):
            replacement = simplify(op)
            if replacement is not None:
                self.counts[simplify.__name__] += 1
            return replacement

        return counting


def _kinds(kind: type[RewritePattern]) -> Iterable[type[RewritePattern]]:
    for derived in kind.__subclasses__():
        yield derived
        yield from _kinds(derived)
