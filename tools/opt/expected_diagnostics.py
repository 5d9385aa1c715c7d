"""`--verify-diagnostics`: compares errors with the `expected-error` comments of a test.

    // expected-error @+1 {{use of undefined value}}
    func.return %x : i32

`@+N`, `@-N`, `@above`, `@below` and `@unknown` as in mlir-opt. The message is a part of
the actual one. An error whose place is unknown matches a comment on any line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from glow.diagnostics import Diagnosis

_EXPECTED = re.compile(
    r"expected-(?P<kind>error|warning|remark|note)(?P<regex>-re)?\s*"
    r"(?P<place>@(?:[+-]\d+|above|below|unknown))?\s*\{\{(?P<message>.*?)\}\}"
)


@dataclass(frozen=True)
class Expectation:
    """One comment: a message, the line that it is about, the line that it stands on."""

    kind: str
    message: str
    line: int | None
    written_at: int

    def matches(self, diagnosis: Diagnosis) -> bool:
        """Whether `diagnosis` is what the comment announces."""
        places = (None, self.line)
        at_place = self.line is None or diagnosis.line in places
        return self.kind == "error" and at_place and self.message in diagnosis.message


def parse_expectations(text: str, line_offset: int) -> list[Expectation]:
    """The expectations in `text`, whose first line has number `line_offset` + 1."""
    lines = text.splitlines()
    return [
        Expectation(
            match["kind"],
            match["message"],
            _line(match["place"], index, lines, line_offset),
            index + 1 + line_offset,
        )
        for index, line in enumerate(lines)
        for match in _EXPECTED.finditer(line)
    ]


def _line(
    place: str | None, index: int, lines: Sequence[str], offset: int
) -> int | None:
    """The line that `place`, written at `index`, refers to; None for any."""
    if place == "@unknown":
        return None
    if place == "@below":
        return _next_plain(range(index + 1, len(lines)), lines) + offset
    if place == "@above":
        return _next_plain(range(index - 1, -1, -1), lines) + offset
    return index + 1 + int((place or "@+0")[1:]) + offset


def _next_plain(indices: Iterable[int], lines: Sequence[str]) -> int:
    """The number of the first line without an expectation of its own."""
    plain = (index + 1 for index in indices if not _EXPECTED.search(lines[index]))
    return next(plain, 0)


def compare(
    name: str, expected: Sequence[Expectation], actual: Sequence[Diagnosis]
) -> Iterator[str]:
    """A line for each expectation that is not met and each error not expected."""
    unmet = list(expected)
    for diagnosis in actual:
        match = next((e for e in unmet if e.matches(diagnosis)), None)
        if match is None:
            yield f"{diagnosis.location or name}: unexpected error: {diagnosis.message}"
        else:
            unmet.remove(match)
    for expectation in unmet:
        yield (
            f"{name}:{expectation.written_at}: expected {expectation.kind} "
            f'"{expectation.message}" was not produced'
        )
