"""The kernels of a product: tiles, for few rows a warp some columns, or parts of the depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from glow.backends.cpu.program.program import Invocation, Scratch
from glow.backends.cuda.depth_tiling import choose_parts
from glow.backends.cuda.kernels.contraction import build_contraction
from glow.backends.cuda.kernels.contraction_spec import ContractionSpec, GpuTile
from glow.backends.cuda.kernels.depth_parts import (
    PartSumsSpec,
    build_part_sums,
    part_product,
)
from glow.backends.cuda.kernels.skinny import build_skinny
from glow.backends.cuda.product import product_of
from glow.backends.cuda.selection.choice import Choice
from glow.backends.cuda.selection.common import Buffer, launch
from glow.backends.cuda.skinny_tiling import choose_skinny
from glow.backends.cuda.tiling import choose_tile

SMALLEST = GpuTile(16, 16, 16, (1, 1))
"""Before one is chosen."""


def launch_product(
    spec: ContractionSpec, choice: Choice, buffers: Sequence[SSAValue]
) -> Sequence[Invocation]:
    """The kernels that are fastest, whatever the tile of the spec is."""
    spec = replace(spec, tile=choose_tile(product_of(spec), choice.machine))
    skinny = choose_skinny(spec, choice.machine)
    if skinny is not None:
        return launch("skinny", skinny, build_skinny, buffers)
    sums = choose_parts(spec, choice.machine)
    if sums is not None:
        return launch_parts(spec, sums, choice, buffers)
    return launch("contraction", spec, build_contraction, buffers)


def launch_parts(
    spec: ContractionSpec, sums: PartSumsSpec, choice: Choice, buffers: Sequence[Buffer]
) -> Sequence[Invocation]:
    """The product of all parts of the depth, and their sums."""
    taken = 3 + (spec.points is not None)
    result, factors, operands = buffers[0], buffers[1:taken], buffers[taken:]
    scratch = Scratch(sums.sums_bytes)
    product = part_product(spec, sums.parts)
    product = replace(product, tile=choose_tile(product_of(product), choice.machine))
    return [
        *launch("contraction", product, build_contraction, [scratch, *factors]),
        *launch("part_sums", sums, build_part_sums, [result, scratch, *operands]),
    ]
