"""Makes a module as small as a test allows.

Of each kind of reduction, as many things as possible are removed at once, then half of them, and
so on down to single ones (Zeller and Hildebrandt 2002, "Simplifying and isolating failure-inducing
input"); the kinds take turns until none makes the module smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from xdsl.dialects.builtin import ModuleOp

from glow.dialects.errors import GlowError
from glow.dialects.weights import ATTRIBUTE
from glow.frontends.sidecar import has_weights
from glow.tools.opt.reproducer import copy_of
from glow.tools.reduce.reductions import REDUCTIONS, Reduction
from glow.verification import verify_module

IsInteresting = Callable[[ModuleOp], bool]


class Reducer:
    """The smallest interesting module so far."""

    def __init__(self, module: ModuleOp, is_interesting: IsInteresting) -> None:
        self.module = module
        self._is_interesting = is_interesting
        self._verifies = _is_valid(module)
        """A program that is wrong from the start may stay so."""

    def run(self) -> ModuleOp:
        """Reduce until nothing more goes; raises GlowError if the module is not interesting."""
        if not self._is_interesting(self.module):
            raise GlowError(
                "the test does not find the program interesting",
                hint="it must end with another exit code than 0 for the program as it is",
            )
        while any([self._shrink(reduction) for reduction in REDUCTIONS]):
            pass
        return self.module

    def _shrink(self, reduction: Reduction) -> bool:
        """Remove what goes of one kind; whether anything did."""
        shrunk = False
        size = reduction(self.module, None)
        while size:
            start, progress = 0, False
            while start < (count := reduction(self.module, None)):
                if self._try(reduction, range(start, min(start + size, count))):
                    shrunk = progress = True
                else:
                    start += size
            if not progress:
                size //= 2
        return shrunk

    def _try(self, reduction: Reduction, chosen: Collection[int]) -> bool:
        """Whether the module is interesting without some things; they are gone then."""
        candidate = copy_of(self.module)
        try:
            reduction(candidate, chosen)
        except Exception:
            return False  # The things hang together.
        if not has_weights(candidate):
            candidate.attributes.pop(ATTRIBUTE, None)  # It may name a file.
        if self._verifies and not _is_valid(candidate):
            return False
        if not self._is_interesting(candidate):
            return False
        self.module = candidate
        return True


def _is_valid(module: ModuleOp) -> bool:
    try:
        verify_module(module)
    except Exception:
        return False
    return True


def size_of(module: ModuleOp) -> int:
    """How many operations there are."""
    return sum(1 for _ in module.walk()) - 1
