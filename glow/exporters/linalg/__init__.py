"""A graph as a program of linalg on tensors.

| file               | holds                                                     |
|--------------------|-----------------------------------------------------------|
| `linalg_writer.py` | generic and named operations, and those of `tensor`       |
| `elementwise.py`   | nodes by what they do to one element                      |
| `products.py`      | convolutions, pools and matrix products                   |
| `reductions.py`    | reductions along axes, positions of the largest           |
| `movement.py`      | nodes that move elements, gathers among them              |
| `control_flow.py`  | loops of `scf`, which stay                                |

Integers have no sign in their types, as `arith` wants it: that of `ui8` is in the operations.
"""

from __future__ import annotations

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.exporters.linalg import (
    control_flow,
    elementwise,
    movement,
    products,
    reductions,
)
from glow.exporters.linalg.linalg_writer import LinalgWriter
from glow.exporters.programs import Format


def keeps(op: NodeOp) -> bool:
    """Volumes of one group have a name, and pads of a constant an operation."""
    if isinstance(op, glow.PadOp):
        return op.attributes_view().string("mode") == "constant"
    if isinstance(op, glow.Conv3dOp):
        return op.attributes_view().int("group") == 1
    return 0 not in shape_of(op.results[0]) or not isinstance(op, glow.Conv2dOp)


LINALG = Format(
    "linalg",
    LinalgWriter,
    {
        **elementwise.HANDLERS,
        **products.HANDLERS,
        **reductions.HANDLERS,
        **movement.HANDLERS,
    },
    control_flow.CONTROLS,
    elementwise.write_scalar_body,
    keeps,
)
