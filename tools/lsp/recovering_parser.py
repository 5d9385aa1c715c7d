"""A parser that goes on behind an error, and remembers where all stands.

An operation that cannot be read is left out, up to the line on which the next one begins. What
fails only because its values are then missing is not told:

    %y = glow.rleu %x : tensor<2xf32>     // told
    %z = glow.add %y, %x : tensor<2xf32>  // not told, as %y is lost
    %u = glow.tanh %x : tensor<2xf31>     // told
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.parser import UnresolvedOperand
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span

from glow.frontends.mlir_parser import LocatingParser

MOST_ERRORS = 50

_VALUE = re.compile(r"%[\w$.-]+")
_RESULTS = re.compile(r"\s*(?:%[\w$.-]+(?::\d+)?\s*,?\s*)+=(?!=)")
_BOUNDARY = re.compile(
    r'//[^\n]*|"(?:[^"\\\n]|\\.)*+"|(?P<open>[({\[])|(?P<close>[)}\]])'
    r'|(?P<line>\n[ \t]*(?=[%"A-Za-z_^]))'
)


@dataclass(frozen=True)
class Place:
    """Characters `start` to `end` of a text."""

    start: int
    end: int

    def holds(self, offset: int) -> bool:
        """Whether a cursor before the character `offset` touches it."""
        return self.start <= offset <= self.end


@dataclass
class Index:
    """Where operations and values stand in a text."""

    operations: dict[Operation, Place] = field(default_factory=dict[Operation, Place])
    definitions: dict[SSAValue, Place] = field(default_factory=dict[SSAValue, Place])
    uses: list[tuple[Place, SSAValue]] = field(
        default_factory=list[tuple[Place, SSAValue]]
    )

    def add(self, other: Index) -> None:
        """Add what stands in another program of the text."""
        self.operations |= other.operations
        self.definitions |= other.definitions
        self.uses += other.uses


class RecoveringParser(LocatingParser):
    """See the module's docstring."""

    def __init__(self, context: Context, text: str, name: str) -> None:
        super().__init__(context, text, name)
        self.errors: list[ParseError] = []
        self.index = Index()
        self._text = text
        self._lost: set[str] = set()
        self._open_uses: dict[str, list[tuple[Place, int]]] = {}
        """Uses before the definition, and which of its results they mean."""

    def read(self) -> ModuleOp | None:
        """The module, which lacks what cannot be read; None without its end."""
        try:
            return self.parse_module()
        except ParseError as error:
            if not error.msg.startswith("values used but not defined"):
                self._add(error)  # Of each of those it has told.
            return None

    def _raise_undefined(self) -> None:
        """Tell of every value that is not defined, where it is used first."""
        for name in self.forward_ssa_references:
            span = self._first_uses.get(name)
            if span is not None and f"%{name}" not in self._lost:
                self._add(ParseError(span, f"use of undefined value %{name}"))

    def _add(self, error: ParseError) -> None:
        if all(error is not one for one in self.errors):
            self.errors.append(error)

    # -- operations

    def parse_optional_operation(self) -> Operation | None:
        while True:
            start, depth = self.pos, len(self._parser_state.dialect_stack)
            scope = self.ssa_values, self.blocks, self.forward_block_references
            try:
                return super().parse_optional_operation()
            except ParseError as error:
                del self._parser_state.dialect_stack[depth:]
                self.ssa_values, self.blocks, self.forward_block_references = scope
                end = self._end_of_operation(start)
                self._tell(error, start, end)
                if end <= start or len(self.errors) >= MOST_ERRORS:
                    raise
                self._resume_behind(end)

    def parse_operation(self) -> Operation:
        start = self.pos
        operation = super().parse_operation()
        end = start + len(self._text[start : self.pos].rstrip())
        self.index.operations[operation] = Place(start, end)
        return operation

    def _resume_behind(self, position: int) -> None:
        """Go on at the first place behind an error where a token begins."""
        try:
            self._resume_from(position)
        except ParseError as error:
            self._add(error)
            line = self._text.find("\n", position)
            if line < 0:
                raise
            self._resume_behind(line + 1)

    def _tell(self, error: ParseError, start: int, end: int) -> None:
        """Keep an error, unless it follows from one before; its results are lost."""
        text = self._text[start:end]
        if self._lost.isdisjoint(_VALUE.findall(text)):
            self._add(error)
        if results := _RESULTS.match(text):
            self._lost.update(_VALUE.findall(results[0]))

    def _end_of_operation(self, start: int) -> int:
        """Where the next operation begins, or the block ends that this one is in."""
        depth = 0
        for found in _BOUNDARY.finditer(self._text, start):
            if found["open"]:
                depth += 1
            elif found["close"]:
                if depth == 0:
                    return found.start()
                depth -= 1
            elif found["line"] and depth == 0:
                return found.end()
        return len(self._text)

    # -- values

    def parse_optional_unresolved_operand(self) -> UnresolvedOperand | None:
        operand = super().parse_optional_unresolved_operand()
        if operand is not None:
            place = Place(operand.span.start, operand.span.end)
            values = self.ssa_values.get(operand.operand_name)
            if values is None:
                uses = self._open_uses.setdefault(operand.operand_name, [])
                uses.append((place, operand.index))
            elif operand.index < len(values):
                self.index.uses.append((place, values[operand.index]))
        return operand

    def _register_ssa_definition(
        self, name: str, values: Sequence[SSAValue], span: Span
    ) -> None:
        super()._register_ssa_definition(name, values, span)
        for value in values:
            self.index.definitions[value] = Place(span.start, span.end)
        for place, number in self._open_uses.pop(name, ()):
            if number < len(values):
                self.index.uses.append((place, values[number]))
