"""Where the console scripts begin.

Nothing else is imported before, so that Ctrl-C while the tools are loaded is one line.
"""

import sys
from importlib import import_module
from typing import NoReturn

EXIT_INTERRUPTED = 130
"""128 and the number of the signal, as shells have it."""


def glow() -> NoReturn:
    """Run `glow`."""
    _start("glow", "glow.tools.glow")


def glow_opt() -> NoReturn:
    """Run `glow-opt`."""
    _start("glow-opt", "glow.tools.glow_opt")


def _start(tool: str, module: str) -> NoReturn:
    try:
        main = import_module(module).main
    except KeyboardInterrupt:
        print(f"{tool}: error: interrupted", file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)
    main()
    sys.exit()
