"""The reverse walk: from the loss back to what it depends on, one rule an operation.

`GradientSums` holds what is known of each value's gradient: the sum over its readers so far.
All readers of a value come before its operation in the walk, so the sum is whole by then.
A value without an entry has no gradient, which costs nothing: zeros are never built.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import AnyFloat, TensorType
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.glow.elementwise import broadcast_shape
from glow.dialects.locations import node_name, place_of
from glow.dialects.node import DataParallel, NodeOp, shape_of
from glow.passes.graph.differentiate.broadcasting import reduce_to
from glow.passes.graph.differentiate.gradient_builder import (
    GradientBuilder,
    Gradients,
)
from glow.passes.rewriting.node_builder import element_type


class GradientSums:
    """The gradients of values, summed over their readers."""

    def __init__(self, builder: GradientBuilder) -> None:
        self.builder = builder
        self.sums: dict[SSAValue, SSAValue] = {}

    def add(
        self, value: SSAValue, gradient: SSAValue, computed: Sequence[int] | None = None
    ) -> None:
        """Add what a reader contributes, which repeated the value to shape `computed`."""
        wanted = shape_of(value)
        if computed is None:
            computed = broadcast_shape([shape_of(gradient), wanted])
        gradient = self.builder.convert(gradient, element_type(value))
        gradient = reduce_to(self.builder, gradient, computed, wanted)
        if value in self.sums:
            gradient = add_to(self.builder, self.sums[value], gradient)
        self.sums[value] = gradient

    def get(self, value: SSAValue, whole: bool = True) -> SSAValue | None:
        """The gradient of a value, of its type; if not `whole` it may have to broadcast."""
        gradient = self.sums.get(value)
        if gradient is None:
            return None
        if whole:
            gradient = self.builder.broadcast(gradient, shape_of(value))
        if value.name_hint:
            self.builder.name(gradient, f"{value.name_hint}.grad")
        return gradient


def add_to(builder: GradientBuilder, total: SSAValue, gradient: SSAValue) -> SSAValue:
    """total + gradient; of a gradient that is one row among zeros, that row only."""
    update = gradient.owner
    if (
        isinstance(update, glow.DynamicUpdateOp)
        and builder.number_in(update.input) == 0
    ):
        row = builder.node(glow.DynamicSliceOp, total, update.index)
        row = builder.node(glow.AddOp, row, update.value)
        return builder.node(glow.DynamicUpdateOp, total, row, update.index)
    return builder.add(total, gradient)


def is_differentiable(value: SSAValue) -> bool:
    """Whether a value can have a gradient: it is a tensor of floats."""
    return isinstance(value.type, TensorType) and isinstance(
        element_type(value), AnyFloat
    )


def inputs_of(op: Operation) -> Sequence[SSAValue]:
    """What an operation depends on: its operands, then what its regions use from around it."""
    if isinstance(op, NodeOp):
        return op.inputs
    inside: set[SSAValue] = set()
    used: dict[SSAValue, None] = {}
    for region in op.regions:
        inside.update(argument for block in region.blocks for argument in block.args)
        for inner in region.walk():
            inside.update(inner.results)
            inside.update(a for r in inner.regions for b in r.blocks for a in b.args)
            used.update(dict.fromkeys(inner.operands))
    return [*op.operands, *(value for value in used if value not in inside)]


def dependents(ops: Iterable[Operation], sources: Iterable[SSAValue]) -> set[SSAValue]:
    """The results that have a gradient and depend on the sources, with these."""
    needed = set(sources)
    for op in ops:
        if not needed.isdisjoint(inputs_of(op)):
            needed.update(filter(is_differentiable, op.results))
    return needed


def walk_back(sums: GradientSums, ops: Sequence[Operation]) -> None:
    """Bring the gradients of results to the operands, from the last operation to the first.

    Raises GlowError at an operation that has no rule.
    """
    builder = sums.builder
    for op in reversed(ops):
        inputs = inputs_of(op)
        if builder.needed.isdisjoint(inputs):
            continue
        is_parallel = op.has_trait(DataParallel)
        gradients = [sums.get(result, whole=not is_parallel) for result in op.results]
        if all(gradient is None for gradient in gradients):
            continue
        computed = shape_of(op.results[0]) if is_parallel else None
        builder.stand_for(op)
        for value, gradient in zip(
            inputs, contributions(builder, op, gradients), strict=True
        ):
            if gradient is not None and value in builder.needed:
                sums.add(value, gradient, computed)


def contributions(
    builder: GradientBuilder, op: Operation, gradients: Gradients
) -> Gradients:
    """What an operation adds to the gradients of its inputs."""
    rule = builder.rules.get(type(op))
    if rule is None:
        raise GlowError(
            f"{op.name}{onnx_name(op)} has no derivative, and the loss depends on it",
            node=node_name(op),
            location=place_of(op),
            hint="differentiate with respect to what comes behind it",
        )
    return rule(builder, op, gradients)


def onnx_name(op: Operation) -> str:
    """` (ONNX TopK)`, where a node is one ONNX operator or one of several."""
    onnx = op.ONNX if isinstance(op, NodeOp) else None
    if onnx is None:
        return ""
    names = [onnx] if isinstance(onnx, str) else list(onnx)
    return f" (ONNX {' or '.join(names)})"
