"""Appends operations to blocks in a third of the time that xDSL's own steps take.

A network's kernels are tens of thousands of operations, each made once, at the end of a block,
and read once: making them is most of the time between instructions and LLVM. `Operation.create`
and `Block.add_op` serve any order of changes: they look for defaults of properties, for
successors to give up, and for a block inside of the operation itself. Here nothing of that can
be, so the fields are set as those steps leave them, which `test_append.py` compares. What was
made is let go by hand, too: operations, values and uses point at each other, and the collector
of such cycles would visit each object several times.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue, SSAValues, Use
from xdsl.irdl import IRDLOperation, OptionalDef

NONE: SSAValues[SSAValue] = SSAValues()


@cache
def defaults(
    op_class: type[Operation],
) -> tuple[Mapping[str, Attribute], Mapping[str, Attribute]]:
    """The properties and the attributes that an operation has unless they are given."""
    if not issubclass(op_class, IRDLOperation):
        return {}, {}
    known = op_class.get_irdl_definition()
    properties, attributes = (
        {
            name: each.default_value
            for name, each in definitions.items()
            if not isinstance(each, OptionalDef) and each.default_value is not None
        }
        for definitions in (known.properties, known.attributes)
    )
    return properties, attributes


def append(
    block: Block,
    op_class: type[Operation],
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute],
    properties: Mapping[str, Attribute],
) -> Operation:
    """A new operation without regions and successors at the end of a block."""
    op = op_class.__new__(op_class)
    values = op._operands = SSAValues(operands) if operands else NONE
    uses: list[Use] = []
    for index, value in enumerate(values):
        first = value.first_use
        use = Use(op, index, None, first)
        if first is not None:
            first._prev_use = use
        value.first_use = use
        uses.append(use)
    op._operand_uses = tuple(uses)
    op.results = SSAValues(
        [OpResult(type_, op, index) for index, type_ in enumerate(result_types)]
    )
    missing, attributes = defaults(op_class)
    op.properties = dict(properties)
    for name, default in missing.items():
        op.properties.setdefault(name, default)
    op.attributes = dict(attributes)
    op.location = UNKNOWN_LOC
    last = block._last_op
    op.parent = block
    if last is None:
        block._first_op = op
    else:
        last._next_op = op
        op._prev_op = last
    block._last_op = op
    return op


def operations_of(block: Block) -> Iterator[Operation]:
    """The operations of a block that does not change meanwhile, in order."""
    op = block._first_op
    while op is not None:
        yield op
        op = op._next_op


def let_go(op: Operation) -> None:
    """Break the cycles of an operation, and of all in it, that nobody reads any more.

    Nothing may use their values, nor know a block in it.
    """
    for region in op.regions:
        for block in list(region.blocks):
            for inner in list(operations_of(block)):
                let_go(inner)
            vars(block).clear()
        vars(region).clear()
    for use in (*op._operand_uses, *op._successor_uses):
        use._prev_use = None
    vars(op).clear()
