"""Handlers of the domain `com.microsoft`: what ONNX Runtime's optimizer and exporters write."""

from glow.frontends.onnx.operators.microsoft import attention as attention
from glow.frontends.onnx.operators.microsoft import block_weights as block_weights
from glow.frontends.onnx.operators.microsoft import (
    causal_convolution as causal_convolution,
)
from glow.frontends.onnx.operators.microsoft import experts as experts
from glow.frontends.onnx.operators.microsoft import fused as fused
from glow.frontends.onnx.operators.microsoft import gated_delta_net as gated_delta_net
from glow.frontends.onnx.operators.microsoft import gates as gates
from glow.frontends.onnx.operators.microsoft import (
    grouped_attention as grouped_attention,
)
from glow.frontends.onnx.operators.microsoft import linear_attention as linear_attention
from glow.frontends.onnx.operators.microsoft import quantized as quantized
from glow.frontends.onnx.operators.microsoft import (
    quantized_recurrence as quantized_recurrence,
)
from glow.frontends.onnx.operators.microsoft import rotary as rotary
