"""Turns a program of ONNX's operators in the torch dialect into a graph.

    %1 = torch.operator "onnx.Relu"(%0) : (!torch.vtensor<[1,4],f32>) -> !torch.vtensor<[1,4],f32>
  becomes
    %1 = glow.relu %0 : tensor<1x4xf32>

by the handlers that import ONNX files (`onnx_model.py`).
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from glow.frontends.torch.onnx_model import has_operators, onnx_model


class ConvertTorchOnnxToGlowPass(ModulePass):
    """Turn ONNX's operators in torch into nodes of `glow`."""

    name = "convert-torch-onnx-to-glow"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert a module, which stays as it is if it has none of them."""
        if not has_operators(op):
            return
        from glow.frontends.onnx import import_model

        graph = import_model(onnx_model(op))
        for one in list(op.ops):
            one.detach()
            one.erase()
        for one in list(graph.ops):
            one.detach()
            op.body.block.add_op(one)
        op.attributes.update(graph.attributes)
