"""A graph as a program of StableHLO, with CHLO for the functions that it lacks.

| file              | holds                                                        |
|-------------------|--------------------------------------------------------------|
| `hlo_writer.py`   | operations of StableHLO, each a method                       |
| `elementwise.py`  | nodes that compute each element by itself                    |
| `scalars.py`      | scalar operations of `arith` and `math`, on whole tensors    |
| `products.py`     | convolutions and matrix products                             |
| `reductions.py`   | windows, reductions, positions, sorting                      |
| `movement.py`     | nodes that move elements                                     |
| `indexing.py`     | gathers and scatters                                         |
| `control_flow.py` | branches, loops and what they count with                     |

Source: the StableHLO specification 1.x (openxla.org/stablehlo/spec).
"""

from __future__ import annotations

from glow.dialects import glow
from glow.dialects.node import NodeOp
from glow.exporters.programs import Format
from glow.exporters.stablehlo import (
    control_flow,
    elementwise,
    indexing,
    movement,
    products,
    reductions,
    scalars,
)
from glow.exporters.stablehlo.hlo_writer import HloWriter


def keeps(op: NodeOp) -> bool:
    """Pads of a constant have a word, those that repeat the input are gathers."""
    if isinstance(op, glow.PadOp):
        return op.attributes_view().string("mode") == "constant"
    return True


STABLEHLO = Format(
    "StableHLO",
    HloWriter,
    {
        **elementwise.HANDLERS,
        **products.HANDLERS,
        **reductions.HANDLERS,
        **movement.HANDLERS,
        **indexing.HANDLERS,
    },
    control_flow.CONTROLS,
    scalars.write_scalar_body,
    keeps,
)
