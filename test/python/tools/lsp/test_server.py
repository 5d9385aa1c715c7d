"""`glow-lsp` as an editor uses it: one session of a server in a process of its own."""

import sys
from collections.abc import AsyncIterator

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

from glow.dialects.errors import GlowError
from glow.tools.lsp.command import run_glow_lsp

URI = "file:///networks/net.mlir"
TEXT = """\
// \U0001f600 counts as two
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = glow.relu %x : tensor<2xf32>
  func.return %y : tensor<2xf32>
}
"""


@pytest_lsp.fixture(
    config=ClientServerConfig(
        server_command=[sys.executable, "-m", "glow.tools.lsp.command", "--stdio"]
    )
)
async def client(lsp_client: LanguageClient) -> AsyncIterator[None]:
    """An editor that has started the server."""
    await lsp_client.initialize_session(
        types.InitializeParams(
            capabilities=client_capabilities("visual-studio-code"), root_uri="file:///"
        )
    )
    yield
    await lsp_client.shutdown_session()


@pytest.mark.asyncio
async def test_a_session(client: LanguageClient) -> None:
    document = types.TextDocumentIdentifier(uri=URI)
    client.text_document_did_open(
        types.DidOpenTextDocumentParams(
            types.TextDocumentItem(uri=URI, language_id="mlir", version=1, text=TEXT)
        )
    )
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert list(client.diagnostics[URI]) == []

    hover = await client.text_document_hover_async(
        types.HoverParams(document, types.Position(line=3, character=15))
    )
    assert hover is not None
    assert "%y : tensor<2xf32>" in hover.contents.value
    assert hover.range == at(3, 14, 16)

    found = await client.text_document_definition_async(
        types.DefinitionParams(document, types.Position(line=3, character=15))
    )
    assert isinstance(found, types.Location)
    assert (found.uri, found.range) == (URI, at(2, 2, 4))

    symbols = await client.text_document_document_symbol_async(
        types.DocumentSymbolParams(document)
    )
    assert symbols is not None
    assert [one.name for one in symbols] == ["@main"]
    assert [one.name for one in symbols[0].children or ()] == ["%y"]

    # What is typed fast is read once, as it stands in the end.
    for version, text in ((2, "glow.rel"), (3, "glow.rleu")):
        client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(version=version, uri=URI),
                [
                    types.TextDocumentContentChangePartial(
                        range=RELU[version], text=text
                    )
                ],
            )
        )
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    (wrong,) = client.diagnostics[URI]
    assert "unknown operation 'glow.rleu'; did you mean 'glow.relu'?" in wrong.message
    assert wrong.range == at(2, 7, 16)


def at(line: int, start: int, end: int) -> types.Range:
    """Characters of a line."""
    return types.Range(types.Position(line, start), types.Position(line, end))


RELU = {2: at(2, 7, 16), 3: at(2, 7, 15)}
"""Where the operation's name stands before each change."""


def test_without_pygls_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("glow.tools.lsp.server", "pygls", "pygls.lsp.server"):
        monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.delitem(sys.modules, "glow.tools.lsp.server", raising=False)
    with pytest.raises(GlowError, match=r"needs pygls.*glow-xdsl\[lsp\]"):
        run_glow_lsp([])
