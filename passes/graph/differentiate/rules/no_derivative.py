"""Nodes without a derivative, which end the way of a gradient.

Their results are no numbers that change by little: truth values, positions, bits, integers that
stand for numbers; or they depend on none; or they are the end of a training step.
"""

from __future__ import annotations

from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.quant import UnsignedStorageCastOp

NO_DERIVATIVE: frozenset[type[Operation]] = frozenset(
    {
        # what a network is given
        glow.ConstantOp,
        glow.SplatOp,
        glow.VariableOp,
        glow.RandomUniformOp,
        # truth values
        glow.EqualOp,
        glow.NotEqualOp,
        glow.LessOp,
        glow.LessEqualOp,
        glow.AndOp,
        glow.OrOp,
        glow.XorOp,
        glow.NotOp,
        glow.IsNanOp,
        # bits
        glow.BitwiseAndOp,
        glow.BitwiseOrOp,
        glow.BitwiseXorOp,
        glow.BitwiseNotOp,
        glow.ShiftLeftOp,
        glow.ShiftRightOp,
        glow.BitcastOp,
        # positions
        glow.ArgMaxOp,
        glow.ArgMinOp,
        glow.ArgMaxPool2dOp,
        glow.CompactOp,
        glow.SelectBoxesOp,
        # integers that stand for numbers; training sees `glow.fake_quantize`
        *glow.QUANTIZATION_NODES,
        UnsignedStorageCastOp,
        # what ends a step, and what observes
        glow.SaveOp,
        glow.SgdOp,
        glow.AdamOp,
        glow.RmspropOp,
        glow.AdagradOp,
        glow.LambOp,
        glow.QuantizationProfileOp,
        glow.YieldOp,
    }
)
