"""Which packer a module has, and how many channels its blocks hold."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.layout.packing import TargetPacker
from glow.dialects import glow
from glow.dialects.half import is_half
from glow.dialects.node import element_of
from glow.lowering.target.gpu_machine import GPU_MACHINES
from glow.lowering.target.target import Target
from glow.passes.rewriting.operations import all_operations

BYTE_PRODUCTS = (
    glow.Conv2dIntegerOp,
    cpu.Int8Conv2dOp,
    cpu.Int8DepthwiseConv2dOp,
)
"""Nodes on blocks of bytes."""


def packer_of(
    module: ModuleOp, target: Target, numerics: str = "default", shares: bool = False
) -> TargetPacker:
    """The packer for a module and a target.

    On a GPU with kernels for many threads blocks have as many bytes as a copy of a thread, of
    the narrowest products. Else they hold whole the bytes that are multiplied at once, also
    where a vector has fewer lanes.
    """
    if target.cpu in GPU_MACHINES:
        from glow.backends.cpu.layout.row_packing import ROW_BYTES, RowPacker

        size = min(map(_bytes_of_products, all_operations(module)), default=4)
        return RowPacker(target, "exact", ROW_BYTES // size, shares)
    lanes, whole = target.lanes(32), target.dot_bytes
    if lanes < whole and any(
        isinstance(op, BYTE_PRODUCTS) for op in all_operations(module)
    ):
        lanes = whole
    return TargetPacker(target, numerics, lanes, shares)


def _bytes_of_products(op: Operation) -> int:
    """The bytes of an element of an image that is multiplied; those of f32 for other nodes."""
    if isinstance(op, BYTE_PRODUCTS):
        return 1
    is_image = op.name.rpartition(".")[2] == "conv2d" and op.operands
    return 2 if is_image and any(is_half(element_of(x)) for x in op.operands) else 4
