"""`x * constant + constant` between casts is one rescaling by channel.

  %1 = quant.dcast %0; %2 = glow.mul %1, %m; %3 = glow.add %2, %a; %4 = quant.qcast %3
becomes
  %4 = glow.rescale %0, %m, %a

So is a batch normalization, also one whose parameters are quantized.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.quant import QuantizeCastOp
from glow.passes.quantization.casts import (
    common_target,
    dequantized,
    element,
    replace_casts,
    tensor_of,
)
from glow.passes.quantization.constants import constant_floats, has_floats
from glow.passes.rewriting.constant_batch_norm import Floats, scale_and_shift
from glow.passes.rewriting.node_builder import NodeBuilder, name_of

AFFINE = (glow.MulOp, glow.AddOp, glow.SubOp, glow.DivOp)


def constant_operand(op: NodeOp) -> tuple[SSAValue, Floats] | None:
    """The computed operand and the constant one; None where both are computed.

    The constant must not enlarge the operand, and `sub` and `div` have it on the right.
    """
    places = _places(op)
    if places is None:
        return None
    floats = constant_floats(op.inputs[places[1]])
    assert floats is not None
    return op.inputs[places[0]], floats.astype(np.float64)


def _places(op: NodeOp) -> tuple[int, int] | None:
    """The places of both, as `constant_operand` has them."""
    inputs, shape = op.inputs, shape_of(op.results[0])
    swaps = isinstance(op, glow.MulOp | glow.AddOp)
    for computed, other in ((0, 1), (1, 0)) if swaps else ((0, 1),):
        if has_floats(inputs[other]) and shape_of(inputs[computed]) == shape:
            return computed, other
    return None


def is_affine(op: Operation) -> bool:
    """Whether a node adds or multiplies a constant."""
    return isinstance(op, AFFINE) and _places(op) is not None


Step = tuple[SSAValue, Floats, Floats]
"""A value, what it is multiplied with and what is added then."""


def _batch_norm(op: glow.BatchNormOp) -> Step | None:
    """A normalization with constant parameters: numbers for each channel of axis 1."""
    found = scale_and_shift(op, constant_floats)
    if found is None:
        return None
    by_channel = (-1, *(1,) * (len(shape_of(op.input)) - 2))
    factor, shift = (numbers.reshape(by_channel) for numbers in found)
    return op.input, factor, shift


def _step(op: Operation | object) -> Step | None:
    """What an affine node does to its computed operand."""
    if isinstance(op, glow.BatchNormOp):
        return _batch_norm(op)
    found = constant_operand(op) if isinstance(op, AFFINE) else None
    if found is None:
        return None
    source, number = found
    if isinstance(op, glow.MulOp):
        return source, number, np.zeros(())
    if isinstance(op, glow.DivOp):
        return source, 1 / number, np.zeros(())
    return source, np.ones(()), -number if isinstance(op, glow.SubOp) else number


def affine_chain(value: SSAValue) -> Step:
    """The value behind a chain of affine nodes, and the chain's multiplier and addend."""
    step = _step(value.owner)
    if step is None:
        return value, np.ones(()), np.zeros(())
    source, factor, shift = step
    inner = affine_chain(source) if source.has_one_use() else None
    behind, multiplier, addend = inner or (source, np.ones(()), np.zeros(()))
    return behind, multiplier * factor, addend * factor + shift


def form_affine(op: QuantizeCastOp) -> bool:
    """Turn a chain of affine nodes between casts into a rescaling."""
    target = common_target(op.input)
    if target is None or target.axis is not None:
        return False
    with np.errstate(all="ignore"):
        value, multiplier, addend = affine_chain(op.input)
    source = dequantized(value)
    data = None if source is None else element(source)
    if value is op.input or source is None or data is None or data.axis is not None:
        return False
    shape = np.broadcast_shapes(multiplier.shape, addend.shape)
    if not (np.isfinite(multiplier).all() and np.isfinite(addend).all()):
        return False
    builder, name = NodeBuilder(op), name_of(op.input)
    constants = [
        builder.constant(np.broadcast_to(numbers, shape).astype(np.float32), name)
        for numbers in (multiplier, addend)
    ]
    result = builder.create(
        glow.RescaleOp, [source, *constants], {}, types=[tensor_of(op.result)]
    )
    replace_casts(op.input, result)
    return True
