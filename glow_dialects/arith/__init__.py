"""The `arith` dialect with vectors where upstream has them and xDSL 0.74 has not.

xDSL's `select`, `cmpi`, `cmpf` and its integer/float conversions take scalars only;
kernels work on vectors. This module is a drop-in `arith`: every op keeps its name and
its upstream syntax, the eleven rejected ones are defined anew, the others are xDSL's own
classes, re-exported, so that one import serves a kernel builder. The new ops derive
from `IRDLOperation`: a subclass of xDSL's op would inherit its generated verifier.
"""

from __future__ import annotations

from xdsl.dialects import arith as upstream
from xdsl.dialects.arith import (
    CMPF_COMPARISON_OPERATIONS,
    CMPI_COMPARISON_OPERATIONS,
    AddfOp,
    AddiOp,
    AndIOp,
    BitcastOp,
    CeilDivSIOp,
    CeilDivUIOp,
    ConstantOp,
    DivfOp,
    DivSIOp,
    DivUIOp,
    ExtFOp,
    FastMathFlagsAttr,
    FloorDivSIOp,
    IntegerOverflowAttr,
    MaximumfOp,
    MaxnumfOp,
    MaxSIOp,
    MaxUIOp,
    MinimumfOp,
    MinnumfOp,
    MinSIOp,
    MinUIOp,
    MulfOp,
    MuliOp,
    NegfOp,
    OrIOp,
    RemSIOp,
    RemUIOp,
    ShLIOp,
    ShRSIOp,
    ShRUIOp,
    SubfOp,
    SubiOp,
    TruncFOp,
    XOrIOp,
)
from xdsl.ir import Dialect, Operation
from xdsl.irdl import (
    irdl_op_definition,
    traits_def,
)
from xdsl.traits import Pure

from glow.dialects.arith.casts import (
    ExtSIOp,
    ExtUIOp,
    FPToSIOp,
    FPToUIOp,
    IndexCastOp,
    SIToFPOp,
    TruncIOp,
    UIToFPOp,
)
from glow.dialects.arith.comparisons import CmpfOp, CmpiOp, SelectOp

__all__ = [
    "CMPF_COMPARISON_OPERATIONS",
    "CMPI_COMPARISON_OPERATIONS",
    "AddfOp",
    "AddiOp",
    "AndIOp",
    "Arith",
    "BitcastOp",
    "CeilDivSIOp",
    "CeilDivUIOp",
    "CmpfOp",
    "CmpiOp",
    "ConstantOp",
    "DivSIOp",
    "DivUIOp",
    "DivfOp",
    "ExtFOp",
    "ExtSIOp",
    "ExtUIOp",
    "FPToSIOp",
    "FPToUIOp",
    "FastMathFlagsAttr",
    "FloorDivSIOp",
    "IndexCastOp",
    "IntegerOverflowAttr",
    "MaxSIOp",
    "MaxUIOp",
    "MaximumfOp",
    "MaxnumfOp",
    "MinSIOp",
    "MinUIOp",
    "MinimumfOp",
    "MinnumfOp",
    "MulfOp",
    "MuliOp",
    "NegfOp",
    "OrIOp",
    "RemSIOp",
    "RemUIOp",
    "RemfOp",
    "SIToFPOp",
    "SelectOp",
    "ShLIOp",
    "ShRSIOp",
    "ShRUIOp",
    "SubfOp",
    "SubiOp",
    "TruncFOp",
    "TruncIOp",
    "UIToFPOp",
    "XOrIOp",
]


@irdl_op_definition
class RemfOp(upstream.FloatingPointLikeBinaryOperation):
    """`%r = arith.remf %a, %b : f32`: C's fmod, which xDSL lacks."""

    name = "arith.remf"
    traits = traits_def(Pure())


REPLACED: dict[str, type[Operation]] = {
    op.name: op
    for op in (
        FPToSIOp,
        FPToUIOp,
        IndexCastOp,
        SIToFPOp,
        UIToFPOp,
        ExtSIOp,
        ExtUIOp,
        TruncIOp,
        SelectOp,
        CmpiOp,
        CmpfOp,
    )
}

Arith = Dialect(
    "arith",
    [*(REPLACED.get(op.name, op) for op in upstream.Arith.operations), RemfOp],
    list(upstream.Arith.attributes),
    [upstream.ArithConstantMaterializationInterface()],
)
