"""Assigns the CPU's layouts: blocks for convolutions, packed weights everywhere.

One forward sweep. Convolutions and products with constant weights become nodes of the
`cpu` dialect with weights packed now; nodes between them go on in blocks, and
`cpu.pack`/`cpu.unpack` remain only where a plain reader or writer is.

    %0 = glow.conv2d %x, %w, %b pads [1, 1, 1, 1] : tensor<1x64x56x56xf32>
    %1 = glow.max_pool2d %0 kernel [2, 2] strides [2, 2] : tensor<1x64x28x28xf32>
  becomes
    %p = cpu.pack %x lanes 16 : tensor<1x4x56x56x16xf32>
    %0 = cpu.conv2d %p, %w.packed, %b.packed input_channels 64 output_channels 64
        kernel [3, 3] pads [1, 1, 1, 1] : tensor<1x4x56x56x16xf32>
    %2 = glow.max_pool2d %0 kernel [2, 2] strides [2, 2] : tensor<1x4x28x28x16xf32>
    %1 = cpu.unpack %2 channels 64 : tensor<1x64x28x28xf32>
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from glow.backends.cpu.layout import (
    convolution,
    image_norm,
    products,
    recurrent,
    rows,
)
from glow.backends.cpu.layout.choose_packer import packer_of
from glow.backends.cpu.layout.conv_shape import WinogradChoice
from glow.backends.cpu.layout.layout import Layout
from glow.backends.cpu.layout.packer import Packer
from glow.backends.cpu.layout.propagation import propagate
from glow.backends.cpu.layout.winograd.budget import (
    USUAL_GROWTH,
    Convolution,
    WeightGrowth,
    choose_winograd,
)
from glow.dialects import glow
from glow.dialects.numerics import (
    FREE_BYTES,
    WEIGHT_GROWTH,
    check_numerics,
    check_weight_growth,
)
from glow.lowering.lower_nodes import transposed_convolution
from glow.lowering.target.gpu_machine import GPU_MACHINES
from glow.lowering.target.program_target import settle_target
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.node_builder import erase_dead_nodes
from glow.passes.rewriting.operations import all_operations
from glow.tuning import choices

OperationType = TypeVar("OperationType", bound=Operation)

Conversion = Callable[[Layout, Operation], None]

LAYOUTS = "glow.backends.cpu.layout"


def conv_transpose(layout: Layout, op: Operation) -> None:
    """A transposed convolution with computed weights, or what it is lowered to."""
    from glow.backends.cpu.layout.conv_transpose import turned_convolution, turned_shape

    assert isinstance(op, glow.ConvTranspose2dOp)
    shape = turned_shape(op, layout.lanes)
    if shape is not None:
        turned_convolution(layout, op, shape)
        return
    _convert_lowered(layout, op, transposed_convolution.conv_transpose)


def layer_norm(layout: Layout, op: Operation) -> None:
    """A normalization of rows, of groups in blocks, or what that of pixels there is lowered to."""
    assert isinstance(op, glow.LayerNormOp)
    if image_norm.normalize_groups(op):
        return
    if not image_norm.is_of_pixels(op, layout.lanes):
        rows.layer_norm(layout, op)
        return
    _convert_lowered(layout, op, image_norm.normalize_pixels)


def _loaded_for(module: str, function: str) -> Conversion:
    """A conversion that networks with the node load."""

    def convert(layout: Layout, op: Operation) -> None:
        getattr(import_module(f"{LAYOUTS}.{module}"), function)(layout, op)

    return convert


def _convert_lowered(
    layout: Layout, op: OperationType, lower: Callable[[OperationType], None]
) -> None:
    """Lower a node, and convert the nodes that it becomes."""
    block, before = op.parent, op.prev_op
    last = op.next_op
    assert block is not None
    lower(op)
    lowered = block.first_op if before is None else before.next_op
    while lowered is not None and lowered is not last:
        following = lowered.next_op
        CONVERSIONS.get(type(lowered), propagate)(layout, lowered)
        lowered = following


CONVERSIONS: dict[type[Operation], Conversion] = {
    glow.Conv2dOp: convolution.conv2d,
    glow.ConvTranspose2dOp: conv_transpose,
    glow.FullyConnectedOp: products.fully_connected,
    glow.MatmulOp: products.matmul,
    **dict.fromkeys((glow.LstmOp, glow.GruOp, glow.RnnOp), recurrent.recurrent),
    glow.Conv2dIntegerOp: _loaded_for("integers.products", "conv2d_integer"),
    glow.MatmulIntegerOp: _loaded_for("integers.products", "matmul_integer"),
    glow.AvgPool2dOp: _loaded_for("integers.pools", "average_pool"),
    glow.SoftmaxOp: rows.softmax,
    glow.LayerNormOp: layer_norm,
}
"""Nodes that become `cpu` nodes; all others are asked whether blocks suit them."""


def _groups_as_floats(module: ModuleOp, packer: Packer) -> None:
    """Loaded by networks with convolutions of bytes."""
    if any(isinstance(op, glow.Conv2dIntegerOp) for op in all_operations(module)):
        from glow.backends.cpu.layout.integers.float_groups import groups_as_floats

        groups_as_floats(module, packer)


def _few_multiplications(
    module: ModuleOp, packer: Packer, growth: WeightGrowth
) -> Mapping[Operation, WinogradChoice]:
    """The convolutions that take few multiplications, strided ones made so that they do."""
    if not any(isinstance(op, Convolution) for op in all_operations(module)):
        return {}
    # Loaded by networks with convolutions.
    from glow.backends.cpu.layout.winograd.space_to_depth import (
        slice_inputs,
        space_to_depth,
    )

    slice_inputs(module, packer)
    squares = space_to_depth(module, packer, growth)
    return choose_winograd(module, packer, growth, squares)


def _other_block_weights(module: ModuleOp) -> None:
    """Weights of a few bits that no product reads; their lowering is loaded where there are any."""
    if any(isinstance(op, glow.BlockDequantizeOp) for op in all_operations(module)):
        from glow.lowering.lower_quantized.block_weights import weights_as_floats

        weights_as_floats(module)


def assign_layout(
    module: ModuleOp,
    packer: Packer,
    numerics: str = "default",
    growth: WeightGrowth = USUAL_GROWTH,
) -> None:
    """Convert the module's nodes in program order."""
    layout = Layout(module, packer, check_numerics(numerics))
    _groups_as_floats(module, packer)
    if numerics != "exact":
        layout.winograd = _few_multiplications(module, packer, growth)
    for op in all_operations(module):
        if op.parent is not None:
            CONVERSIONS.get(type(op), propagate)(layout, op)
    erase_dead_nodes(module)
    _other_block_weights(module)


@dataclass(frozen=True)
class AssignLayoutPass(ModulePass):
    """Assign the CPU's layouts for a target (host, avx512, avx2, neon, scalar)
    and numerics (exact, default, fast). Transformed weights may take `weight_growth`
    times the bytes of all weights in addition, and `free_bytes` anyway. With `shares`,
    weights have an order that programs of the same network for other sizes are likely to have.
    """

    name = "assign-layout"
    preserves = VALUES

    target: str = "host"
    numerics: str = "default"
    weight_growth: float = WEIGHT_GROWTH
    shares: bool = False
    free_bytes: int = FREE_BYTES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        check_weight_growth(self.weight_growth)
        target = settle_target(op, self.target)
        choices.refresh()
        # Other algorithms take more code, weights and memory than direct sums; GPUs have no
        # kernels of them.
        is_direct = target.for_size or target.cpu in GPU_MACHINES
        numerics = "exact" if is_direct else self.numerics
        packer = packer_of(op, target, numerics, self.shares)
        growth = WeightGrowth(self.weight_growth, self.free_bytes)
        assign_layout(op, packer, numerics, growth)
