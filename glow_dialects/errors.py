"""The error that users see: one line that says what, where and what to do."""

from __future__ import annotations


class GlowError(ValueError):
    """A failure with a one-line message for the person who reads it.

    `node` names the network's node, `location` the place in a file
    (`file:line:col`), `hint` what to do about it.
    """

    def __init__(
        self,
        message: str,
        *,
        node: str | None = None,
        location: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.message = message
        self.node = node
        self.location = location
        self.hint = hint
        super().__init__(self.one_line())

    def one_line(self) -> str:
        """The message with node and hint on one line (without the location)."""
        line = self.message
        if self.node:
            line += f" (at node '{self.node}')"
        if self.hint:
            line += f"; {self.hint}"
        return " ".join(line.split())


class UsageError(GlowError):
    """A command line that makes no sense; programs exit with 2 then."""
