"""Random products for warpgroups: the kernel of each, its arguments, the interpreter's result."""

from __future__ import annotations

import numpy as np
from support.gpu.contraction_cases import (
    FINISHES,
    FORMATS,
    Case,
    epilogue_of,
    factor_values,
    operands_of,
)

from glow.backends.cuda.kernels.contraction_spec import (
    ContractionSpec,
    MatrixFactor,
    MatrixResult,
    WarpgroupTile,
)
from glow.lowering.loop_builder import ir_types as types


def warpgroup_tile(groups: int, columns: int, stages: int, size: int) -> WarpgroupTile:
    """A tile whose rows of the depth have 128 bytes."""
    return WarpgroupTile(64 * groups, columns, 128 // size, (4 * groups, 1), stages)


def warpgroup_case(
    number: int,
    sizes: tuple[int, int, int, int],
    tile: tuple[int, int, int],
    finish_name: str = "none",
    is_shared: bool = False,
) -> Case:
    """A product of sizes batch, m, n, k in the format of a number: one TF32, f16 or bf16.

    `tile`: warpgroups, columns, stages. Rows of the depth are filled up to 16 bytes.
    """
    random = np.random.default_rng(number)
    element, precision, tolerance = FORMATS[2 + number % 3]
    batch, m, n, k = sizes
    size = types.byte_width(element)
    k = -(-k * size // 16) * 16 // size
    a = MatrixFactor(batch, m, k, True, element)
    b = MatrixFactor(batch, n, k, True, element, is_shared)
    finish = FINISHES[finish_name]
    spec = ContractionSpec(
        batch, m, n, k, a, b, MatrixResult(batch, m, n), warpgroup_tile(*tile, size),
        precision, epilogue_of(finish),
    )  # fmt: skip
    inputs = [
        factor_values(random, (batch, m, k), element),
        factor_values(random, (1 if is_shared else batch, k, n), element),
    ]
    node = f"glow.matmul %0, %1 : tensor<{batch}x{m}x{n}xf32>"
    operands = operands_of(random, spec)
    if finish_name == "half":
        tolerance = 1e-3  # Sums in another order round to another number.
    return Case(spec, node, inputs, operands, finish, tolerance, (False, True))


def random_warpgroup_case(number: int) -> Case:
    """The product of a number: each format and each epilogue, tails in m, n and k."""
    random = np.random.default_rng(number)
    groups, eights = int(random.integers(1, 3)), int(random.integers(1, 9))
    batch, m, n, k = (int(x) for x in random.integers(1, (3, 150, 80, 330)))
    names = list(FINISHES)
    tile = (groups, 8 * eights, int(random.integers(2, 5)))
    finish = names[number % len(names)]
    return warpgroup_case(number, (batch, m, n, k), tile, finish, number % 4 == 3)
