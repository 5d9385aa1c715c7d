"""The table of operators that the importer knows.

A handler turns one ONNX node into nodes of the `glow` dialect. It is a function of a
few lines in the file of its theme, entered in `HANDLERS` under the operator's name:

    @onnx_op("Softplus")
    def softplus(node: OnnxNode) -> Value:
        return node.emit(SoftplusOp, node.value(0))

It returns the node's results in order: values of the program, or arrays where a result
is known at import.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from glow.frontends.onnx.node import OnnxNode, Value

Handler = Callable[["OnnxNode"], "Value | Sequence[Value]"]

HANDLERS: dict[str, Handler] = {}
"""Handlers of the default domain's operators by name."""

CONTRIB_HANDLERS: dict[str, Handler] = {}
"""Handlers of the operators of ONNX Runtime's domain `com.microsoft` by name."""

ATEN_HANDLERS: dict[str, Handler] = {}
"""Handlers of PyTorch's `ATen` nodes by the name in their attribute `operator`."""

TRAINING_HANDLERS: dict[str, Handler] = {}
"""Handlers of the operators of the domain `ai.onnx.preview.training` by name."""

ATEN_DOMAIN = "org.pytorch.aten"
CONTRIB_DOMAIN = "com.microsoft"
TRAINING_DOMAIN = "ai.onnx.preview.training"
DEFAULT_DOMAINS = ("", "ai.onnx")


HandlerType = TypeVar("HandlerType", bound=Handler)


def onnx_op(*names: str) -> Callable[[HandlerType], HandlerType]:
    """A decorator that enters a handler in the table under the given names.

    A node that is an operator by its own word (`NodeOp.ONNX`) goes before a handler.
    """

    def enter(handler: HandlerType) -> HandlerType:
        for name in names:
            HANDLERS.setdefault(name, handler)
        return handler

    return enter


def aten_op(name: str) -> Callable[[HandlerType], HandlerType]:
    """A decorator that enters a handler for one of PyTorch's own operators."""

    def enter(handler: HandlerType) -> HandlerType:
        ATEN_HANDLERS[name] = handler
        return handler

    return enter


def contrib_op(*names: str) -> Callable[[HandlerType], HandlerType]:
    """A decorator that enters a handler for operators of ONNX Runtime's domain."""

    def enter(handler: HandlerType) -> HandlerType:
        CONTRIB_HANDLERS.update(dict.fromkeys(names, handler))
        return handler

    return enter


def training_op(name: str) -> Callable[[HandlerType], HandlerType]:
    """A decorator that enters a handler for an operator of training."""

    def enter(handler: HandlerType) -> HandlerType:
        TRAINING_HANDLERS[name] = handler
        return handler

    return enter
