"""How a handler refuses its node."""

from __future__ import annotations

from xdsl.ir import Block, SSAValue

from glow.frontends.onnx.messages import NodeProto


class UnsupportedError(Exception):
    """A handler cannot import its node; the message says what is unsupported."""


class NeedsValue(UnsupportedError):
    """A handler needs a number, a shape or axes that the program computes.

    Such a node can be imported once the value is known: at a call, at the latest.
    """

    def __init__(self, value: SSAValue, what: str) -> None:
        super().__init__(f"{what} computed at run time")
        self.value = value
        owner = value.owner
        self.block = owner if isinstance(owner, Block) else owner.parent
        self.what = what


def refuse_if(condition: bool, what: str) -> None:
    """Raise an UnsupportedError that names what is unsupported."""
    if condition:
        raise UnsupportedError(what)


def need_line(proto: NodeProto, name: str, what: str) -> str:
    """What a node needs to know before its shapes are known, in one line."""
    return f"'{proto.op_type}' at node '{name}' needs the value of its {what}"
