"""Tables of passes, of which nothing is imported before it is used.

A file is a pass: `fold_pads.py` has the class `FoldPadsPass`, whose name is `fold-pads`. So a
table is a list of modules; a pass that stands in a file of another name is added by `lazy_pass`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

    PassFactory = Callable[[], type[ModulePass]]


def lazy_pass(module: str, class_name: str) -> PassFactory:
    """The factory of a class in a module."""

    def load() -> type[ModulePass]:
        return getattr(import_module(module), class_name)

    return load


def lazy_passes(package: str, *modules: str) -> dict[str, PassFactory]:
    """The factories of a package's passes by name, one for each module in it."""
    table: dict[str, PassFactory] = {}
    for module in modules:
        words = module.rpartition(".")[2].split("_")
        class_name = "".join(word.capitalize() for word in words) + "Pass"
        table["-".join(words)] = lazy_pass(f"{package}.{module}", class_name)
    return table
