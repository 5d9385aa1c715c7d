"""The reference semantics of our dialects in NumPy, on xDSL's interpreter framework.

`run` executes a module, `evaluate_node` one node (the constant folder's entry),
`evaluate_elements` an elementwise one for arrays of another shape, and
`make_interpreter` gives an xDSL interpreter to which listeners can be attached.

The latter two load xDSL's interpreters on first use: they cost a quarter of a second,
which folding constants in every compilation need not pay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from glow.interpreter.evaluation import (
    FUNCTIONS,
    evaluate_elements,
    evaluate_node,
    evaluate_region,
)

if TYPE_CHECKING:
    from glow.interpreter.interpreter import make_interpreter, run

__all__ = [
    "FUNCTIONS",
    "evaluate_elements",
    "evaluate_node",
    "evaluate_region",
    "make_interpreter",
    "run",
]


def __getattr__(name: str) -> object:
    if name in ("make_interpreter", "run"):
        from glow.interpreter import interpreter

        return getattr(interpreter, name)
    raise AttributeError(f"module 'glow.interpreter' has no attribute '{name}'")
