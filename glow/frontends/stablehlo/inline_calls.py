"""Puts the bodies of functions where they are called, so that one function is left.

JAX makes a private function of each `jit` inside of another: relu, softmax, clip, ...
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue

from glow.dialects.errors import GlowError
from glow.dialects.locations import place_of

MOST_OPERATIONS = 1_000_000
"""A program that grows beyond calls itself, or is none of a network."""


def inline_calls(module: ModuleOp) -> None:
    """Replace the calls of a module's public functions, and erase the other functions."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    public = [op for op in functions.values() if not is_private(op)]
    for function in public:
        _inline_into(function, functions)
    for function in functions.values():
        if function not in public:
            function.detach()
            function.erase()


def is_private(function: FuncOp) -> bool:
    """Whether only the module itself may call it."""
    visibility = function.sym_visibility
    return visibility is not None and visibility.data == "private"


def _inline_into(function: FuncOp, functions: dict[str, FuncOp]) -> None:
    active: list[tuple[CallOp, tuple[str, ...]]] = [
        (op, (function.sym_name.data,))
        for op in function.walk()
        if isinstance(op, CallOp)
    ]
    count = 0
    while active:
        call, callers = active.pop()
        name = call.callee.string_value()
        body = functions.get(name)
        if body is None or not body.body.blocks:
            raise GlowError(f"there is no function @{name}", location=place_of(call))
        if name in callers:
            raise GlowError(f"@{name} calls itself", location=place_of(call))
        copies = _replace(call, body)
        count += len(copies)
        if count > MOST_OPERATIONS:
            raise GlowError(f"the calls make over {MOST_OPERATIONS} operations")
        active += [
            (inner, (*callers, name))
            for copy in copies
            for inner in copy.walk()
            if isinstance(inner, CallOp)
        ]


def _replace(call: CallOp, function: FuncOp) -> list[Operation]:
    """Put a copy of a function's body before a call, whose results it gives."""
    block = call.parent
    assert block is not None
    values: dict[SSAValue, SSAValue] = dict(
        zip(function.body.block.args, call.operands, strict=True)
    )
    copies: list[Operation] = []
    for op in function.body.block.ops:
        if op.name == "func.return":
            for old, new in zip(call.results, op.operands, strict=True):
                old.replace_all_uses_with(values[new])
            break
        copy = op.clone(values)
        copy.location = op.location
        block.insert_op_before(copy, call)
        copies.append(copy)
    call.detach()
    call.erase()
    return copies
