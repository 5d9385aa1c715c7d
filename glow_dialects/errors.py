"""The error that users see: one line that says what, where and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable

_NUMBER = r"-?(?:\d[\w.+-]*+|inf|nan)"
_MANY_NUMBERS = re.compile(
    rf"(?<![\w.+-])((?:{_NUMBER}, ?){{8}})(?:{_NUMBER}, ?){{8,}}+(?:{_NUMBER})?"
)
_LONG_WORD = re.compile(r"(\S{120})\S{121,}+(?<=(\S{60}))")
_LONGEST_LINE = 2000


def one_line(text: str) -> str:
    """`text` on one line that can be read: blanks made single, long parts cut.

    Of more than 16 numbers the first eight stay, of a word of more than 240 characters
    its two ends. Characters that a terminal would obey are spelled out.
    """
    line = " ".join(text.split())
    if not line.isprintable():
        line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    line = _MANY_NUMBERS.sub(_first_numbers, line)
    line = _LONG_WORD.sub(r"\1...\2", line)
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}..."


def _first_numbers(found: re.Match[str]) -> str:
    return f"{found[1]}... ({found[0].count(',') + 1} numbers)"


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
        line = self.one_line()
        super().__init__(f"{location}: {line}" if location else line)

    def one_line(self) -> str:
        """The message with node and hint on one line (without the location)."""
        line = self.message
        if self.node:
            line += f" (at node '{self.node}')"
        if self.hint:
            line += f"; {self.hint}"
        return one_line(line)


class UsageError(GlowError):
    """A command line that makes no sense; programs exit with 2 then."""


def fail_unless(condition: bool, rule: str | Callable[[], str]) -> None:
    """Raise a VerifyException that names the broken rule of an operation.

    A function makes the text only where it is needed: types are dear to spell.
    """
    if not condition:
        from xdsl.utils.exceptions import VerifyException

        raise VerifyException(rule if isinstance(rule, str) else rule())


class SequencesError(GlowError):
    """A model whose inputs or outputs are sequences or optionals, not tensors only."""
