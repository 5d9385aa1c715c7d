"""The server: an editor's questions by the Language Server Protocol, on pygls.

A text is read when it is opened, and again when nobody has typed for a moment; all questions are
answered from what was read last.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument
from xdsl.context import Context

from glow.tools.lsp.document import Document
from glow.tools.lsp.hover import hover_at
from glow.tools.lsp.recovering_parser import Place
from glow.tools.lsp.symbols import Symbol, outline
from glow.universe import new_context

REST = 0.2
"""Seconds without a key after which a text is read."""


@dataclass
class Opened:
    """A document of the editor, as it was read."""

    document: Document
    file: str
    lines: Sequence[str]
    starts: Sequence[int]


class GlowLanguageServer(LanguageServer):
    """Keeps what is known of the open documents."""

    def __init__(self, context: Context) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            "glow-lsp", version("glow-xdsl")
        )
        self.context = context
        self.opened: dict[str, Opened] = {}

    def read(self, uri: str) -> None:
        """Read a document, and tell the editor what is wrong with it."""
        source = self.workspace.get_text_document(uri)
        text, file = source.source, file_of(source)
        lines = text.splitlines(keepends=True)
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line))
        document = Document.read(text, file, self.context)
        opened = self.opened[uri] = Opened(document, file, lines, starts)
        found = [
            types.Diagnostic(
                range=self.range_of(opened, problem.place),
                message=problem.message,
                severity=types.DiagnosticSeverity.Error,
                source="glow",
            )
            for problem in document.problems
        ]
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(
                uri=uri, diagnostics=found, version=source.version
            )
        )

    def at(self, uri: str, position: types.Position) -> tuple[Opened, int] | None:
        """The document and the character of a question."""
        opened = self.opened.get(uri)
        if opened is None:
            return None
        codec = self.workspace.position_codec
        place = codec.position_from_client_units(opened.lines, position)
        line = min(place.line, len(opened.starts) - 1)
        offset = opened.starts[line] + place.character
        return opened, min(offset, len(opened.document.text))

    def range_of(self, opened: Opened, place: Place) -> types.Range:
        """Where characters stand, as the editor counts."""
        start, end = (
            self.position_of(opened, offset) for offset in (place.start, place.end)
        )
        return types.Range(start=start, end=end)

    def position_of(self, opened: Opened, offset: int) -> types.Position:
        """Line and column of a character."""
        line = max(bisect_right(opened.starts, offset) - 1, 0)
        place = types.Position(line=line, character=offset - opened.starts[line])
        return self.workspace.position_codec.position_to_client_units(
            opened.lines, place
        )

    def symbol_of(self, opened: Opened, symbol: Symbol) -> types.DocumentSymbol:
        """An entry of the outline with those below."""
        kind = types.SymbolKind
        return types.DocumentSymbol(
            name=symbol.name,
            detail=symbol.detail,
            kind=kind.Function if symbol.is_function else kind.Variable,
            range=self.range_of(opened, symbol.whole),
            selection_range=self.range_of(opened, symbol.name_place),
            children=[self.symbol_of(opened, child) for child in symbol.children],
        )


def file_of(source: TextDocument) -> str:
    """The name that places of a document have."""
    return source.path or Path(source.uri).name


def make_server(*, allow_unregistered: bool = False) -> GlowLanguageServer:
    """A server that waits to be started."""
    context = new_context()
    context.allow_unregistered = allow_unregistered
    server = GlowLanguageServer(context)
    server.feature(types.TEXT_DOCUMENT_DID_OPEN)(did_open)
    server.feature(types.TEXT_DOCUMENT_DID_CHANGE)(did_change)
    server.feature(types.TEXT_DOCUMENT_DID_CLOSE)(did_close)
    server.feature(types.TEXT_DOCUMENT_HOVER)(hover)
    server.feature(types.TEXT_DOCUMENT_DEFINITION)(definition)
    server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)(document_symbols)
    return server


def did_open(
    server: GlowLanguageServer, params: types.DidOpenTextDocumentParams
) -> None:
    """Read a text that was opened."""
    server.read(params.text_document.uri)


async def did_change(
    server: GlowLanguageServer, params: types.DidChangeTextDocumentParams
) -> None:
    """Read a text that has changed, unless it changes again at once."""
    await asyncio.sleep(REST)
    uri = params.text_document.uri
    now = server.workspace.text_documents.get(uri)
    if now is not None and now.version == params.text_document.version:
        server.read(uri)


def did_close(
    server: GlowLanguageServer, params: types.DidCloseTextDocumentParams
) -> None:
    """Forget a text, and its errors."""
    uri = params.text_document.uri
    server.opened.pop(uri, None)
    server.text_document_publish_diagnostics(
        types.PublishDiagnosticsParams(uri=uri, diagnostics=[])
    )


def hover(server: GlowLanguageServer, params: types.HoverParams) -> types.Hover | None:
    """Tell of the value, operation or symbol at a position."""
    if (asked := server.at(params.text_document.uri, params.position)) is None:
        return None
    opened, offset = asked
    text = hover_at(opened.document, offset, opened.file)
    if text is None:
        return None
    word = opened.document.word_at(offset)
    return types.Hover(
        contents=types.MarkupContent(kind=types.MarkupKind.Markdown, value=text),
        range=server.range_of(opened, word[1]) if word is not None else None,
    )


def definition(
    server: GlowLanguageServer, params: types.DefinitionParams
) -> types.Location | None:
    """Where a value, a symbol or an alias is defined."""
    if (asked := server.at(params.text_document.uri, params.position)) is None:
        return None
    opened, offset = asked
    place = opened.document.definition_at(offset)
    if place is None:
        return None
    return types.Location(
        uri=params.text_document.uri, range=server.range_of(opened, place)
    )


def document_symbols(
    server: GlowLanguageServer, params: types.DocumentSymbolParams
) -> list[types.DocumentSymbol]:
    """The outline of a text."""
    opened = server.opened.get(params.text_document.uri)
    if opened is None:
        return []
    return [server.symbol_of(opened, one) for one in outline(opened.document)]
