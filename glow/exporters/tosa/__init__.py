"""A graph as a program of TOSA 1.0.

| file             | holds                                                       |
|------------------|-------------------------------------------------------------|
| `tosa_writer.py` | operations of TOSA, each a method                           |
| `elementwise.py` | nodes that compute each element by itself                   |
| `products.py`    | convolutions and pools on images with channels last, matmul |
| `movement.py`    | nodes that move elements, reductions, lookups               |
| `quantized.py`   | nodes on quantized elements: bytes, and rescaled sums       |

Source: the TOSA 1.0 specification (mlplatform.org/tosa).
"""

from __future__ import annotations

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.exporters.programs import Format
from glow.exporters.tosa import elementwise, movement, products, quantized
from glow.exporters.tosa.tosa_writer import TosaWriter


def keeps(op: NodeOp) -> bool:
    """Convolutions are of one group, or of one channel each; pads are of a constant."""
    view = op.attributes_view()
    if isinstance(op, glow.PadOp):
        return view.string("mode") == "constant"
    if isinstance(op, glow.Conv2dOp):
        channels, outputs = shape_of(op.input)[1], shape_of(op.weights)[0]
        return (view.int("group") in (1, channels) and outputs % channels == 0) or (
            view.int("group") == 1
        )
    return True


TOSA = Format(
    "TOSA",
    TosaWriter,
    {**elementwise.HANDLERS, **products.HANDLERS, **movement.HANDLERS},
    quantized.CASTS,
    elementwise.refuse,
    keeps,
    quantized.QUANTIZED,
)
