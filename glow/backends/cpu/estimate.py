"""How long a node should take: the machine model's answer, from types alone.

    seconds = max(multiply-adds, bytes from beyond the second cache) / clock rate

A convolution counts the cycles by which its algorithm is chosen (`winograd/cost.py`); other
products what their multiply-adds take, of which kernels reach a share; what moves or maps
elements the traffic of its operands and results, at the rate of the cache that holds them.
Constants come from memory, once an inference. Element-wise work on what a product has just
computed is its epilogue, and costs what its other operands take to read; the prologue of a
convolution costs nothing.

It is for who divides a network between devices before anything is compiled: sums over many
nodes are what counts, and single small ones may be off by a factor.
`benchmarks/estimates.py` shows by how much.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, prod
from typing import cast

from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Attribute, Operation, SSAValue

from glow.backends.cpu.layout.conv_shape import is_depthwise
from glow.backends.cpu.layout.convolution import conv_shape
from glow.dialects import glow
from glow.dialects.half import is_half
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.dialects.quantized import is_quantized, stored_type
from glow.dialects.weights import dtype_of
from glow.lowering.target.core import Core
from glow.lowering.target.target import Target
from glow.passes.rewriting.scalar_bodies import has_scalar_body

SHARE_OF_PEAK = 0.9
"""What products reach of the multiply-adds that the core could begin."""

STEPS_OF_A_FUNCTION = 12
"""Operations of exponentials and the like, of a vector."""

OTHERS = 16
"""Weights are read again after those of so many other layers, which are as large."""

CALL_CYCLES = 600
"""Of a kernel, however little it does."""

Products = Callable[[NodeOp], float]
Rates = tuple[tuple[float, float], ...]
"""The bytes of each cache and of memory, and the bytes a cycle from it."""

FUNCTIONS = (
    glow.ErfOp,
    glow.ExpOp,
    glow.GeluOp,
    glow.LayerNormOp,
    glow.LogSoftmaxOp,
    glow.SigmoidOp,
    glow.SoftmaxOp,
    glow.TanhOp,
)
"""Nodes that take many operations an element."""


def _convolution(op: NodeOp) -> float:
    """Taps times input channels of a group, for each output."""
    weights = shape_of(op.operands[1])
    return prod(shape_of(op.results[0])) * prod(weights[1:])


def _transposed_convolution(op: NodeOp) -> float:
    """Taps times output channels of a group, for each input."""
    return prod(shape_of(op.operands[0])) * prod(shape_of(op.operands[1])[1:])


def _pool(op: NodeOp) -> float:
    """Taps, of which each is loaded and added or compared."""
    return prod(shape_of(op.results[0])) * prod(op.attributes_view().ints("kernel"))


def _product(op: NodeOp) -> float:
    return prod(shape_of(op.results[0])) * shape_of(op.operands[0])[-1]


def _gemm(op: NodeOp) -> float:
    return prod(shape_of(op.operands[0])) * shape_of(op.results[0])[-1]


def _attention(op: NodeOp) -> float:
    *batch, length, size = shape_of(op.operands[0])
    count, width = shape_of(op.operands[2])[-2:]
    return prod(batch) * length * count * (size + width)


def _recurrence(op: NodeOp) -> float:
    """Both products of each step: with the inputs, and with the state."""
    steps, batch, _ = shape_of(op.operands[0])
    return steps * batch * sum(prod(shape_of(weights)) for weights in op.operands[1:3])


PRODUCTS: Mapping[type[Operation], Products] = {
    glow.AttentionOp: _attention,
    glow.Conv2dIntegerOp: _convolution,
    glow.Conv2dOp: _convolution,
    glow.Conv3dOp: _convolution,
    glow.ConvTranspose2dOp: _transposed_convolution,
    glow.ConvTranspose3dOp: _transposed_convolution,
    glow.DynamicMatmulOp: _product,
    glow.FullyConnectedOp: _product,
    glow.GemmOp: _gemm,
    glow.GruOp: _recurrence,
    glow.LstmOp: _recurrence,
    glow.AvgPool2dOp: _pool,
    glow.MatmulIntegerOp: _product,
    glow.MatmulOp: _product,
    glow.MaxPool2dOp: _pool,
    glow.RnnOp: _recurrence,
}
"""The multiply-adds of the nodes that have some."""

FREE = (glow.ConcatOp, glow.ConstantOp, glow.ReshapeOp, glow.SliceOp, glow.SplatOp)
"""Nodes that only name memory; pieces of a concatenation are written where they belong."""


LOOKUPS = (glow.GatherElementsOp, glow.GatherNDOp, glow.GatherOp)
"""Nodes that read as many elements of their first operand as they write."""


def estimate_seconds(
    op: Operation, target: Target, threads: int = 1, numerics: str = "default"
) -> float | None:
    """The seconds of a node of a graph; None for what is none, or has no fixed shape."""
    if not isinstance(op, NodeOp) or op.regions:
        return None
    if not all(isinstance(v.type, TensorType) for v in (*op.operands, *op.results)):
        return None
    if isinstance(op, FREE) or is_prologue(op):
        return 0.0
    core = target.core
    compute = _compute_cycles(op, target, numerics)
    cycles = max(compute, _traffic_cycles(op, _rates(core, threads)))
    if threads > 1 and cycles > core.barrier_cycles:
        cycles = cycles / threads + core.barrier_cycles
    return (cycles + CALL_CYCLES) / core.clock_hertz


def _compute_cycles(op: NodeOp, target: Target, numerics: str) -> float:
    core, lanes = target.core, target.lanes(32)
    count = PRODUCTS.get(type(op))
    if count is None:
        steps = STEPS_OF_A_FUNCTION if isinstance(op, FUNCTIONS) else 1
        vectors = prod(shape_of(op.results[0])) / lanes
        return 0.0 if is_epilogue(op) else steps * vectors / core.fma_per_cycle
    taps = count(op) / lanes / min(core.fma_per_cycle, core.loads_per_cycle)
    if isinstance(op, glow.Pool2dOp):
        return taps
    if isinstance(op, glow.Conv2dOp):
        shape = conv_shape(op)
        if is_depthwise(shape):
            return taps
        is_f32 = element_of(op.input) == f32 and _is_constant(op.weights)
        if numerics != "exact" and is_f32:
            from glow.backends.cpu.layout.winograd.choice import choose_winograd_tile

            choice = choose_winograd_tile(shape, target, numerics)
            if choice is not None:
                return choice.cycles
    peak = core.fma_per_cycle * lanes * _speedup(op, target)
    return count(op) / (SHARE_OF_PEAK * peak)


def _speedup(op: NodeOp, target: Target) -> float:
    """Multiply-adds of the factors' type in the time of one of f32."""
    if is_bytes(op.operands[1]):
        return target.core.int8_speedup if target.byte_dot != "none" else 1.0
    if is_half(element_of(op.operands[0])) and target.has_bf16:
        return target.core.bf16_speedup
    return 1.0


def is_bytes(value: SSAValue) -> bool:
    """Whether a value is stored in bytes."""
    return _item_bytes(value) == 1


def is_epilogue(op: NodeOp) -> bool:
    """Whether a node maps the elements of a product that nobody else reads."""
    return has_scalar_body(op) and any(map(_is_fresh, op.operands))


def is_prologue(op: Operation) -> bool:
    """Whether a node maps elements for one convolution of one tap, which does it itself."""
    if not has_scalar_body(op):
        return False
    user = op.results[0].get_user_of_unique_use()
    if isinstance(user, glow.Conv2dOp):
        return shape_of(user.weights)[2:] == (1, 1) and user.input is op.results[0]
    return user is not None and is_prologue(user)


def _is_fresh(value: SSAValue) -> bool:
    owner = value.owner
    if not isinstance(owner, NodeOp) or not value.has_one_use():
        return False
    return type(owner) in PRODUCTS or is_epilogue(owner)


def _traffic_cycles(op: NodeOp, rates: Rates) -> float:
    """What operands and results take to come from, and go to, where they are."""
    weights = sum(map(_bytes, filter(_is_constant, op.operands)))
    if isinstance(op, LOOKUPS):
        weights, moved = 0.0, [*op.operands[1:], *op.results, *op.results]
    elif is_epilogue(op):
        moved = [v for v in op.operands if not _is_fresh(v) and not _is_constant(v)]
    else:
        moved = [v for v in (*op.operands, *op.results) if not _is_constant(v)]
    values = sum(map(_bytes, moved))
    cycles = values / _rate(values, rates) + weights / _rate(OTHERS * weights, rates)
    if isinstance(op, glow.RecurrentOp):  # Each step reads the weights of the state.
        steps, again = shape_of(op.input)[0], _bytes(op.recurrence)
        cycles += (steps - 1) * again / _rate(again, rates)
    return cycles


def _rates(core: Core, threads: int) -> Rates:
    """Of each thread, while all read."""
    far = core.l3_bytes_per_cycle, core.memory_bytes_per_cycle
    if threads > 1:
        far = core.contended_l3_bytes_per_cycle, core.contended_memory_bytes_per_cycle
    near = core.sustained_l2_bytes_per_cycle
    return tuple(zip((core.l2_bytes, core.l3_share, inf), (near, *far), strict=True))


def _rate(size: float, rates: Rates) -> float:
    """The bytes a cycle from the smallest cache that holds so many."""
    return next(rate for limit, rate in rates if size <= limit)


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, glow.ConstantOp)


def _bytes(value: SSAValue) -> float:
    return prod(shape_of(value)) * _item_bytes(value)


def _item_bytes(value: SSAValue) -> int:
    kind = cast("TensorType[Attribute]", value.type)
    stored = stored_type(kind) if is_quantized(kind) else kind
    return dtype_of(stored.element_type).itemsize
