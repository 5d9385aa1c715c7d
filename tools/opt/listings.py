"""What `--list-passes` and `--show-dialects` print."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from xdsl.context import Context
from xdsl.passes import ModulePass

from glow.universe import get_glow_passes

NAME_WIDTH = 34

PassFactories = dict[str, Callable[[], type[ModulePass]]]


def list_passes(passes: PassFactories, groups: dict[str, tuple[str, ...]]) -> None:
    """Print all passes with their one-line summaries: groups, ours, xDSL's."""
    ours = get_glow_passes()
    print("groups of passes:")
    for name, members in groups.items():
        print(f"  --{name:<{NAME_WIDTH}} {', '.join(members)}")
    print("\npasses:")
    _print_passes({name: passes[name] for name in sorted(ours) if name in passes})
    print("\npasses of xDSL:")
    _print_passes({name: passes[name] for name in sorted(passes) if name not in ours})


def _print_passes(passes: PassFactories) -> None:
    for name, factory in passes.items():
        print(f"  --{name:<{NAME_WIDTH}} {summary(factory)}".rstrip())


def summary(factory: Callable[[], type[ModulePass]]) -> str:
    """The first line of the documentation of a pass or of its module."""
    try:
        pass_class = factory()
    except ImportError as error:
        return f"(not available: {error})"
    module = sys.modules[pass_class.__module__].__doc__
    own = pass_class.__dict__.get("__doc__") or ""
    if own.startswith(f"{pass_class.__name__}("):  # written by @dataclass
        own = ""
    return _first_line(own) or _first_line(module or "")


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def list_dialects(context: Context) -> None:
    """Print the names of all dialects on one line, as mlir-opt does."""
    print(f"Available Dialects: {', '.join(_dialect_names(context))}")


def _dialect_names(context: Context) -> Iterable[str]:
    return sorted(context.registered_dialect_names)
