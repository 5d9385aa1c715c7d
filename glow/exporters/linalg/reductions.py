"""Reductions along axes, and the positions of the largest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Operation, SSAValue

from glow.dialects import arith, glow
from glow.dialects.node import NodeOp, element_of, shape_of, tensor_type
from glow.exporters.linalg.elementwise import result_type
from glow.exporters.linalg.linalg_writer import LinalgWriter, affine_map
from glow.exporters.programs.operations import operation
from glow.exporters.programs.reductions import neutral
from glow.exporters.programs.writer import Handler
from glow.exporters.stablehlo.hlo_writer import integer
from glow.passes.rewriting.scalar_builder import ScalarBuilder

Combine = Callable[[ScalarBuilder, SSAValue, SSAValue], SSAValue]


def _reduction(name: str, combine: Combine) -> Handler[LinalgWriter]:
    def write(writer: LinalgWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
        (value,), to = inputs, result_type(op)
        rank = len(shape_of(value))
        axes = [axis % rank for axis in op.attributes_view().ints("axes")]
        kept = [axis for axis in range(rank) if axis not in axes]
        shape = [shape_of(value)[axis] for axis in kept]
        first = neutral(name, element_of(op.operands[0]))
        start = writer.filled(first, tensor_type(shape, to.element_type))
        signed = element_of(op.operands[0])
        maps = [affine_map(rank, list(range(rank))), affine_map(rank, kept)]
        reduced = writer.generic(
            [value],
            [start],
            maps,
            axes,
            lambda f, x: [writer.signed(f, signed, combine, x[1], x[0])],
        )
        return writer.reshape(reduced[0], to.get_shape())

    return write


def _position(wanted: str) -> Handler[LinalgWriter]:
    """The place of the largest or smallest, which a second result keeps."""

    def write(writer: LinalgWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
        (value,), to, view = inputs, result_type(op), op.attributes_view()
        rank = len(shape_of(value))
        axis, last = view.int("axis") % rank, view.has("select_last")
        kept = [one for one in range(rank) if one != axis]
        shape = [shape_of(value)[one] for one in kept]
        element = element_of(value)
        first = neutral("maximum" if wanted == "greater" else "minimum", element)
        starts = [
            writer.filled(first, tensor_type(shape, element)),
            writer.filled(0, tensor_type(shape, to.element_type)),
        ]
        maps = [affine_map(rank, list(range(rank))), *[affine_map(rank, kept)] * 2]

        def body(f: ScalarBuilder, x: Sequence[SSAValue]) -> Sequence[SSAValue]:
            new, best, place = x
            axis_index = operation(
                "linalg.index", [], [IndexType()], {"dim": integer(axis)}
            )
            here = f.append(axis_index)
            here = f.append(arith.IndexCastOp(here, to.element_type))
            pair = (best, new) if wanted == "greater" else (new, best)
            wins = f.compare("le" if last else "lt", *pair)
            if not isinstance(element, IntegerType):
                is_nan = f.compare("ne", new, new)
                if not last:
                    had_none = f.compare("eq", best, best)
                    is_nan = f.binary(arith.AndIOp, is_nan, had_none)
                wins = f.add(wins, is_nan)
            return [f.select(wins, new, best), f.select(wins, here, place)]

        results = writer.generic([value], starts, maps, [axis], body)
        return writer.reshape(results[1], to.get_shape())

    return write


HANDLERS: Mapping[type[Operation], Handler[LinalgWriter]] = {
    glow.ReduceSumOp: _reduction("add", ScalarBuilder.add),
    glow.ReduceProdOp: _reduction("multiply", ScalarBuilder.mul),
    glow.ReduceMaxOp: _reduction("maximum", ScalarBuilder.maximum),
    glow.ReduceMinOp: _reduction("minimum", ScalarBuilder.minimum),
    glow.ArgMaxOp: _position("greater"),
    glow.ArgMinOp: _position("less"),
}
