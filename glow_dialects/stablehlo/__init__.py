"""StableHLO and CHLO, as JAX, torch-mlir and IREE print them: read, and converted to `glow`.

Source: the StableHLO specification 1.x (openxla.org/stablehlo/spec).
"""

from __future__ import annotations

from xdsl.ir import Dialect

from glow.dialects.stablehlo.attributes import ATTRIBUTES, CHLO_ATTRIBUTES
from glow.dialects.stablehlo.operation import StableHloOp as StableHloOp
from glow.dialects.stablehlo.operations import CHLO, STABLEHLO, operations

StableHlo = Dialect("stablehlo", [*operations("stablehlo", STABLEHLO)], [*ATTRIBUTES])
Chlo = Dialect("chlo", [*operations("chlo", CHLO)], [*CHLO_ATTRIBUTES])
