"""The kernel of a product: tiles, or for few rows a warp some columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from glow.backends.cpu.program.program import Invocation
from glow.backends.cuda.kernels.contraction import build_contraction
from glow.backends.cuda.kernels.contraction_spec import ContractionSpec, GpuTile
from glow.backends.cuda.kernels.skinny import build_skinny
from glow.backends.cuda.product import product_of
from glow.backends.cuda.selection.choice import Choice
from glow.backends.cuda.selection.common import launch
from glow.backends.cuda.skinny_tiling import choose_skinny
from glow.backends.cuda.tiling import choose_tile

SMALLEST = GpuTile(16, 16, 16, (1, 1))
"""Before one is chosen."""


def launch_product(
    spec: ContractionSpec, choice: Choice, buffers: Sequence[SSAValue]
) -> Sequence[Invocation]:
    """The kernel that is faster, whatever the tile of the spec is."""
    spec = replace(spec, tile=choose_tile(product_of(spec), choice.machine))
    skinny = choose_skinny(spec, choice.machine)
    if skinny is not None:
        return launch("skinny", skinny, build_skinny, buffers)
    return launch("contraction", spec, build_contraction, buffers)
