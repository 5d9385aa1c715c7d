"""No instruction without a kernel: each has a selector, or its node is lowered before."""

from __future__ import annotations

import pytest

from glow.dialects import instr
from glow.dialects.node import NodeOp
from glow.lowering.glow_to_instr import HANDLERS
from glow.lowering.instr_to_loops.selection import SELECTORS
from glow.lowering.lower_nodes.keeps import CpuNodes

QUANTIZED = {
    "glow.rescale",
    "glow.lookup_table",
    "glow.dynamic_matmul",
    "glow.dynamic_quantize",
    "glow.matmul_integer",
    "glow.conv2d_integer",
}
"""Nodes of quantized networks, for which the CPU has no kernels yet."""


@pytest.mark.parametrize("node", instr.INSTRUCTION_OF, ids=lambda node: node.name)
def test_every_node_has_a_kernel(node: type[NodeOp]) -> None:
    """The node is lowered, is a view or a copy, or has a kernel."""
    if node.name in QUANTIZED:
        pytest.skip("no kernel yet")
    lowered = node in CpuNodes.LOWERED or node in HANDLERS
    assert lowered or instr.INSTRUCTION_OF[node] in SELECTORS
