"""The outline of a text: modules, functions, and what is computed in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation

from glow.tools.lsp.document import Document, symbol_of
from glow.tools.lsp.hover import signature
from glow.tools.lsp.recovering_parser import Place


@dataclass
class Symbol:
    """An entry of the outline, with those below it."""

    name: str
    detail: str
    is_function: bool
    whole: Place
    name_place: Place
    children: list[Symbol] = field(default_factory=list["Symbol"])


def outline(document: Document) -> Sequence[Symbol]:
    """The entries at the top of a text.

    An operation is listed where it has a symbol, or a result in a function's own block.
    """
    entries = {op: _entry(document, op) for op in document.index.operations}
    top: list[Symbol] = []
    for operation, entry in entries.items():
        if entry is None:
            continue
        parent = operation.parent_op()
        above = entries.get(parent) if parent is not None else None
        (top if above is None else above.children).append(entry)
    return top


def _entry(document: Document, operation: Operation) -> Symbol | None:
    whole = document.index.operations[operation]
    symbol = symbol_of(operation)
    if symbol is not None:
        place = document.symbol_place(operation)
        detail = f"{operation.name} {signature(operation)}"
        return Symbol(f"@{symbol}", detail, True, whole, place)
    parent = operation.parent_op()
    if parent is None or symbol_of(parent) is None or not operation.results:
        return None
    place = document.index.definitions.get(operation.results[0])
    if place is None:
        return None
    name = document.text[place.start : place.end]
    detail = f"{operation.name} : {', '.join(map(str, operation.result_types))}"
    return Symbol(name, detail, False, whole, place)
