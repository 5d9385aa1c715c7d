"""Operations that `append` makes are those that xDSL makes, field by field."""

from collections.abc import Callable, Mapping, Sequence
from weakref import ref

import pytest
from xdsl.dialects import cf, llvm
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from glow.dialects import arith
from glow.garbage_collection import collection_paused
from glow.lowering.append import append, let_go

Make = Callable[
    [
        Block,
        type[Operation],
        Sequence[SSAValue],
        Sequence[Attribute],
        Mapping[str, Attribute],
    ],
    Operation,
]

FLAGS = {"overflowFlags": IntegerAttr(0, 32)}
CASES: list[tuple[type[Operation], int, Mapping[str, Attribute]]] = [
    (llvm.AddOp, 2, FLAGS),
    (llvm.SDivOp, 2, {}),
    (arith.AddiOp, 2, {}),
    (arith.ConstantOp, 0, {"value": IntegerAttr(3, 32)}),
]
"""Classes, the number of operands, properties; of an addition, xDSL fills in its flags."""


def by_xdsl(
    block: Block,
    op_class: type[Operation],
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute],
    properties: Mapping[str, Attribute],
) -> Operation:
    """The same by xDSL's own steps."""
    op = op_class.create(
        operands=operands, result_types=result_types, properties=properties
    )
    block.add_op(op)
    return op


def described(block: Block) -> list[object]:
    """All that a block's operations and their uses say, by place instead of identity."""
    places: dict[object, str] = {
        value: f"argument {index}" for index, value in enumerate(block.args)
    }
    ops = list(block.ops)
    for place, op in enumerate(ops):
        places[op] = f"operation {place}"
        places.update({value: f"result of {place}" for value in op.results})
    values = [*block.args, *(value for op in ops for value in op.results)]
    return [
        [
            (
                op.name,
                [places[value] for value in op.operands],
                [(value.type, value.index, places[value.op]) for value in op.results],
                op.properties,
                op.attributes,
                op.location,
                (op.regions, op.successors),
                (op.parent is block, places.get(op.next_op), places.get(op.prev_op)),
            )
            for op in ops
        ],
        [
            [(places[use.operation], use.index) for use in value.uses]
            for value in values
        ],
        (places.get(block.first_op), places.get(block.last_op)),
    ]


def filled(make: Make) -> Block:
    """A block of all cases, each on the values before it, made by a function."""
    block = Block(arg_types=[i32])
    value: SSAValue = block.args[0]
    for op_class, count, properties in [*CASES, *CASES]:
        operands = (value, block.args[0])[:count]
        value = make(block, op_class, operands, (i32,), properties).results[0]
    return block


def test_operations_are_those_of_xdsl() -> None:
    ours, theirs = filled(append), filled(by_xdsl)
    assert described(ours) == described(theirs)


def test_operands_change_and_operations_leave() -> None:
    block = filled(append)
    first, *_, last = block.ops
    operands = list(first.results)
    last.operands = operands
    assert next(use.operation for use in operands[0].uses) is last
    for op in reversed(list(block.ops)):
        op.detach()
        op.erase()
    assert block.is_empty
    assert not list(block.args[0].uses)


@pytest.mark.parametrize("op_class", [case[0] for case in CASES])
def test_properties_are_not_shared(op_class: type[Operation]) -> None:
    block, properties = Block(), {"value": IntegerAttr(3, 32)}
    one = append(block, op_class, (), (i32,), properties)
    one.properties["value"] = IntegerAttr(4, 32)
    one.attributes["more"] = IntegerAttr(4, 32)
    other = append(block, op_class, (), (i32,), properties)
    assert other.properties["value"] == IntegerAttr(3, 32)
    assert not other.attributes


def test_operations_are_freed_without_a_collection() -> None:
    first, second = filled(append), filled(append)
    first.add_op(cf.BranchOp(second, first.args[0]))
    second.add_op(cf.BranchOp(second, second.args[0]))
    module = ModuleOp(Region([first, second]))
    known = [ref(op) for op in module.walk()]
    known += [ref(value) for op in module.walk() for value in op.results]
    del first, second
    with collection_paused():
        let_go(module)
        del module
        assert not [one for each in known if (one := each()) is not None]
