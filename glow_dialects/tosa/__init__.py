"""TOSA 1.0, as torch-mlir, TFLite's converters and `mlir-opt` print it: read, and converted.

Source: the TOSA specification 1.0 (mlplatform.org/tosa). xDSL has 21 of its operations, in
one of the two spellings; all of them are here, in one table, in both.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from glow.dialects.tosa.attributes import ATTRIBUTES
from glow.dialects.tosa.operations import TosaOp as TosaOp
from glow.dialects.tosa.operations import operations

Tosa = Dialect("tosa", [*operations()], [*ATTRIBUTES])
