"""What a format has no form for: noted while a graph is walked, and told all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from xdsl.ir import Operation

from glow.dialects.errors import GlowError


class CannotExport(Exception):
    """A node has no form in a format; the message says why, and may be empty."""


def write_all(
    operations: Iterable[Operation], write: Callable[[Operation], None], form: str
) -> None:
    """Write operations in order; raises one GlowError for all that have no `form`."""
    refused: dict[str, None] = {}
    for op in operations:
        try:
            write(op)
        except CannotExport as error:
            reason = f" ({error})" if str(error) else ""
            refused[f"'{op.name}'{reason}"] = None
    if refused:
        verb = "operation has" if len(refused) == 1 else "operations have"
        listed = ", ".join(refused)
        raise GlowError(f"{len(refused)} {verb} no {form} form: {listed}")
