"""What is known of a text: its programs, what is wrong with them, where all stands.

Files of several programs, between lines `// -----`, are read as such: each with the rest of the
file blank, so that places are those of the whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import ParseError

from glow.dialects.errors import GlowError, one_line
from glow.tools.lsp.recovering_parser import Index, Place, RecoveringParser
from glow.verification import invalid_operations, verify_module

_DIVIDER = re.compile(r"^// -----.*$", re.MULTILINE)
_WORD = re.compile(r"[%@#!^]?[\w$.-]+")
_HEAD = re.compile(r'(?:%[\w$.-]+(?::\d+)?\s*,?\s*)*=?\s*"?(?P<name>[\w.$]+)')


@dataclass(frozen=True)
class Problem:
    """A line that tells what is wrong, and where."""

    message: str
    place: Place


@dataclass
class Document:
    """A text that was read."""

    text: str
    problems: list[Problem] = field(default_factory=list[Problem])
    index: Index = field(default_factory=Index)

    @classmethod
    def read(cls, text: str, name: str, context: Context) -> Document:
        """Read a text; `name` is the file that operations come from."""
        document = cls(text)
        for program in programs(text):
            document.add(program, name, context)
        return document

    def add(self, program: str, name: str, context: Context) -> None:
        """Read one program of the text, which is blank elsewhere."""
        try:
            parser = RecoveringParser(context, program, name)
        except ParseError as error:
            self.problems.append(self.problem(error))
            return
        module = parser.read()
        self.index.add(parser.index)
        self.problems += map(self.problem, parser.errors)
        if module is not None and not parser.errors:
            self.problems += self.invalid(module)

    def problem(self, error: ParseError) -> Problem:
        """What could not be read."""
        start = min(error.span.start, len(self.text))
        return Problem(one_line(error.msg), Place(start, max(start, error.span.end)))

    def invalid(self, module: ModuleOp) -> Iterator[Problem]:
        """What does not verify."""
        found: set[Operation] = set()
        for operation, message in invalid_operations(module):
            if operation not in found:
                found.add(operation)
                line = f"'{operation.name}': {message}"
                yield Problem(line, self.name_place(operation))
        if not found:
            try:
                verify_module(module)
            except GlowError as error:
                yield Problem(error.one_line(), Place(0, 0))

    # -- places

    def name_place(self, operation: Operation) -> Place:
        """Where the name of an operation stands; the beginning for one that is implied."""
        place = self.index.operations.get(operation)
        head = _HEAD.match(self.text, place.start) if place is not None else None
        return Place(*head.span("name")) if head is not None else Place(0, 0)

    def word_at(self, offset: int) -> tuple[str, Place] | None:
        """The name that a cursor touches."""
        line = self.text.rfind("\n", 0, offset) + 1
        for found in _WORD.finditer(self.text, line, self.line_end(offset)):
            if found.start() <= offset <= found.end():
                return found[0], Place(*found.span())
        return None

    def line_end(self, offset: int) -> int:
        """Where the line ends that a character is in."""
        end = self.text.find("\n", offset)
        return len(self.text) if end < 0 else end

    def value_at(self, offset: int) -> SSAValue | None:
        """The value whose name a cursor touches, in its definition or a use."""
        for place, value in self.index.uses:
            if place.holds(offset):
                return value
        word = self.word_at(offset)
        return self.named(word[0], offset) if word is not None else None

    def named(self, name: str, offset: int) -> SSAValue | None:
        """The value of a name; of several the last before a character."""
        found: SSAValue | None = None
        for value, place in self.index.definitions.items():
            if self.text[place.start : place.end] != name:
                continue
            if found is None or place.start <= offset:
                found = value
        return found

    def operation_at(self, offset: int) -> Operation | None:
        """The innermost operation that a cursor is in."""
        inside = [
            (place.end - place.start, number, operation)
            for number, (operation, place) in enumerate(self.index.operations.items())
            if place.holds(offset)
        ]
        return min(inside, default=(0, 0, None))[2]

    def symbol_at(self, offset: int) -> Operation | None:
        """The operation that has the symbol `@name` at a cursor; the nearest of several."""
        word = self.word_at(offset)
        if word is None or word[0][0] != "@":
            return None
        known = [op for op in self.index.operations if symbol_of(op) == word[0][1:]]
        around: Operation | None = self.operation_at(offset)
        while around is not None:
            for operation in known:
                if operation is around or operation.parent_op() is around:
                    return operation
            around = around.parent_op()
        return known[0] if known else None

    def definition_at(self, offset: int) -> Place | None:
        """Where the value, symbol or alias is defined that a cursor touches."""
        if (value := self.value_at(offset)) is not None:
            return self.index.definitions.get(value)
        if (operation := self.symbol_at(offset)) is not None:
            return self.symbol_place(operation)
        if (word := self.word_at(offset)) is not None and word[0][0] in "#!":
            return self.alias_place(word[0])
        return None

    def symbol_place(self, operation: Operation) -> Place:
        """Where the name of a symbol stands in its operation."""
        place = self.index.operations[operation]
        name = f"@{symbol_of(operation)}"
        start = self.text.find(name, place.start, place.end)
        return (
            self.name_place(operation) if start < 0 else Place(start, start + len(name))
        )

    def alias_place(self, name: str) -> Place | None:
        """Where `#map = ...` stands."""
        pattern = rf"^({re.escape(name)})\s*="
        found = re.search(pattern, self.text, re.MULTILINE)
        return None if found is None else Place(*found.span(1))


def symbol_of(operation: Operation) -> str | None:
    """The name of a function, module or global."""
    name = operation.get_attr_or_prop("sym_name")
    return name.data if isinstance(name, StringAttr) else None


def programs(text: str) -> Iterator[str]:
    """The programs of a file, each at its place in a text of the same length."""
    start = 0
    for divider in (*_DIVIDER.finditer(text), None):
        end = len(text) if divider is None else divider.start()
        program = text[start:end]
        if start == 0 or program.strip():
            before = re.sub(r"[^\n]", " ", text[:start])
            yield before + program
        start = end if divider is None else divider.end()
