"""Which instructions of networks have kernels for many threads."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation

from glow.backends.cuda.kernels.contraction_spec import GpuTile
from glow.backends.cuda.kernels.elementwise import StridedOperand
from glow.backends.cuda.kernels.gpu_builder import MOST_BLOCKS
from glow.backends.cuda.product import Product
from glow.backends.cuda.selection import THEME_OF, key_of
from glow.backends.cuda.selection.movement import transposed_matrices
from glow.backends.cuda.tiling import tile_cost
from glow.dialects.instr import find_instruction
from glow.lowering.target.gpu_machine import GPU_MACHINES


@pytest.mark.parametrize("key", THEME_OF, ids=lambda key: key.name)
def test_a_row_is_found_by_the_instruction(key: type[Operation]) -> None:
    """A row under another key would never be asked."""
    instruction = find_instruction(key) or key
    assert key_of(instruction) is key


@pytest.mark.parametrize("batch", [MOST_BLOCKS, MOST_BLOCKS + 1])
def test_a_grid_has_at_most_so_many_matrices(batch: int) -> None:
    """Drivers refuse more along the third axis; work on elements has one axis."""
    operand = StridedOperand(batch * 64, (64, 1, 8))
    found = transposed_matrices((batch, 8, 8), operand, f32)
    assert (found is None) == (batch > MOST_BLOCKS)


def test_tiles_of_a_tall_product_are_no_more_than_a_grid_has() -> None:
    product, machine = Product(1, 16 * MOST_BLOCKS + 1, 8, 8), GPU_MACHINES["sm_80"]
    assert tile_cost(product, GpuTile(16, 32, 16, (2, 1)), machine) is None
