"""Convolutions by matrix tiles (AMX) against NumPy, bit for bit, where the CPU has them."""

import pytest
from support.kernels.int8_cases import CASES, SAME, Case, check_convolution
from support.kernels.kernel_testing import run_kernel

from glow.backends.cpu.kernels.convolution.int8_conv2d_spec import Int8Conv2dSpec
from glow.backends.cpu.kernels.convolution.matrix_conv_plan import MatrixConvPlan
from glow.lowering.loop_builder.window import Window
from glow.lowering.target.target import host_target

MORE = {
    "one pixel": Case((64, 48), Window((1, 1), (1, 1))),
    "pieces of a row": Case((64, 16), Window((40, 61), (1, 1))),
    "single taps, strided": Case((48, 33), Window((9, 12), (1, 1), (2, 2)), batch=2),
    "bands of rows": Case((256, 16), Window((28, 28), (3, 3), pads=SAME), zero_point=3),
    "uneven pads": Case(
        (32, 40), Window((9, 20), (3, 3), (2, 2), pads=(0, 0, 1, 1)), zero_point=200
    ),
    "seven by seven": Case(
        (3, 64),
        Window((30, 30), (7, 7), (2, 2), pads=(3, 3, 3, 3)),
        zero_point=114,
        block_lanes=4,
    ),
    "dilated": Case((80, 20), Window((11, 13), (3, 3), (1, 1), (2, 3), (2, 3, 2, 3))),
}
ALL = {name: case for name, case in (CASES | MORE).items() if case.groups == 1}


@pytest.mark.skipif(not host_target().has_int8_tiles, reason="no tiles of bytes")
@pytest.mark.parametrize("name", ALL)
def test_convolutions_are_exact(name: str) -> None:
    check_convolution(ALL[name], host_target(), run_kernel, form="matrix")


def test_tiles_of_a_first_layer_take_a_row_of_taps() -> None:
    window = Window((224, 224), (7, 7), (2, 2), pads=(3, 3, 3, 3))
    plan = MatrixConvPlan(Int8Conv2dSpec(1, 3, 64, window, block_lanes=4), 14)
    assert (plan.depth, plan.taps, plan.words) == (4, 7, 7)
