"""Puts the bodies of functions where they are called, so that one function is left.

JAX makes a private function of each `jit` inside of another: relu, softmax, clip, ...
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp

from glow.dialects.errors import GlowError
from glow.dialects.locations import place_of
from glow.passes.rewriting.inlining import calls_in, inline_call

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
    caller = function.sym_name.data
    active: list[tuple[CallOp, tuple[str, ...]]] = [
        (op, (caller,)) for op in calls_in([function])
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
        copies = inline_call(call, body)
        count += len(copies)
        if count > MOST_OPERATIONS:
            raise GlowError(f"the calls make over {MOST_OPERATIONS} operations")
        active += [(inner, (*callers, name)) for inner in calls_in(copies)]
