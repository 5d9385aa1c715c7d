"""Puts the operations of a function in the place of a call of it."""

from __future__ import annotations

from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from glow.dialects.errors import GlowError
from glow.dialects.locations import place_of


def inline_call(call: CallOp, function: FuncOp) -> list[Operation]:
    """Put a copy of a function's body before a call, whose results it gives, and erase the call.

    Copies keep their locations. Returns them. Raises GlowError where the types of the call are
    not those of the function.
    """
    block, body = call.parent, function.body.block
    assert block is not None
    end = body.last_op
    wanted = [*call.operand_types, *call.result_types]
    given = [*body.arg_types, *(end.operand_types if end is not None else ())]
    if not isinstance(end, ReturnOp) or wanted != given:
        raise GlowError(
            f"the call does not fit @{function.sym_name.data}", location=place_of(call)
        )
    values: dict[SSAValue, SSAValue] = dict(zip(body.args, call.operands, strict=True))
    copies: list[Operation] = []
    for op in body.ops:
        if op is end:
            break
        copy = op.clone(values)
        copy.location = op.location
        block.insert_op_before(copy, call)
        copies.append(copy)
    for old, new in zip(call.results, end.operands, strict=True):
        old.replace_all_uses_with(values[new])
    call.detach()
    call.erase()
    return copies


def calls_in(operations: list[Operation]) -> list[CallOp]:
    """The calls among operations and inside of them."""
    return [op for one in operations for op in one.walk() if isinstance(op, CallOp)]
