"""Which nodes are quantized, and which values then share a scale.

Products with constant weights are; whatever lies between them is too where all its float
operands come from quantized nodes and all its readers are quantized. So no value is
rounded only for the sake of a node that would not gain, and what leaves the network, or
enters a softmax or a layer normalization (a transformer's residual stream), stays float.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.glow.integer_forms import ARITHMETIC, MOVEMENT, PRODUCTS
from glow.dialects.node import NodeOp, node_name
from glow.passes.quantization.casts import tensor_of
from glow.passes.quantization.constants import has_floats
from glow.passes.quantization.integer.affine import is_affine
from glow.passes.quantization.integer.lookup_tables import FUNCTIONS
from glow.passes.quantization.profiling.instrument_profile import is_float_tensor
from glow.passes.rewriting.operations import all_operations

CARRIERS = frozenset((*ARITHMETIC, *MOVEMENT, *FUNCTIONS))
"""Nodes that are quantized between products."""

WEIGHTED = frozenset(PRODUCTS)


def is_constant(value: SSAValue) -> bool:
    """Whether a value is a constant or splat."""
    return isinstance(value.owner, glow.ConstantOp | glow.SplatOp)


def is_weighted_product(op: Operation) -> bool:
    """Whether a node multiplies computed values by constant weights (and bias)."""
    if type(op) not in WEIGHTED:
        return False
    assert isinstance(op, NodeOp)
    data, *constants = op.inputs
    attributes = op.attributes_view()
    return (
        is_float_tensor(data)
        and not is_constant(data)
        and all(map(has_floats, constants))
        and not (
            isinstance(op, glow.MatmulOp)
            and (attributes.has("transpose_lhs") or attributes.has("transpose_rhs"))
        )
    )


def is_computed_product(op: Operation) -> bool:
    """Whether a node multiplies two computed values, as attention does."""
    return isinstance(op, glow.MatmulOp) and all(
        is_float_tensor(value) and not is_constant(value) for value in op.inputs
    )


def is_linear_layer(op: Operation) -> bool:
    """Whether a product is a matrix product with a constant matrix."""
    if not isinstance(op, glow.MatmulOp | glow.FullyConnectedOp):
        return False
    return is_weighted_product(op) and tensor_of(op.operands[1]).get_num_dims() == 2


def is_kept(op: Operation, keep: Collection[str]) -> bool:
    """Whether the user wants a node in floats: by its name, its value's or its kind."""
    return bool(keep) and any(name in keep for name in names_of(op))


def names_of(op: Operation) -> set[str]:
    """What a node may be called: its kind, its name, and the names of its values."""
    names = {op.name.partition(".")[2], node_name(op)}
    names |= {result.name_hint for result in op.results}
    return {name for name in names if name}


def check_keep(module: ModuleOp, keep: Collection[str]) -> None:
    """Raise GlowError for names in `keep` that nothing has."""
    if not keep:
        return
    known = {kind.name.partition(".")[2] for kind in glow.Glow.operations}
    for op in all_operations(module):
        known |= names_of(op)
    unknown = [name for name in keep if name not in known]
    if unknown:
        near = get_close_matches(unknown[0], sorted(known), 1)
        raise GlowError(
            f"keep: the network has no node '{unknown[0]}'",
            hint=f"did you mean '{near[0]}'?" if near else None,
        )


def activations(op: Operation) -> list[SSAValue]:
    """The computed float operands of a node."""
    operands = op.inputs if isinstance(op, NodeOp) else op.operands
    return [v for v in operands if is_float_tensor(v) and not is_constant(v)]


def select_nodes(block: Block, keep: Collection[str]) -> dict[Operation, None]:
    """The nodes to quantize, in program order."""
    chosen = {
        op: None
        for op in block.ops
        if not is_kept(op, keep)
        and (is_weighted_product(op) or (type(op) in CARRIERS and activations(op)))
    }
    while True:
        rejected = [op for op in chosen if not _fits(op, chosen)]
        for op in rejected:
            del chosen[op]
        if not rejected:
            return chosen


def _fits(op: Operation, chosen: Collection[Operation]) -> bool:
    """Whether a node has only quantized neighbours, unless it is a product."""
    if type(op) in WEIGHTED:
        return True
    return all(value.owner in chosen for value in activations(op)) and all(
        use.operation in chosen for result in op.results for use in result.uses
    )


def is_intermediate(value: SSAValue, chosen: Collection[Operation]) -> bool:
    """Whether a value is rounded only together with what its one reader makes of it."""
    if not value.has_one_use():
        return False
    reader = next(iter(value.uses)).operation
    if reader not in chosen or value.owner not in chosen:
        return False
    if isinstance(reader, glow.ReluOp | glow.ClipOp):
        return True
    assert isinstance(value.owner, Operation)
    return is_affine(reader) and is_affine(value.owner)


def quantized_values(
    chosen: Iterable[Operation], *, fused: bool = False
) -> list[SSAValue]:
    """The values that quantized nodes read as integers, in program order.

    With `fused` a sum reads a product's result as it is.
    """
    nodes = dict.fromkeys(chosen)
    values = {value: None for op in nodes for value in activations(op)}
    return [
        value
        for value in values
        if not is_intermediate(value, nodes) and not (fused and is_summand(value))
    ]


def is_summand(value: SSAValue) -> bool:
    """Whether a value goes from a product into a sum only."""
    if type(value.owner) not in WEIGHTED or not value.has_one_use():
        return False
    return isinstance(next(iter(value.uses)).operation, glow.AddOp)


def shared_scales(
    chosen: Iterable[Operation], values: Iterable[SSAValue]
) -> dict[SSAValue, SSAValue]:
    """A representative for each value; values that move into each other share one."""
    parents = {value: value for value in values}

    def find(value: SSAValue) -> SSAValue:
        while parents[value] is not value:
            value = parents[value]
        return value

    for op in chosen:
        if not isinstance(op, MOVEMENT):
            continue
        members = [v for v in (*op.results, *activations(op)) if v in parents]
        for member in members[1:]:
            parents[find(member)] = find(members[0])
    return {value: find(value) for value in parents}
