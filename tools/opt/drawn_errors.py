"""Errors as mlir-opt prints them: one line, what stands at that place, and notes.

    net.mlir:3:3: error: SSA value %0 is already defined
      %0 = glow.tanh %x : tensor<2xf32>
      ^
    net.mlir:2:3: note: previously defined here
      %0 = glow.relu %x : tensor<2xf32>
      ^

The first line is what every tool says (`glow.diagnostics`). Notes are those of an exception
(PEP 678) that begin with `note: `, or with a place before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import IO

from xdsl.utils.exceptions import MultipleSpansParseError, ParseError
from xdsl.utils.lexer import Span

from glow.diagnostics import diagnose

LONGEST_LINE = 160
"""Characters of a source line that are drawn around the caret; weights make lines long."""
MOST_LINES = 1_000_000
"""Places further down in a file are not looked up."""
TAB = 8

_PLACE = re.compile(r"(?P<file>.+):(?P<line>\d+):(?P<column>\d+)")
_NOTE = re.compile(r"((?P<place>.+:\d+:\d+): )?note: ")


def drawn(error: BaseException, tool: str, sources: Mapping[str, bytes]) -> str:
    """The lines that tell of an error, without a line break behind them.

    `sources` are the texts of inputs that are no files.
    """
    return "\n".join([diagnose(error).text(tool), *_details(error, tool, sources)])


def _details(
    error: BaseException, tool: str, sources: Mapping[str, bytes]
) -> Iterator[str]:
    """What follows the first line: the excerpt of the source, then the notes."""
    location = diagnose(error).location
    if isinstance(error, ParseError):
        yield from _at_span(error.span)
    else:
        yield from _at_place(location, sources)
    if isinstance(error, MultipleSpansParseError):
        for span, text in error.refs:
            yield f"{span.get_location()}: note: {text or error.ref_text}"
            yield from _at_span(span)
    for note in getattr(error, "__notes__", ()):
        if (found := _NOTE.match(note)) is None:
            continue
        if found["place"] is None:
            yield f"{location or tool}: {note}"
        else:
            yield note
            yield from _at_place(found["place"], sources)


def _at_span(span: Span[str] | Span[bytes]) -> Iterator[str]:
    source, start = span.input, span.input.get_start_of_line(span.start)
    content = source.content[start : source.get_end_of_line(span.start)]
    if isinstance(content, str):
        yield from excerpt(content, span.start - start)


def _at_place(place: str | None, sources: Mapping[str, bytes]) -> Iterator[str]:
    """The line of `file:line:col` and a caret, where the text is there to be read."""
    found = _PLACE.fullmatch(place or "")
    if found is None:
        return
    line = source_line(found["file"], int(found["line"]), sources)
    if line is not None:
        yield from excerpt(line, int(found["column"]) - 1)


def source_line(name: str, number: int, sources: Mapping[str, bytes]) -> str | None:
    """A line of a text, counted from 1; None where it cannot be read."""
    if not 0 < number <= MOST_LINES:
        return None
    try:
        with BytesIO(sources[name]) if name in sources else _open(name) as lines:
            line = next(islice(lines, number - 1, number), None)
    except (OSError, ValueError):
        return None
    return None if line is None else line.decode("utf-8", "replace")


def _open(name: str) -> IO[bytes]:
    """A regular file; a pipe would be waited for."""
    if not Path(name).is_file():
        raise FileNotFoundError(name)
    return open(name, "rb")


def excerpt(line: str, column: int) -> tuple[str, str]:
    """A source line, shortened around a column (counted from 0), and a caret below it."""
    line = line.rstrip()
    before = line[:column].expandtabs(TAB)
    text = before + line[column:].expandtabs(TAB)
    column = len(before)
    first = max(0, column - LONGEST_LINE // 2) if len(text) > LONGEST_LINE else 0
    shown = text[first : first + LONGEST_LINE]
    shown = "".join(c if c.isprintable() else "?" for c in shown)
    return shown, " " * (column - first) + "^"
