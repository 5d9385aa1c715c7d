"""Loops and branches as `scf` operations around nodes.

A loop that counts from one known number to another is an `scf.for`; its counter, and states
that the body hands on, are states no more. Other loops are an `scf.while`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from glow.dialects import arith, glow
from glow.dialects.errors import GlowError
from glow.dialects.node import NodeOp, element_of, shape_of, tensor_type
from glow.frontends.stablehlo.hlo_builder import INDEX, HloBuilder, LoopIndex
from glow.frontends.stablehlo.reductions import direction
from glow.passes.rewriting.node_builder import erase

ConvertBlock = Callable[[Block], None]
"""Converts the operations of a block in place."""


@dataclass(frozen=True)
class Counter:
    """The state of a loop that counts its iterations."""

    state: int
    start: int
    limit: int


def loop(builder: HloBuilder, convert_block: ConvertBlock) -> Sequence[SSAValue]:
    """A loop."""
    condition, body = (region.block for region in builder.op.regions)
    states = list(builder.op.operand_types)
    for block, types in ((condition, [tensor_type([], i1)]), (body, states)):
        if list(block.arg_types) != states:
            raise GlowError("a region's arguments are not the states of the loop")
        _check_returned(block, types)
    counter = find_counter(builder, condition, body)
    if counter is not None:
        return _for_loop(builder, body, counter, convert_block)
    convert_block(condition)
    convert_block(body)
    return _while_loop(builder)


def find_counter(builder: HloBuilder, condition: Block, body: Block) -> Counter | None:
    """The counter of a loop of StableHLO that runs a known number of times."""
    end = _returned(condition)[0].owner
    if not isinstance(end, Operation) or direction(end) not in ("LT", "LE"):
        return None
    value, bound = end.operands
    if value not in condition.args:
        return None
    state = condition.args.index(value)
    limit = _known_integer(builder, bound, condition)
    start = _known_integer(builder, builder.op.operands[state], condition)
    step = _returned(body)[state].owner
    if limit is None or start is None or not isinstance(step, Operation):
        return None
    if step.name != "stablehlo.add" or body.args[state] not in step.operands:
        return None
    others = [one for one in step.operands if one is not body.args[state]]
    if len(others) != 1 or _known_integer(builder, others[0], body) != 1:
        return None
    return Counter(state, start, limit + (direction(end) == "LE"))


def _returned(block: Block) -> Sequence[SSAValue]:
    last = block.last_op
    assert last is not None
    return last.operands


def _known_integer(builder: HloBuilder, value: SSAValue, block: Block) -> int | None:
    """The integer that a value is: a constant, or a state of the loop that stays one."""
    if value in block.args:
        state = block.args.index(value)
        body = builder.op.regions[1].block
        if _returned(body)[state] is not body.args[state]:
            return None
        value = builder.op.operands[state]
    array = builder.known(value)
    owner = value.owner
    if array is None and isinstance(owner, Operation):
        if owner.name != "stablehlo.constant":
            return None
        held = owner.properties.get("value")
        numbers = getattr(held, "get_values", tuple)()
        return int(numbers[0]) if len(numbers) == 1 else None
    return None if array is None or array.size != 1 else int(array.item())


def _for_loop(
    builder: HloBuilder, body: Block, counter: Counter, convert_block: ConvertBlock
) -> Sequence[SSAValue]:
    """An `scf.for`, with the states that change."""
    op, count = builder.op, max(0, counter.limit - counter.start)
    old, numbers = body.args[counter.state], range(len(op.operands))
    returned = _returned(body)
    staying = [
        state
        for state in numbers
        if returned[state] is body.args[state] and state != counter.state
    ]
    for state in staying:
        body.args[state].replace_all_uses_with(op.operands[state])
    changing = [n for n in numbers if n not in staying and n != counter.state]
    index = body.insert_arg(INDEX, 0)
    builder.loop_indices[old] = LoopIndex(index, counter.start, counter.start + count)
    convert_block(body)
    block = op.regions[1].detach_block(0)
    _erase_dead(block)
    is_counting = len(list(old.uses)) > 1
    if is_counting:
        changing = sorted((*changing, counter.state))
    results = _take_end(block)
    increment = results[counter.state].owner
    if not is_counting and isinstance(increment, Operation):
        erase(increment)
    for state in sorted(set(numbers).difference(changing), reverse=True):
        block.erase_arg(block.args[1 + state])
    block.add_op(scf.YieldOp(*[results[state] for state in changing]))
    first, last, step = (
        _index(builder, n) for n in (counter.start, counter.start + count, 1)
    )
    initial = [op.operands[state] for state in changing]
    loop_op = scf.ForOp(first, last, step, initial, Region(block))
    builder.insert(loop_op)
    values = dict(zip(changing, loop_op.results, strict=True))
    values |= {state: op.operands[state] for state in staying}
    if not is_counting:
        end = counter.start + count
        values[counter.state] = builder.number(end, op.operands[counter.state])
    return [values[state] for state in numbers]


def _erase_dead(block: Block) -> None:
    """Erase the nodes of a block that nothing uses."""
    for op in reversed(list(block.ops)):
        is_plain = isinstance(
            op, NodeOp | arith.AddiOp | arith.SubiOp | arith.ConstantOp
        )
        if is_plain and not any(result.uses for result in op.results):
            erase(op)


def _index(builder: HloBuilder, number: int) -> SSAValue:
    op = arith.ConstantOp(IntegerAttr(number, INDEX))
    return builder.insert(op).results[0]


def _while_loop(builder: HloBuilder) -> Sequence[SSAValue]:
    """An `scf.while` with all states."""
    op = builder.op
    types = [value.type for value in op.operands]
    before, after = (region.detach_block(0) for region in op.regions)
    (flag,) = _take_end(before)
    extract = tensor.ExtractOp(flag, [], element_of(flag))
    before.add_op(extract)
    before.add_op(scf.ConditionOp(extract.result, *before.args))
    results = _take_end(after)
    after.add_op(scf.YieldOp(*results))
    made = scf.WhileOp(list(op.operands), types, Region(before), Region(after))
    return builder.insert(made).results


def _take_end(block: Block) -> list[SSAValue]:
    """What a block returns, of which the terminator is removed."""
    last = block.last_op
    assert last is not None
    values = list(last.operands)
    last.detach()
    last.erase()
    return values


def branch(builder: HloBuilder, convert_block: ConvertBlock) -> Sequence[SSAValue]:
    """`if`: one of two blocks."""
    (flag,) = builder.op.operands
    if shape_of(flag):
        raise GlowError("a condition that is no scalar")
    for region in builder.op.regions:
        convert_block(region.block)
    return _alternatives(builder, flag, builder.op.regions)


def _check_returned(block: Block, types: Sequence[Attribute]) -> None:
    """GlowError unless a block returns values of these types."""
    found = [value.type for value in _returned(block)]
    if found != list(types):
        given, wanted = (", ".join(map(str, one)) for one in (found, types))
        raise GlowError(f"a region returns {given or 'nothing'}, not {wanted}")


def _alternatives(
    builder: HloBuilder, flag: SSAValue, regions: Sequence[Region]
) -> Sequence[SSAValue]:
    """An `scf.if` with two regions' blocks."""
    types: list[Attribute] = list(builder.op.result_types)
    blocks = [region.detach_block(0) for region in regions]
    for block in blocks:
        _check_returned(block, types)
        block.add_op(scf.YieldOp(*_take_end(block)))
    extract = tensor.ExtractOp(flag, [], element_of(flag))
    builder.insert(extract)
    made = scf.IfOp(extract.result, types, Region(blocks[0]), Region(blocks[1]))
    return builder.insert(made).results


def case(builder: HloBuilder, convert_block: ConvertBlock) -> Sequence[SSAValue]:
    """`case`: the block of a number; the last one for numbers outside."""
    (number,) = builder.op.operands
    regions = list(builder.op.regions)
    for region in regions:
        convert_block(region.block)
    if len(regions) == 1:
        regions.append(regions[0].clone())
    return _chosen(builder, number, regions, 0)


def _chosen(
    builder: HloBuilder, number: SSAValue, regions: Sequence[Region], first: int
) -> Sequence[SSAValue]:
    """The branch of a number, of which `first` is the first one's: an `scf.if` in another."""
    flag = builder.node(glow.EqualOp, number, builder.number(first, number))
    if len(regions) == 2:
        return _alternatives(builder, flag, regions)
    end = scf.YieldOp()
    rest = Region(Block([end]))
    inner = HloBuilder(builder.op, builder.loop_indices)
    inner.anchor = end
    values = _chosen(inner, number, regions[1:], first + 1)
    end.detach()
    rest.block.add_op(scf.YieldOp(*values))
    return _alternatives(builder, flag, [regions[0], rest])


HANDLERS: Mapping[str, Callable[[HloBuilder, ConvertBlock], Sequence[SSAValue]]] = {
    "stablehlo.case": case,
    "stablehlo.if": branch,
    "stablehlo.while": loop,
}
