"""Handlers of ONNX Runtime's domain `com.microsoft`: what its optimizer makes of networks."""

from glow.frontends.onnx.operators.microsoft import attention as attention
from glow.frontends.onnx.operators.microsoft import block_weights as block_weights
from glow.frontends.onnx.operators.microsoft import experts as experts
from glow.frontends.onnx.operators.microsoft import fused as fused
from glow.frontends.onnx.operators.microsoft import (
    grouped_attention as grouped_attention,
)
from glow.frontends.onnx.operators.microsoft import quantized as quantized
from glow.frontends.onnx.operators.microsoft import (
    quantized_recurrence as quantized_recurrence,
)
