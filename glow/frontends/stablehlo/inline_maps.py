"""Puts the body of a `map` in its place, on whole tensors.

    %1 = "stablehlo.map"(%x, %y) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %2 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  becomes
    %1 = stablehlo.add %x, %y : tensor<4xf32>

What the body computes of no argument stays one number, which nodes broadcast.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.hints import isa

from glow.dialects.node import element_of, shape_of, tensor_type
from glow.dialects.stablehlo import StableHloOp
from glow.passes.rewriting.node_builder import erase

MAP = "stablehlo.map"


def inline_maps(module: ModuleOp) -> None:
    """Replace maps whose bodies have no regions; others are refused where they stand."""
    for op in list(module.walk()):
        if isinstance(op, StableHloOp) and op.name == MAP and _is_plain(op):
            _inline(op)


def _is_plain(op: StableHloOp) -> bool:
    """Whether a body is of scalars, and ends in one that it computes."""
    (result,) = op.results
    if len(op.regions) != 1 or not isa(result.type, TensorType):
        return False
    block = op.regions[0].block
    last = block.last_op
    values = (value for one in block.ops for value in one.results)
    return (
        last is not None
        and len(last.operands) == 1
        and last.operands[0].owner is not block
        and len(block.args) == len(op.operands)
        and not any(one.regions for one in block.ops)
        and all(isa(v.type, TensorType) and not shape_of(v) for v in values)
    )


def _inline(op: StableHloOp) -> None:
    parent, block, shape = op.parent, op.regions[0].block, shape_of(op.results[0])
    assert parent is not None
    known: dict[SSAValue, SSAValue] = dict(zip(block.args, op.operands, strict=True))
    for one in list(block.ops)[:-1]:
        copy = one.clone(known)
        if any(shape_of(value) == shape for value in copy.operands):
            for old, value in zip(one.results, tuple(copy.results), strict=True):
                known[old] = Rewriter.replace_value_with_new_type(
                    value, tensor_type(shape, element_of(value))
                )
        parent.insert_op_before(copy, op)
    last = block.last_op
    assert last is not None
    found = known[last.operands[0]]
    if found.type == op.results[0].type:  # Else it is one number, and no map.
        op.results[0].replace_all_uses_with(found)
        erase(op)
