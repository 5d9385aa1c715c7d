"""The pass `verify-loops`: what may stand at the loops level.

The border between kernel builders and code generation. Only the ops of `VOCABULARY`,
which upstream knows too; shapes are static; transfers stay in bounds and carry no mask.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import (
    ModuleOp,
    NoneAttr,
    StridedLayoutAttr,
)
from xdsl.dialects.vector import TransferReadOp, TransferWriteOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from glow.dialects.bounded_cache import identity_cache
from glow.lowering.loops_to_llvm.rules import RULES
from glow.lowering.type_guards import is_memref
from glow.passes.rewriting.operations import all_operations

VOCABULARY = {*RULES, func.FuncOp}
"""Exactly what has a lowering."""

Problem = Callable[[Operation], str | None]


def transfer_problem(op: Operation) -> str | None:
    """Returns what is wrong with a transfer: bounds or mask."""
    assert isinstance(op, TransferReadOp | TransferWriteOp)
    if op.mask is not None:
        return "a mask is not allowed; split the tail off as a shorter vector"
    if not all(bound.value.data for bound in op.in_bounds):
        return "in_bounds must be true in every dimension"
    return None


def alloca_problem(op: Operation) -> str | None:
    """Returns what is wrong with a stack buffer: inside a loop it would be one per
    iteration upstream.
    """
    parent = op.parent_op()
    if not isinstance(parent, func.FuncOp):
        return "must stand in the function's entry block"
    return None


PROBLEMS: dict[type[Operation], Problem] = {
    TransferReadOp: transfer_problem,
    TransferWriteOp: transfer_problem,
    memref.AllocaOp: alloca_problem,
}


@identity_cache
def layout_problem(type_: Attribute) -> str | None:
    """Returns what is wrong with a memref type: shape or strides."""
    if not is_memref(type_):
        return None
    if not type_.has_static_shape():
        return f"{type_} must have a static shape"
    if isinstance(type_.layout, NoneAttr):
        return None
    if not isinstance(type_.layout, StridedLayoutAttr):
        return f"{type_} must have a strided layout"
    if any(stride is None for stride in type_.layout.get_strides()):
        return f"{type_} must have static strides"
    return None


def problem_of(op: Operation) -> str | None:
    """Returns the rule that an op breaks, None if it breaks none."""
    if type(op) not in VOCABULARY:
        return "is not in the vocabulary of the loops level"
    check = PROBLEMS.get(type(op))
    problem = check(op) if check is not None else None
    if problem is not None:
        return problem
    for result in op.results:
        problem = layout_problem(result.type)
        if problem is not None:
            return problem
    return None


def verify_function(function: func.FuncOp) -> None:
    """Raises VerifyException for the first op that breaks a rule."""
    name = function.sym_name.data
    for type_ in function.function_type.inputs:
        problem = layout_problem(type_)
        if problem is not None:
            raise VerifyException(f"argument of @{name}: {problem}")
    for op in all_operations(function):
        problem = problem_of(op)
        if problem is not None:
            raise VerifyException(f"{op.name} in @{name}: {problem}")


def verify_loops(module: ModuleOp) -> None:
    """Verifies a whole module; raises VerifyException with one line.

    The message names the op, its function and the rule.
    """
    for op in module.ops:
        if not isinstance(op, func.FuncOp):
            raise VerifyException(f"{op.name} is not a function")
        verify_function(op)


@dataclass(frozen=True)
class VerifyLoopsPass(ModulePass):
    """Checks that a module is at the loops level; changes nothing."""

    name = "verify-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_loops(op)
