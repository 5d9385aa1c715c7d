"""Lets element-wise nodes broadcast by themselves what a node before them repeats.

    %1 = glow.broadcast %bias : tensor<1x8xf32> to tensor<4x8xf32>
    %2 = glow.add %x, %1
  becomes
    %2 = glow.add %x, %bias

StableHLO's operations take operands of one shape only; products absorb a bias, and patterns
find what they look for, where it is not repeated first.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from glow.dialects.glow import BroadcastOp, ReshapeOp, SelectOp, SplatOp
from glow.dialects.glow.elementwise import BinaryOp
from glow.dialects.node import NodeOp, element_of, shape_of, tensor_type
from glow.passes.rewriting.node_builder import NodeBuilder

READERS = (BinaryOp, SelectOp)


def fold_broadcasts(module: ModuleOp) -> None:
    """Let readers of repeated values read the values, where they have the same result."""
    smaller: dict[SSAValue, SSAValue] = {}
    for op in module.walk():
        if isinstance(op, BroadcastOp):
            smaller[op.result] = op.input
        elif isinstance(op, SplatOp) and shape_of(op.result):
            smaller[op.result] = op.result
        elif isinstance(op, ReshapeOp) and _only_adds_axes(op):
            smaller[op.result] = op.input
        elif isinstance(op, READERS):
            _shrink_operands(op, smaller)


def _only_adds_axes(op: ReshapeOp) -> bool:
    """Whether one reader gets a value with more axes of one in front."""
    shape, own = shape_of(op.result), shape_of(op.input)
    padded = (*[1] * (len(shape) - len(own)), *own)
    return shape == padded and op.result.has_one_use()


def _shrink_operands(op: NodeOp, smaller: dict[SSAValue, SSAValue]) -> None:
    for index, operand in enumerate(op.operands):
        found = smaller.get(operand)
        if found is None:
            continue
        shape = () if isinstance(operand.owner, SplatOp) else shape_of(found)
        if not _keeps_type(op, index, shape):
            continue
        if isinstance(operand.owner, SplatOp):
            builder = NodeBuilder(op)
            found = builder.splat(operand.owner.number, element_of(operand))
        op.operands[index] = found


def _keeps_type(op: Operation, index: int, shape: tuple[int, ...]) -> bool:
    """Whether a node has the same result with an operand of another shape."""
    assert isinstance(op, NodeOp)
    types = [one.type for one in op.operands if isa(one.type, TensorType)]
    types[index] = tensor_type(shape, types[index].element_type)
    try:
        inferred = op.infer(types, op.attributes_view())
    except VerifyException:
        return False
    return inferred is not None and list(inferred) == list(op.result_types)
