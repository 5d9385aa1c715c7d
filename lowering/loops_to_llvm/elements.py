"""Rules for vectors taken apart into their elements, and made of them.

`mlir-opt --canonicalize` writes chains of extracted and inserted lanes so; programs that come
back from it hold both.
"""

from __future__ import annotations

from math import prod

from xdsl.ir import Operation

from glow.dialects.vector import FromElementsOp, ToElementsOp
from glow.lowering.loops_to_llvm.function_lowering import FunctionLowering, Rule, entry
from glow.lowering.loops_to_llvm.layout import RegisterLayout


def lanes(layout: RegisterLayout) -> list[tuple[int, int]]:
    """The register and its lane of each element, in row-major order."""
    rows, pieces = prod(layout.shape), len(layout.chunks)
    return [
        (row * pieces + piece, lane)
        for row in range(rows)
        for piece, (_, width) in enumerate(layout.chunks)
        for lane in range(width)
    ]


def to_elements(low: FunctionLowering, op: ToElementsOp) -> None:
    registers, places = low.registers(op.source), lanes(low.layout(op.source))
    for element, (register, lane) in zip(op.elements, places, strict=True):
        value = low.builder.extract(registers[register], lane)
        low.set_registers(element, [value])


def from_elements(low: FunctionLowering, op: FromElementsOp) -> None:
    layout = low.layout(op.dest)
    registers = [low.builder.poison(type_) for type_ in layout.types]
    for element, (register, lane) in zip(op.elements, lanes(layout), strict=True):
        value = low.scalar(element)
        registers[register] = low.builder.insert(value, registers[register], lane)
    low.set_registers(op.dest, registers)


RULES: dict[type[Operation], Rule] = dict(
    [entry(ToElementsOp, to_elements), entry(FromElementsOp, from_elements)]
)
