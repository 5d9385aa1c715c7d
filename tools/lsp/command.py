"""`glow-lsp`: a language server for MLIR text, which editors start.

It speaks the Language Server Protocol on its standard input and output: errors while one types,
types and rules of what the cursor is on, definitions, and an outline.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version

from glow.diagnostics import run_reporting
from glow.dialects.errors import GlowError

TOOL = "glow-lsp"


def run_glow_lsp(arguments: Sequence[str]) -> None:
    """Serve an editor until it ends the session; raises GlowError without pygls."""
    parser = argparse.ArgumentParser(TOOL, description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "--version", action="version", version=f"{TOOL} {version('glow-xdsl')}"
    )
    parser.add_argument(
        "--stdio", action="store_true", help="what editors ask for, and always holds"
    )
    parser.add_argument(
        "--allow-unregistered-dialect",
        action="store_true",
        help="take operations of other dialects in their generic form",
    )
    options = parser.parse_args(arguments)
    try:
        from glow.tools.lsp.server import make_server
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in EXTRA:
            raise
        raise GlowError(
            f"{TOOL} needs {error.name}", hint="pip install 'glow-xdsl[lsp]'"
        ) from error
    make_server(allow_unregistered=options.allow_unregistered_dialect).start_io()


EXTRA = ("lsprotocol", "pygls")
"""What the server is made of."""


def main() -> None:
    """The entry point of the console script."""
    arguments = sys.argv[1:]
    sys.exit(run_reporting(TOOL, lambda: run_glow_lsp(arguments), debug=False))


if __name__ == "__main__":
    main()
