"""Kernels take 16 bytes at once where buffers begin at a multiple of 16, and nowhere else.

An address that is not aligned ends the context of a GPU; the simulator's arrays have no addresses.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.gpu.simulated_networks import compare
from xdsl.dialects.builtin import f32

from glow.backends.cuda.kernels.elementwise import (
    ElementwiseSpec,
    StridedOperand,
    build_elementwise,
)
from glow.backends.cuda.ptx import gpu_kernels_ptx
from glow.compiler import load, lower
from glow.dialects import instr
from glow.lowering.loop_builder.scalar_region import ScalarRegion
from glow.lowering.target.target import Target
from glow.options import CompileOptions
from glow.passes.instr.align_buffers import is_aligned

OPTIONS = {"target": "sm_80"}
WEIGHTS = ", ".join([str([0.5] * 8)] * 8)
GRAPH = f"""
func.func @main(%v: tensor<1x11xf32>, %x: tensor<1x8xf32>)
    -> (tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x11xf32>) {{
  %w = glow.constant dense<[{WEIGHTS}]> : tensor<8x8xf32>
  %e = glow.exp %v : tensor<1x11xf32>
  %part = glow.slice %e starts [0, 3] sizes [1, 8] steps [1, 1] : tensor<1x8xf32>
  %y = glow.matmul %part, %w : tensor<1x8xf32>
  %z = glow.softmax %part axis 1 : tensor<1x8xf32>
  %head = glow.slice %v starts [0, 0] sizes [1, 3] steps [1, 1] : tensor<1x3xf32>
  %s = glow.softmax %x axis 1 : tensor<1x8xf32>
  %c = glow.concat %head, %s axis 1 : tensor<1x11xf32>
  func.return %y, %z, %c : tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x11xf32>
}}
"""


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """Parts from 12 bytes on that are multiplied, normed, and joined."""
    path = tmp_path / "parts.mlir"
    path.write_text(GRAPH)
    return path


def test_only_work_on_elements_has_buffers_that_are_not_aligned(network: Path) -> None:
    module = lower(load(network), "instr", CompileOptions("cuda", **OPTIONS))
    found = [op for op in module.walk() if isinstance(op, instr.InstructionOp)]
    apart = [
        op for op in found if not all(is_aligned(buffer, 16) for buffer in op.operands)
    ]
    assert apart
    assert all(isinstance(op, instr.CopyOp) or op.is_data_parallel for op in apart)


def test_a_network_of_parts_computes_what_the_interpreter_does(
    monkeypatch: pytest.MonkeyPatch, network: Path
) -> None:
    random = np.random.default_rng(0)
    inputs = {
        "v": random.standard_normal((1, 11)).astype(np.float32),
        "x": random.standard_normal((1, 8)).astype(np.float32),
    }
    compare(monkeypatch, network, inputs, OPTIONS, 1e-5, {"contraction", "rows"})


@pytest.mark.parametrize("is_there", [True, False])
def test_threads_take_vectors_of_what_is_aligned(is_there: bool) -> None:
    copy, dense = ScalarRegion.trace(lambda b, x: x, [f32]), StridedOperand(4096, (1,))
    spec = ElementwiseSpec((4096,), copy, (dense,), is_aligned=is_there)
    target = Target.from_string("sm_80")
    text = gpu_kernels_ptx([build_elementwise(spec, target, "copy")], target)
    assert ("v4" in text) == is_there
