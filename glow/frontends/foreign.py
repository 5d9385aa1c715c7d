"""The passes that make graphs of programs in dialects of other projects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

if TYPE_CHECKING:
    from glow.frontends.onnx.messages import ModelProto


def foreign_passes(module: ModuleOp) -> Sequence[ModulePass]:
    """What converts a program, by the dialects of its operations; none for one of `glow`."""
    dialects = {op.name.partition(".")[0] for op in module.walk()}
    if not dialects.isdisjoint(("stablehlo", "chlo")):
        from glow.frontends.stablehlo import convert_stablehlo_to_glow

        return [convert_stablehlo_to_glow.ConvertStablehloToGlowPass()]
    if "tosa" in dialects:
        from glow.frontends.tosa import convert_tosa_to_glow

        return [convert_tosa_to_glow.ConvertTosaToGlowPass()]
    if "linalg" in dialects:
        from glow.frontends.linalg import convert_linalg_to_glow

        return [convert_linalg_to_glow.ConvertLinalgToGlowPass()]
    if "torch" in dialects:
        from glow.frontends.torch import convert_torch_onnx_to_glow

        return [convert_torch_onnx_to_glow.ConvertTorchOnnxToGlowPass()]
    return []


def onnx_model_of(module: ModuleOp) -> ModelProto | None:
    """The ONNX model that a program of ONNX's operators in torch stands for; None for others."""
    if not any(op.name == "torch.operator" for op in module.walk()):
        return None
    from glow.frontends.torch.onnx_model import onnx_model

    return onnx_model(module)
