"""Handlers of quantization: on quantized types, or as arithmetic on ordinary tensors."""

from glow.frontends.onnx.operators.quantization import (
    integer_products as integer_products,
)
from glow.frontends.onnx.operators.quantization import (
    quantized_types as quantized_types,
)
