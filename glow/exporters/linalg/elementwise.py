"""Element-wise nodes as what they do to one element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.dialects.small_types import is_small
from glow.exporters.failures import CannotExport
from glow.exporters.linalg.linalg_writer import LinalgWriter, broadcast_map, signless
from glow.exporters.programs.writer import Handler
from glow.passes.rewriting.scalar_bodies import emit_node
from glow.passes.rewriting.scalar_builder import CASTS, SCALAR_BODIES, ScalarBuilder


def result_type(op: NodeOp, number: int = 0) -> TensorType[Attribute]:
    """The type that a result of a node has in the program."""
    return cast("TensorType[Attribute]", signless(op.results[number].type))


def write_scalar_body(
    writer: LinalgWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """A generic operation with the scalar body of a node."""
    values = (*op.inputs, *op.results)
    if any(is_small(element_of(value)) for value in values):
        raise CannotExport("of small floats, which are stored only")
    shape = shape_of(op.results[0])
    starts = [writer.empty(result_type(op, n)) for n in range(len(op.results))]
    maps = [broadcast_map(shape_of(value), shape) for value in values]

    def body(f: ScalarBuilder, x: Sequence[SSAValue]) -> Sequence[SSAValue]:
        # Types with their signs choose the operations of the body; these lose them then.
        scalars = Block(arg_types=[element_of(value) for value in op.inputs])
        results = emit_node(ScalarBuilder(scalars), op, scalars.args)
        for own, value in zip(scalars.args, x, strict=False):
            own.replace_all_uses_with(value)
        places = dict[SSAValue, SSAValue](zip(scalars.args, x, strict=False))
        chosen = [places.get(result, result) for result in results]
        for one in list(scalars.ops):
            one.detach()
            f.block.add_op(one)
        return chosen

    return writer.generic(inputs, starts, maps, (), body)


HANDLERS: Mapping[type[Operation], Handler[LinalgWriter]] = dict.fromkeys(
    (*SCALAR_BODIES, *CASTS, glow.FusedOp), write_scalar_body
)
