"""How the reference packs the weights that a node names: as its configuration says."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import prod

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.dialect.config import (
    ConvConfig,
    MatmulConfig,
    RecurrenceConfig,
    StrassenConfig,
    WinogradConfig,
)
from glow.backends.cpu.dialect.config_attributes import config_of
from glow.backends.cpu.kernels.int8_winograd.spec import KERNEL
from glow.backends.cpu.layout.choose_packer import packer_of
from glow.backends.cpu.layout.conv_shape import (
    conv_shape_of,
    winograd_kernel,
    winograd_shape_of,
)
from glow.backends.cpu.layout.packer import Packer
from glow.backends.cpu.reference.nodes import Packing, Unpacking
from glow.dialects.attributes import Attributes
from glow.dialects.weight_table import Array
from glow.lowering.target.program_target import machine_of


def packings(module: ModuleOp) -> dict[type[Operation], Packing | Unpacking]:
    """How the weights of a module's nodes were packed, if it says for which target."""
    target = machine_of(module)
    return {} if target is None else packings_of(packer_of(module, target))


def packings_of(packer: Packer) -> dict[type[Operation], Packing | Unpacking]:
    """How the nodes' weights were packed."""

    def conv2d(attributes: Attributes, image: Array, weights: Array) -> Array:
        shape = conv_shape_of(attributes, image.shape)
        config = config_of(attributes, ConvConfig)
        return packer.conv2d(weights, shape, config).array()

    def matmul(attributes: Attributes, lhs: Array, weights: Array) -> Array:
        config = config_of(attributes, MatmulConfig)
        rows, wide = prod(lhs.shape[:-1]), lhs.dtype == np.int16
        return packer.matmul(weights, rows, config, wide=wide).array()

    def strassen(attributes: Attributes, sums: Array, factors: Array) -> Array:
        rows = prod(attributes.ints("outer"))
        config = config_of(attributes, StrassenConfig)
        return packer.strassen_factors(factors, rows, config).array()

    def winograd(attributes: Attributes, image: Array, packed: Array) -> Array:
        shape = winograd_shape_of(attributes, image.shape, winograd_kernel(attributes))
        config = config_of(attributes, WinogradConfig)
        return packer.plain_of_winograd(packed, shape, attributes.int("tile"), config)

    def int8_winograd(attributes: Attributes, image: Array, packed: Array) -> Array:
        shape = winograd_shape_of(attributes, image.shape, (KERNEL, KERNEL))
        tile, config = attributes.int("tile"), config_of(attributes, WinogradConfig)
        return packer.plain_of_int8_winograd(packed, shape, tile, config)

    def int8_conv2d(attributes: Attributes, image: Array, weights: Array) -> Array:
        shape = conv_shape_of(attributes, image.shape)
        shape = replace(shape, wide_input=image.dtype == np.int16)
        config = config_of(attributes, ConvConfig)
        return packer.int8_conv2d(weights, shape, image.shape[-1], config).array()

    def recurrence(attributes: Attributes, entering: Array, weights: Array) -> Array:
        rows, gates = entering.shape[1], attributes.int("gates")
        config = config_of(attributes, RecurrenceConfig)
        return packer.recurrence(weights, rows, gates, config).array()

    return {
        cpu.RecurrenceOp: recurrence,
        cpu.Int8Conv2dOp: int8_conv2d,
        cpu.Int8MatmulOp: matmul,
        cpu.Conv2dOp: conv2d,
        cpu.MatmulOp: matmul,
        cpu.BlockQuantizedMatmulOp: partial(_block_quantized, packer),
        cpu.Int8BlockQuantizedMatmulOp: partial(_block_quantized, packer),
        cpu.IndexedBlockMatmulOp: partial(_indexed_blocks, packer),
        cpu.StrassenMatmulOp: strassen,
        cpu.WinogradConv2dOp: winograd,
        cpu.Int8WinogradConv2dOp: int8_winograd,
    }


def _indexed_blocks(
    packer: Packer, attributes: Attributes, rows: Array, matrix: Array
) -> Array:
    """[K, panels * width] of floats, of a matrix [panels, K / size, record, width]."""
    from glow.backends.cpu.kernels.matmul import block_quantized_spec as kernel

    (panels, *_, width), depth = matrix.shape, rows.shape[-1]
    form = kernel.BlockFormat.of(attributes)
    config = MatmulConfig(1, width // packer.lanes)
    spec = kernel.BlockQuantizedSpec(1, panels * width, depth, form, config=config)
    plain = packer.plain_of_block_quantized(matrix.reshape(-1), spec)
    found = plain.astype(np.float32)
    return found[:depth] * np.repeat(found[depth:], form.size, 0)[:depth]


def _block_quantized(
    packer: Packer, attributes: Attributes, lhs: Array, packed: Array
) -> Array:
    """Codes less zero points, and scales, with the columns that fill the last register."""
    from glow.backends.cpu.kernels.matmul import block_quantized_spec as kernel

    *outer, depth = lhs.shape
    form = kernel.BlockFormat.of(attributes)
    columns = packed.size // (-(-depth // form.size) * form.record)
    spec = kernel.BlockQuantizedSpec(
        prod(outer),
        columns,
        depth,
        form,
        int8_rows=lhs.dtype == np.int8,
        config=config_of(attributes, MatmulConfig),
    )
    return packer.plain_of_block_quantized(packed, spec)
