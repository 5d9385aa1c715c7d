"""What a backend asks of `lower-nodes`: which nodes are to be lowered.

A backend is anything with `should_lower(op) -> bool`. `lower-nodes{backend=cpu}` names
one of `BACKENDS`, where other packages may add theirs before the pass runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from xdsl.dialects.builtin import IntegerType, f32

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.dialects.weights import constant_value, stored_value
from glow.lowering.lower_nodes.cells import cell_of

MIN_QUERIES = 6
MAX_KEY_ELEMENTS = 1 << 16
"""Of a head's keys, which the kernel of attention keeps transposed on its stack."""


class NodeBackend(Protocol):
    """The part of a backend that node lowering needs."""

    def should_lower(self, op: NodeOp) -> bool:
        """Whether the backend wants this node as primitives."""
        ...


def _is_integer_layer(op: glow.Conv2dOp) -> bool:
    """Whether a convolution of integers does more than multiply and add."""
    is_integer = isinstance(element_of(op.input), IntegerType)
    return is_integer and (op.bias is not None or op.activation is not None)


def is_fused_recurrence(op: glow.RecurrentOp) -> bool:
    """Whether a step of the layer is one product with constant weights, and gates."""
    constant = constant_value(op.recurrence) is not None
    is_f32 = all(element_of(value) == f32 for value in op.inputs)
    return constant and is_f32 and cell_of(op) is not None


def _has_attention_kernel(op: glow.AttentionOp) -> bool:
    """Whether nothing is repeated, all is f32 and the keys of a head fit a near cache.

    Transposing them takes some queries to pay.
    """
    *batch, length, _ = shape_of(op.queries)
    *key_batch, count, size = shape_of(op.keys)
    *value_batch, _, _ = shape_of(op.values)
    return (
        op.predicate is None
        and batch == key_batch == value_batch
        and all(element_of(value) == f32 for value in op.inputs)
        and length >= MIN_QUERIES
        and 0 < count * size <= MAX_KEY_ELEMENTS
    )


class CpuNodes:
    """The CPU has a kernel for what pays, and scalar code for everything data-parallel."""

    LOWERED = (
        glow.BatchNormOp,
        glow.Conv3dOp,
        glow.ConvTranspose2dOp,
        glow.ConvTranspose3dOp,
        glow.GemmOp,
        glow.GruOp,
        glow.LogSoftmaxOp,
        glow.LstmOp,
        glow.RnnOp,
        glow.TileOp,
    )
    ONLY_F32 = (
        glow.LayerNormOp,
        glow.LocalResponseNormOp,
        glow.SoftmaxOp,
    )

    def should_lower(self, op: NodeOp) -> bool:
        """Lower what has no kernel; a layer with computed weights is a plain product."""
        if isinstance(op, glow.AttentionOp):
            return not _has_attention_kernel(op)
        if isinstance(op, glow.FullyConnectedOp):
            return stored_value(op.weights) is None
        if isinstance(op, glow.PadOp):
            return op.attributes_view().string("mode") != "constant"
        if isinstance(op, self.ONLY_F32):
            return element_of(op.inputs[0]) != f32
        if isinstance(op, glow.Conv2dOp):
            return _is_integer_layer(op)
        if isinstance(op, glow.RecurrentOp) and is_fused_recurrence(op):
            return False
        return isinstance(op, self.LOWERED)


def cpu_keeps(op: NodeOp) -> bool:
    """Whether the CPU takes the node as it is."""
    return not CpuNodes().should_lower(op)


class InterpreterNodes:
    """The interpreter runs every node as it is."""

    def should_lower(self, op: NodeOp) -> bool:
        """Keep everything."""
        return False


class NoBackend:
    """Everything becomes primitives: the smallest set that a backend can support."""

    def should_lower(self, op: NodeOp) -> bool:
        """Lower everything; products of matrices and dense windows are primitives."""
        if isinstance(op, glow.MatmulOp):
            batch = shape_of(op.result)[:-2]
            return len(batch) > 0 and 0 not in batch
        if not isinstance(op, glow.Conv2dOp):
            return True
        is_float = not isinstance(element_of(op.input), IntegerType)
        view = op.attributes_view()
        is_pointwise = shape_of(op.weights)[2:] == (1, 1) and not any(view.ints("pads"))
        return view.int("group") > 1 or (
            is_float and is_pointwise and set(view.ints("strides")) == {1}
        )


BACKENDS: dict[str, Callable[[], NodeBackend]] = {
    "cpu": CpuNodes,
    "interpreter": InterpreterNodes,
    "none": NoBackend,
}
"""Backend name to factory."""


def backend_named(name: str) -> NodeBackend:
    """The backend of that name; raises GlowError that lists the known ones."""
    if name not in BACKENDS:
        raise GlowError(
            f"unknown backend '{name}'", hint=f"known backends: {', '.join(BACKENDS)}"
        )
    return BACKENDS[name]()
