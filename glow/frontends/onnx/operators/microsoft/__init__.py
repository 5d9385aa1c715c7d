"""Handlers of ONNX Runtime's domain `com.microsoft`: what its optimizer makes of networks."""

from glow.frontends.onnx.operators.microsoft import attention as attention
from glow.frontends.onnx.operators.microsoft import fused as fused
from glow.frontends.onnx.operators.microsoft import quantized as quantized
