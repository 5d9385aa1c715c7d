"""No instruction without a kernel: each has a selector, or its node is lowered before."""

from __future__ import annotations

import numpy as np
import pytest
from differential import assert_all_close, example, random_array

from glow.compiler import compile
from glow.dialects import glow, instr
from glow.dialects.node import NodeOp
from glow.interpreter import run
from glow.lowering.glow_to_instr import HANDLERS
from glow.lowering.instr_to_loops.selection import SELECTORS
from glow.lowering.lower_nodes.keeps import CpuNodes


@pytest.mark.parametrize("node", instr.INSTRUCTION_OF, ids=lambda node: node.name)
def test_every_node_has_a_kernel(node: type[NodeOp]) -> None:
    """The node is lowered, is a view or a copy, or has a kernel."""
    lowered = node in CpuNodes.LOWERED or node in HANDLERS
    assert lowered or instr.INSTRUCTION_OF[node] in SELECTORS


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
