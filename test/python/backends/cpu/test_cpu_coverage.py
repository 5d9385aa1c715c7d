"""No instruction without a kernel: each has a selector, or its node is lowered before."""

from __future__ import annotations

import numpy as np
import pytest
from support.nodes.differential import assert_all_close, example, random_array

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.passes.absorb_transposes import ABSORPTIONS
from glow.backends.cpu.selection import SELECTORS
from glow.compiler import compile
from glow.dialects import glow, instr
from glow.dialects.node import NodeOp
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.lowering.glow_to_instr import HANDLERS
from glow.lowering.lower_nodes.lower_nodes import LOWERINGS
from glow.universe import new_context


@pytest.mark.parametrize(
    "node",
    [n for n in (*glow.NODES, *cpu.NODES) if instr.find_instruction(n)],
    ids=lambda node: node.name,
)
def test_every_node_has_a_kernel(node: type[NodeOp]) -> None:
    """The node is lowered, is a view or a copy, or has a kernel."""
    replaced = (*LOWERINGS, *HANDLERS, glow.AttentionOp)
    assert glow.AttentionOp in ABSORPTIONS  # whatever is around it
    assert node in replaced or instr.instruction_of(node) in SELECTORS


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_batch_norm_with_parameters_of_another_type(dtype: str) -> None:
    """ONNX lets scale, bias, mean and variance have types of their own."""
    other = np.float16 if dtype == "float32" else np.float32
    parameters = [np.abs(random_array((3,), other, seed)) for seed in range(4)]
    image = random_array((2, 3, 4), np.dtype(dtype))
    found = example(glow.BatchNormOp, image, *parameters)
    expected = run(found.module(), found.inputs)
    result = compile(found.module(), threads=1)(*found.inputs)
    assert isinstance(result, np.ndarray)
    assert_all_close([result], expected, 1e-2 if dtype == "float16" else 1e-5)


@pytest.mark.parametrize("shape", [(64,), (1,)])
def test_zeros_of_different_sign(shape: tuple[int, ...]) -> None:
    """Neither attributes nor what is kept of them may take one zero for the other."""
    module = parse_text(
        new_context(), ZEROS.replace("SHAPE", "x".join(map(str, shape))), "zeros"
    )
    x = np.ones(shape, np.float32)
    for one, other in zip(compile(module, threads=1)(x), run(module, [x]), strict=True):
        np.testing.assert_array_equal(one, other)


ZEROS = """
func.func @main(%x: tensor<SHAPExf32>) -> (tensor<SHAPExf32>, tensor<SHAPExf32>) {
  %zero = glow.splat 0.0 : tensor<f32>
  %negative = glow.splat -0.0 : tensor<f32>
  %0 = glow.div %x, %zero : tensor<SHAPExf32>
  %1 = glow.div %x, %negative : tensor<SHAPExf32>
  func.return %0, %1 : tensor<SHAPExf32>, tensor<SHAPExf32>
}
"""
