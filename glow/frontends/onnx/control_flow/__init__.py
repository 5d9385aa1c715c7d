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

from glow.frontends.onnx.control_flow.bodies import Bodies, HeldResults
from glow.frontends.onnx.control_flow.branch import import_if
from glow.frontends.onnx.control_flow.loop import import_loop
from glow.frontends.onnx.control_flow.scan import import_scan
from glow.frontends.onnx.control_flow.sequences import HANDLERS as SEQUENCE_OPERATORS
from glow.frontends.onnx.control_flow.sequences import import_map, import_sequence
from glow.frontends.onnx.frame import Frame
from glow.frontends.onnx.node import OnnxNode
from glow.frontends.onnx.registry import DEFAULT_DOMAINS, TRAINING_DOMAIN

Handler = Callable[[Bodies, OnnxNode, Frame], HeldResults]

HANDLERS: Mapping[str, Handler] = {
    "If": import_if,
    "Loop": import_loop,
    "Scan": import_scan,
    "SequenceMap": import_map,
    **dict.fromkeys(SEQUENCE_OPERATORS, import_sequence),
}


def control_flow_handler(domain: str, operator: str) -> Handler | None:
    """The handler of an operator that has bodies, names tensors, or is about sequences or
    optionals.
    """
    if (domain, operator) == (TRAINING_DOMAIN, "Gradient"):
        from glow.frontends.onnx.gradient import import_gradient  # Loads all rules.

        return import_gradient
    return HANDLERS.get(operator) if domain in DEFAULT_DOMAINS else None
