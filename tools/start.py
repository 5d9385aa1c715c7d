"""Where the console scripts begin.

`glow.interrupts` makes Ctrl-C one line until the tools are loaded.
"""

import sys
from importlib import import_module
from typing import NoReturn

from glow.interrupts import loaded


def glow() -> NoReturn:
    """Run `glow`."""
    _start("glow.tools.glow")


def glow_opt() -> NoReturn:
    """Run `glow-opt`."""
    _start("glow.tools.glow_opt")


def glow_lsp() -> NoReturn:
    """Run `glow-lsp`."""
    _start("glow.tools.lsp.command")


def glow_reduce() -> NoReturn:
    """Run `glow-reduce`."""
    _start("glow.tools.glow_reduce")


def _start(module: str) -> NoReturn:
    main = import_module(module).main
    loaded()
    main()
    sys.exit()
