"""Writes a graph as an ONNX model: one operator a node, or a few.

| file            | holds                                                         |
|-----------------|---------------------------------------------------------------|
| `export.py`     | the walk over the function, and what cannot be written        |
| `writer.py`     | the ONNX graph under construction: names, constants, types    |
| `elementwise.py`, `products.py`, `movement.py` | nodes to what writes them        |
| `control_flow.py` | branches, loops and their scalars: If, Loop              |
| `training.py`   | losses, and what is written as simpler nodes                  |
| `quantized.py`  | quantized elements: pairs of QuantizeLinear, DequantizeLinear |
"""

from glow.exporters.onnx.export import export_bytes as export_bytes
from glow.exporters.onnx.export import export_model as export_model
