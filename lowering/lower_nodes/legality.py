"""Which nodes are legal for a backend: those `lower-nodes` does not touch.

`lower-nodes{backend=cpu}` names a backend, `backend=none` asks for primitives only.
"""

from __future__ import annotations

from typing import Protocol

from xdsl.dialects.builtin import IntegerType

from glow.backends.backend import get_backend
from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of, shape_of


class Legality(Protocol):
    """The part of a backend that node lowering needs."""

    def is_legal(self, op: NodeOp) -> bool:
        """Whether the node stays as it is."""
        ...


class PrimitivesOnly:
    """The smallest set of nodes that a backend can support."""

    def is_legal(self, op: NodeOp) -> bool:
        """Only products of two matrices, and windows of one group."""
        if isinstance(op, glow.MatmulOp):
            batch = shape_of(op.result)[:-2]
            return len(batch) == 0 or 0 in batch
        if not isinstance(op, glow.Conv2dOp):
            return False
        is_float = not isinstance(element_of(op.input), IntegerType)
        view = op.attributes_view()
        is_pointwise = shape_of(op.weights)[2:] == (1, 1) and not any(view.ints("pads"))
        is_product = is_float and is_pointwise and set(view.ints("strides")) == {1}
        return view.int("group") == 1 and not is_product


NONE = "none"


def legality_of(backend: str) -> Legality:
    """What is legal for a backend; raises GlowError that lists the known backends."""
    return PrimitivesOnly() if backend == NONE else get_backend(backend)
