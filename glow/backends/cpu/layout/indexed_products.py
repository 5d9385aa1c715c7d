"""Products of rows with matrices that a gather picks for them: `cpu.indexed_matmul`.

    %m = glow.gather %w, %i : tensor<256x2752x512xf32>
    %y = glow.matmul %m, %x : tensor<256x2752x1xf32>
  becomes
    %r = glow.reshape %x : tensor<256x512xf32>
    %0 = cpu.indexed_matmul %r, %w.panels, %i columns 2752 : tensor<256x2752xf32>
    %y = glow.reshape %0 : tensor<256x2752x1xf32>

A gather copies a matrix for each row, which takes longer than to multiply it. Matrices of a few
bits (`glow.block_dequantize`) stay so: `cpu.indexed_block_matmul`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.layout.layout import Layout, constant_key, is_f32
from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of, tensor_type
from glow.dialects.weight_table import Array, DeferredArray
from glow.dialects.weights import constant_value
from glow.passes.rewriting.node_builder import NodeBuilder, name_of

if TYPE_CHECKING:
    from glow.backends.cpu.kernels.matmul.block_quantized_weights import BlockWeights

MATRICES_RANK = 3
"""That of the matrices that are picked from."""


@dataclass(frozen=True)
class _Picked:
    """Matrices that are picked for rows: from the left, a row times its matrix."""

    gather: glow.GatherOp
    rows: SSAValue
    turned: bool
    """Whether the rows multiply the transposes of the matrices."""
    depth_axis: int
    """The axis of a row's elements, from the end of its tensor."""

    @property
    def batch(self) -> tuple[int, ...]:
        """How matrices were picked."""
        return shape_of(self.gather.indices)

    @property
    def depth(self) -> int:
        """The elements of a row."""
        return shape_of(self.rows)[self.depth_axis]

    def matrices(self) -> Array | None:
        """[E, K, N], if they are constant."""
        array = constant_value(self.gather.input)
        if array is None or array.ndim != MATRICES_RANK or not array.size:
            return None
        return np.swapaxes(array, 1, 2) if self.turned else array

    def block_weights(self) -> BlockWeights | None:
        """Codes [K, E, N] of a few bits and what is with them, if the matrices have such."""
        weights = self.gather.input.owner
        if not isinstance(weights, glow.BlockDequantizeOp):
            return None
        from glow.backends.cpu.quantized.block_weights import weights_of_matrices

        return weights_of_matrices(weights, 2 if self.turned else 1)

    def fits(self, op: glow.MatmulOp) -> bool:
        """Whether the product has one row for each index."""
        is_row = prod(shape_of(self.rows)[-2:]) == self.depth
        batches = shape_of(op.result)[:-2] == self.batch
        first_axis = self.gather.axis.value.data == 0
        return is_row and batches and first_axis and prod(self.batch) > 0


def _picked(op: glow.MatmulOp) -> Iterator[_Picked]:
    """The products that a node may be, of rows and of matrices that were picked for them."""
    turned_lhs, turned_rhs = op.transpose_lhs is not None, op.transpose_rhs is not None
    if isinstance(op.rhs.owner, glow.GatherOp):
        yield _Picked(op.rhs.owner, op.lhs, turned_rhs, -1 - turned_lhs)
    if isinstance(op.lhs.owner, glow.GatherOp):
        yield _Picked(op.lhs.owner, op.rhs, not turned_lhs, -2 + turned_rhs)


def indexed_matmul(layout: Layout, op: glow.MatmulOp) -> bool:
    """Replace a product of rows and constant matrices that were picked for them, if it is one."""
    if op.predicate is not None or not is_f32(op.lhs, op.rhs, op.result):
        return False
    for picked in _picked(op):
        panels = _panels(layout, op, picked) if picked.fits(op) else None
        if panels is not None:
            _replace(op, picked, panels)
            return True
    return False


@dataclass(frozen=True)
class _Panels:
    """The matrices as a kernel reads them."""

    node: type[NodeOp]
    value: SSAValue
    attributes: Mapping[str, int]
    """Those of the node."""


def _panels(layout: Layout, op: glow.MatmulOp, picked: _Picked) -> _Panels | None:
    """The matrices as panels of floats, or of a few bits; None where there is no kernel."""
    held, rows = picked.block_weights(), prod(picked.batch)
    if held is None:
        return _float_panels(layout, op, picked)
    found = layout.packer.block_panels(held, rows)
    if found is None:
        return None
    weights, (width, words) = picked.gather.input.owner, found
    assert isinstance(weights, glow.BlockDequantizeOp)
    key = ("panels", held.format, picked.turned, width)
    value = layout.constant(
        op,
        (*key, *map(constant_key, weights.inputs)),
        f"{name_of(weights.codes)}.panels",
        lambda: words,
    )
    columns = {"columns": held.codes.shape[2]}
    attributes = {**columns, **held.format.attributes}
    return _Panels(cpu.IndexedBlockMatmulOp, value, attributes)


def _replace(op: glow.MatmulOp, picked: _Picked, panels: _Panels) -> None:
    """Multiply panels."""
    builder, rows, indices = NodeBuilder(op), picked.rows, picked.gather.indices
    batch, count = picked.batch, prod(picked.batch)
    sizes = shape_of(rows)
    if sizes[:-2] != batch:
        repeated = tensor_type((*batch, *sizes[-2:]), f32)
        rows = builder.create(glow.BroadcastOp, [rows], {}, types=[repeated])
    inputs = [
        builder.reshape(rows, (count, picked.depth)),
        panels.value,
        builder.reshape(indices, (count,)),
    ]
    product = builder.create(panels.node, inputs, panels.attributes)
    builder.replace(builder.reshape(product, shape_of(op.result)))


def _float_panels(layout: Layout, op: glow.MatmulOp, picked: _Picked) -> _Panels | None:
    """The matrices in panels, a constant that other products may read too."""
    source, matrices = picked.gather.input, picked.matrices()
    if matrices is None:
        return None
    width = layout.packer.panel_width(matrices, prod(picked.batch))
    if not width:
        return None
    count, depth, columns = matrices.shape
    shape = (count, -(-columns // width), depth, width)
    write = partial(pack_panels, matrices)
    value = layout.constant(
        op,
        ("panels", constant_key(source), picked.turned, width),
        f"{name_of(source)}.panels",
        lambda: DeferredArray(shape, matrices.dtype, write, matrices),
    )
    return _Panels(cpu.IndexedMatmulOp, value, {"columns": columns})


def pack_panels(matrices: Array, out: Array) -> None:
    """Copy [E, K, N] into [E, panels, K, width], zeros behind the last column."""
    columns, width = matrices.shape[2], out.shape[3]
    for panel in range(out.shape[1]):
        first = panel * width
        part = min(width, columns - first)
        out[:, panel, :, :part] = matrices[:, :, first : first + part]
        out[:, panel, :, part:] = 0
