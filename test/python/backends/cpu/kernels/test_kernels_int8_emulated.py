"""Integer kernels of other machines, emulated, against NumPy, bit for bit."""

import pytest
from emulated_kernels import run_emulated
from int8_cases import CASES, DEPTHWISE, check_convolution, check_depthwise

from glow.backends.cpu.layout.packing import TargetPacker
from glow.lowering.target.target import Target

TARGETS = ("neon", "neon-dotprod", "cortex-m4", "cortex-m3")


@pytest.mark.parametrize("case", sorted(CASES))
@pytest.mark.parametrize("name", TARGETS)
def test_convolution_is_exact(name: str, case: str) -> None:
    target = Target.from_string(name)
    signed = TargetPacker(target).reads_signed_bytes
    check_convolution(CASES[case], target, run_emulated, signed=signed)


@pytest.mark.parametrize("case", sorted(DEPTHWISE))
@pytest.mark.parametrize("name", TARGETS)
def test_depthwise_convolution_is_exact(name: str, case: str) -> None:
    check_depthwise(DEPTHWISE[case], Target.from_string(name), run_emulated)
