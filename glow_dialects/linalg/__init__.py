"""linalg on tensors, as torch-mlir, IREE and `mlir-opt` print it: read, and converted.

xDSL has 25 of its named operations, and no operation of two results; the ones that programs
have are here in one table.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from glow.dialects.linalg.attributes import ATTRIBUTES
from glow.dialects.linalg.operations import IndexOp as IndexOp
from glow.dialects.linalg.operations import LinalgOp as LinalgOp
from glow.dialects.linalg.operations import YieldOp as YieldOp
from glow.dialects.linalg.operations import operations

Linalg = Dialect("linalg", [*operations(), IndexOp, YieldOp], [*ATTRIBUTES])
