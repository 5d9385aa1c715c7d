"""Rules for `scf`, `func` and `llvm.call_intrinsic`.

A loop with constant bounds and at least one trip tests at its end only and its results
are the yielded values; other loops are guarded and give results as arguments of the
block behind them. Nothing is put off across the border of a region.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, scf
from xdsl.dialects import llvm as xllvm
from xdsl.ir import Operation, Region, SSAValue

from glow.lowering.llvm_ir.function import BasicBlock
from glow.lowering.loops_to_llvm.builder import SIGNED_LESS
from glow.lowering.loops_to_llvm.function_lowering import (
    FunctionLowering,
    Rule,
    entry,
)

# Loops -------------------------------------------------------------------------------


def for_loop(low: FunctionLowering, op: scf.ForOp) -> None:
    low.load_pending()
    lower, upper = low.index(op.lb), low.index(op.ub)
    initial = low.flatten_all(op.iter_args)
    if not (lower.is_constant and upper.is_constant):
        guarded_loop(low, op, initial)
    elif lower.constant < upper.constant:
        static_loop(low, op, initial)
    else:
        low.bind_all(op.results, initial)


def static_loop(
    low: FunctionLowering, op: scf.ForOp, initial: Sequence[SSAValue]
) -> None:
    """A loop that runs at least once: the results are the values last yielded."""
    first, last = low.scalar(op.lb), low.scalar(op.ub)
    step = low.scalar(op.step)
    body, behind = loop_block(low, op), BasicBlock()
    yielded = lower_body(low, op, body)
    close_loop(low, body, (step, last), yielded, behind, ())
    # Last, since addresses are still appended to this block from inside the loop.
    low.builder.branch(body, (first, *initial))
    low.continue_in(behind)
    low.bind_all(op.results, yielded)


def guarded_loop(
    low: FunctionLowering, op: scf.ForOp, initial: Sequence[SSAValue]
) -> None:
    """A loop that may not run: the block behind it receives the results."""
    first, last = low.scalar(op.lb), low.scalar(op.ub)
    step = low.scalar(op.step)
    guard = low.builder.compare(SIGNED_LESS, first, last)
    body = loop_block(low, op)
    behind = BasicBlock(low.flat_types(op.results))
    yielded = lower_body(low, op, body)
    close_loop(low, body, (step, last), yielded, behind, yielded)
    low.builder.branch_if(guard, body, (first, *initial), behind, initial)
    low.continue_in(behind)
    low.bind_all(op.results, behind.args)


def loop_block(low: FunctionLowering, op: scf.ForOp) -> BasicBlock:
    """Returns the block that a loop's body begins in: the variable, then the carried
    values.
    """
    return BasicBlock([low.index_type, *low.flat_types(op.iter_args)])


def lower_body(
    low: FunctionLowering, op: scf.ForOp, body: BasicBlock
) -> list[SSAValue]:
    """Lowers a loop's body and returns what it yields; the scope stays open."""
    variable, *carried = op.body.block.args
    low.open_scope(body)
    body.args[0].name_hint = variable.name_hint
    low.set_opaque_index(variable, body.args[0])
    low.bind_all(carried, body.args[1:])
    return lower_region(low, op.body)


def lower_region(low: FunctionLowering, region: Region) -> list[SSAValue]:
    """Lowers a region of one block and returns what it yields."""
    low.lower_block(region.block)
    low.load_pending()
    terminator = region.block.last_op
    return low.flatten_all(terminator.operands) if terminator is not None else []


def close_loop(
    low: FunctionLowering,
    body: BasicBlock,
    bounds: tuple[SSAValue, SSAValue],
    yielded: Sequence[SSAValue],
    behind: BasicBlock,
    results: Sequence[SSAValue],
) -> None:
    """Ends a loop's body with the step, the test and the way back."""
    step, last = bounds
    builder = low.builder
    following = builder.add(body.args[0], step)
    again = builder.compare(SIGNED_LESS, following, last)
    builder.branch_if(again, body, (following, *yielded), behind, results)
    low.close_scope()


def while_loop(low: FunctionLowering, op: scf.WhileOp) -> None:
    """A loop whose first region says whether its second one runs."""
    low.load_pending()
    initial = low.flatten_all(op.arguments)
    before = BasicBlock(low.flat_types(op.arguments))
    after = BasicBlock(low.flat_types(op.res))
    behind = BasicBlock(low.flat_types(op.res))
    low.open_scope(before)
    low.bind_all(op.before_region.block.args, before.args)
    condition = op.before_region.block.last_op
    assert isinstance(condition, scf.ConditionOp)
    goes_on, *given = _lowered_test(low, condition)
    low.open_scope(after)
    low.bind_all(op.after_region.block.args, after.args)
    low.builder.branch(before, lower_region(low, op.after_region))
    low.close_scope()
    low.builder.branch_if(goes_on, after, given, behind, given)
    low.close_scope()
    low.builder.branch(before, initial)
    low.continue_in(behind)
    low.bind_all(op.res, behind.args)


def _lowered_test(low: FunctionLowering, condition: scf.ConditionOp) -> list[SSAValue]:
    """Lowers the block of a condition; returns that and the values passed on."""
    block = condition.parent
    assert block is not None
    low.lower_block(block)
    low.load_pending()
    return [low.scalar(condition.condition), *low.flatten_all(condition.args)]


# Conditions --------------------------------------------------------------------------


def condition(low: FunctionLowering, op: scf.IfOp) -> None:
    low.load_pending()
    cond = low.scalar(op.cond)
    behind = BasicBlock(low.flat_types(op.results))
    then = lower_branch(low, op.true_region, behind)
    otherwise = behind
    if op.false_region.blocks:
        otherwise = lower_branch(low, op.false_region, behind)
    low.builder.branch_if(cond, then, (), otherwise, ())
    low.continue_in(behind)
    low.bind_all(op.results, behind.args)


def lower_branch(
    low: FunctionLowering, region: Region, behind: BasicBlock
) -> BasicBlock:
    """Lowers one side of a condition; returns the block that it begins in."""
    block = BasicBlock()
    low.open_scope(block)
    yielded = lower_region(low, region)
    low.builder.branch(behind, yielded)
    low.close_scope()
    return block


# Calls -------------------------------------------------------------------------------


def call(low: FunctionLowering, op: func.CallOp) -> None:
    """A memref is passed as the address of its first element."""
    low.load_pending()
    operands = low.flatten_all(op.operands)
    type_ = low.layout_of(op.result_types[0]).element if op.results else None
    results = low.builder.call(op.callee.string_value(), operands, type_)
    low.bind_all(op.results, results)


def function_return(low: FunctionLowering, op: func.ReturnOp) -> None:
    low.load_pending()
    low.builder.emit_no_result(xllvm.ReturnOp, low.flatten_all(op.operands))


def call_intrinsic(low: FunctionLowering, op: xllvm.CallIntrinsicOp) -> None:
    """Operands and result are one register each: the name fixes their types. Without
    a result it is called for its effect on memory.
    """
    operands = low.flatten_all(op.args)
    if op.ress is None:
        low.load_pending()
        properties = dict(op.properties)
        low.builder.emit_no_result(xllvm.CallIntrinsicOp, operands, properties)
        return
    (type_,) = low.layout(op.ress).types
    result = low.builder.intrinsic(op.intrin.data, operands, type_, op.fastmathFlags)
    low.set_registers(op.ress, (result,))


def nothing(low: FunctionLowering, op: Operation) -> None:
    """Emits nothing: the op that owns the region reads its yield."""


RULES: dict[type[Operation], Rule] = dict(
    [
        entry(scf.ForOp, for_loop),
        entry(scf.IfOp, condition),
        entry(scf.WhileOp, while_loop),
        entry(scf.YieldOp, nothing),
        entry(scf.ConditionOp, nothing),
        entry(func.CallOp, call),
        entry(func.ReturnOp, function_return),
        entry(xllvm.CallIntrinsicOp, call_intrinsic),
    ]
)
