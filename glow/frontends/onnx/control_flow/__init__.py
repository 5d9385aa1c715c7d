"""`If`, `Loop` and `Scan` as `scf.if`, `scf.while` and `scf.for` on tensors.

A body is imported once, into a block that sees the names around it. What may be known at
import is used there: a constant condition takes its branch, a loop without iterations is its
initial state. Shapes are static, so the number of iterations of a loop that stacks results
must be known; where a condition decides about it, a loop without results counts first:

    scf.while (%go = %c, %i = %0, %s = %init) {           iterations by a condition
      %1 = tensor.extract %go[] : tensor<i1>
      scf.condition(%1) %go, %i, %s
    } do { ... }

    scf.for %i = 0 to 10 iter_args(%s = %init, %y = ...)  a known number, results in %y
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from glow.frontends.onnx.registry import DEFAULT_DOMAINS, TRAINING_DOMAIN

if TYPE_CHECKING:
    from glow.frontends.onnx.control_flow.bodies import Bodies, HeldResults
    from glow.frontends.onnx.frame import Frame
    from glow.frontends.onnx.node import OnnxNode

Handler: TypeAlias = "Callable[[Bodies, OnnxNode, Frame], HeldResults]"

SEQUENCE_OPERATORS = (
    "ConcatFromSequence",
    "Identity",
    "Optional",
    "OptionalGetElement",
    "OptionalHasElement",
    "SequenceAt",
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceErase",
    "SequenceInsert",
    "SequenceLength",
    "SplitToSequence",
)

HANDLERS: Mapping[str, tuple[str, str]] = {
    "If": ("branch", "import_if"),
    "Loop": ("loop", "import_loop"),
    "Scan": ("scan", "import_scan"),
    "SequenceMap": ("sequences", "import_map"),
    **dict.fromkeys(SEQUENCE_OPERATORS, ("sequences", "import_sequence")),
}
"""The module of an operator's handler, which is loaded when a model has it, and its name."""


def control_flow_handler(domain: str, operator: str) -> Handler | None:
    """The handler of an operator that has bodies, names tensors, or is about sequences or
    optionals.
    """
    if (domain, operator) == (TRAINING_DOMAIN, "Gradient"):
        from glow.frontends.onnx.gradient import import_gradient  # Loads all rules.

        return import_gradient
    if domain not in DEFAULT_DOMAINS or operator not in HANDLERS:
        return None
    module, name = HANDLERS[operator]
    return getattr(import_module(f"{__name__}.{module}"), name)
