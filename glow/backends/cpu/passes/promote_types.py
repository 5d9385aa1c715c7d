"""Nodes whose element type the CPU has no kernel for compute in a wider one.

Sums and functions of 16-bit floats are computed in f32 and rounded once, as the
interpreter does; element-wise nodes of one step stay as they are, and so do products of
bf16 that the target has dot products for, whose sums are f32. Products of 8- and
16-bit integers saturate, means of integers are taken of 64 bits, and averages over
windows and fractional factors of integers go through f64.

    %0 = glow.softmax %x axis 1 : tensor<2x4xbf16>
  becomes
    %1 = glow.convert %x : tensor<2x4xf32>
    %2 = glow.softmax %1 axis 1 : tensor<2x4xf32>
    %0 = glow.convert %2 : tensor<2x4xbf16>

With `excess`, values of f16 between nodes are not rounded (`excess_precision.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    ModuleOp,
    TensorType,
    f32,
    f64,
    i64,
)
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from glow.backends.cpu.passes.excess_precision import (
    conversions,
    keep_excess_precision,
)
from glow.backends.cpu.passes.half_kernels import half_rule
from glow.backends.cpu.passes.wider_nodes import (
    PRODUCTS,
    bits,
    compute_in,
    convert,
    converted,
)
from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of, shape_of, tensor_type
from glow.lowering.target.program_target import settle_target
from glow.lowering.target.target import Target
from glow.lowering.type_guards import is_integer
from glow.passes.rewriting.contract import MEANING
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    attributes_of,
    rewrite_nodes,
)

Rule = Callable[[NodeOp, Attribute], Attribute | None]
"""The element type to compute a node in, given its own; None keeps it."""

KeepsHalf = Callable[[Operation, Target], bool]
"""Whether a node on 16-bit floats stays as it is."""


def _float(op: NodeOp, element: Attribute) -> Attribute | None:
    return f32 if isinstance(element, Float16Type | BFloat16Type) else None


def _batch_norm(op: NodeOp, element: Attribute) -> Attribute | None:
    """Parameters of another type follow the input."""
    mixed = any(element_of(value) != element for value in op.inputs)
    return _float(op, element) or (element if mixed else None)


def _product(op: NodeOp, element: Attribute) -> Attribute | None:
    """Sums of products of narrow integers are exact in 64 bits."""
    return i64 if 0 < bits(element) < 32 else _float(op, element)


def _gemm(op: NodeOp, element: Attribute) -> Attribute | None:
    attributes = op.attributes_view()
    factors = attributes.float("alpha"), attributes.float("beta")
    if bits(element) and not all(factor.is_integer() for factor in factors):
        return f64
    return _product(op, element)


def _average(op: NodeOp, element: Attribute) -> Attribute | None:
    return f64 if is_integer(element) else _float(op, element)


def _mean(op: NodeOp, element: Attribute) -> Attribute | None:
    return i64 if 0 < bits(element) < 64 else _float(op, element)


SEVERAL_STEPS = (
    node
    for node, facts in glow.FACTS.items()
    if facts.lowering is not None and issubclass(node, glow.FloatUnaryOp)
)
"""Element-wise nodes that would round between their steps."""

RULES: Mapping[type[Operation], Rule] = {
    **dict.fromkeys(
        (
            glow.AttentionOp,
            glow.LayerNormOp,
            glow.LocalResponseNormOp,
            glow.LogSoftmaxOp,
            glow.LstmOp,
            glow.GruOp,
            glow.RnnOp,
            glow.SampleOp,
            glow.MaxPool2dOp,
            glow.ReduceMaxOp,
            glow.ReduceMinOp,
            glow.ReduceProdOp,
            glow.ReduceSumOp,
            glow.SoftmaxOp,
            glow.ArgMaxOp,
            glow.ArgMinOp,
            glow.ArgMaxPool2dOp,
            glow.CumulativeOp,
            glow.LuOp,
            *SEVERAL_STEPS,
        ),
        _float,
    ),
    glow.BatchNormOp: _batch_norm,
    glow.Conv2dOp: _product,
    glow.Conv3dOp: _product,
    glow.ConvTranspose2dOp: _product,
    glow.ConvTranspose3dOp: _product,
    glow.MatmulOp: _product,
    glow.FullyConnectedOp: _product,
    glow.GemmOp: _gemm,
    glow.AvgPool2dOp: _average,
    glow.ReduceMeanOp: _mean,
}
"""Node class to the rule that says what it computes in."""


def promote(op: Operation, keeps_half: KeepsHalf, target: Target) -> None:
    """Let a node compute in a wider element type where its rule says so."""
    assert isinstance(op, NodeOp)
    if not all(isinstance(value.type, TensorType) for value in op.inputs):
        return
    element = element_of(op.inputs[0])
    if keeps_half(op, target):
        if type(op) in PRODUCTS:
            _promote_sums(op)
        return
    wide = RULES[type(op)](op, element)
    if wide is not None:
        compute_in(op, element, wide)


def _promote_sums(op: NodeOp) -> None:
    """Let a product of bf16 give its sums, and round them after it."""
    if element_of(op.results[0]) == f32:
        return
    builder, shape = NodeBuilder(op), shape_of(op.results[0])
    inputs, sums = op.inputs, tensor_type(shape, f32)
    if len(inputs) > FACTORS:
        bias = converted(builder, inputs[FACTORS], element_of(inputs[0]), f32)
        inputs = [*inputs[:FACTORS], bias]
    result = builder.create(type(op), inputs, attributes_of(op), types=[sums])
    builder.replace(convert(builder, result, element_of(op.results[0])))


FACTORS = 2
"""The operands that are multiplied; a bias is added to the sums."""


@dataclass(frozen=True)
class PromoteTypesPass(ModulePass):
    """Compute in a wider element type what a backend has no kernel for on a target (host,
    avx512, avx2, ...).
    """

    name = "promote-types"
    preserves = MEANING

    target: str = "host"
    backend: str = "cpu"
    excess: bool = False
    """Whether f16 between nodes stays f32."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        given = set(conversions(op))
        target, keeps_half = settle_target(op, self.target), half_rule(self.backend)
        rewrite = partial(promote, keeps_half=keeps_half, target=target)
        rewrite_nodes(op, dict.fromkeys(RULES, rewrite))
        if self.excess:
            keep_excess_precision(op, given)
