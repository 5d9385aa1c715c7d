"""Reads a `main` of calls: which function each calls, and that there is nothing else."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from glow.dialects.errors import GlowError
from glow.dialects.locations import place_of


def functions_of(module: ModuleOp) -> dict[str, func.FuncOp]:
    """The functions of a module that have a body, by name."""
    return {
        op.sym_name.data: op
        for op in module.ops
        if isinstance(op, func.FuncOp) and op.body.blocks
    }


def is_divided(module: ModuleOp) -> bool:
    """Whether the module's `main` calls a function of the module."""
    functions = functions_of(module)
    main = functions.get("main")
    return main is not None and any(
        isinstance(op, func.CallOp) and callee_name(op) in functions
        for op in main.body.block.ops
    )


def callee_name(call: func.CallOp) -> str:
    """The name of the function that is called."""
    return call.callee.string_value()


def called_parts(module: ModuleOp) -> list[tuple[func.CallOp, func.FuncOp]]:
    """The calls of `main` in order, each with its function.

    Raises GlowError unless there is nothing else in it, and each function is called once.
    """
    functions = functions_of(module)
    main = functions.get("main")
    if main is None:
        raise GlowError("the module has no function 'main'")
    found: dict[str, tuple[func.CallOp, func.FuncOp]] = {}
    for op in main.body.block.ops:
        if isinstance(op, func.ReturnOp):
            continue
        if not isinstance(op, func.CallOp):
            raise GlowError(
                f"@main has {op.name} beside the calls of parts",
                location=place_of(op),
                hint="divide the network with --partition",
            )
        name = callee_name(op)
        if name in found or name not in functions:
            what = "is called twice" if name in found else "is not in the module"
            raise GlowError(f"@{name} {what}", location=place_of(op))
        found[name] = op, functions[name]
    return list(found.values())
