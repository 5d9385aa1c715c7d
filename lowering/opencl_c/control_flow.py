"""Rules for `scf` and `func`: loops and conditions are those of C.

Carried values are variables, declared before the loop and assigned at the end of its body;
they are the results behind it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, Region, SSAValue

from glow.lowering.loops_to_llvm.function_lowering import entry
from glow.lowering.opencl_c.c_types import type_name
from glow.lowering.opencl_c.function_printer import FunctionPrinter, Rule
from glow.lowering.type_guards import is_memref


def assign(
    out: FunctionPrinter,
    names: Sequence[str],
    texts: Sequence[str],
    types: Sequence[str],
) -> None:
    """Assigns all at once: what would be overwritten before it is read is copied first."""
    pairs = [
        (name, text, type_)
        for name, text, type_ in zip(names, texts, types, strict=True)
        if name != text
    ]
    written = {name for name, _, _ in pairs}
    values: list[str] = []
    for _, text, type_ in pairs:
        if any(name in text for name in written):
            copy = out.new_name()
            out.line(f"{type_} {copy} = {text};")
            text = copy
        values.append(text)
    for (name, _, _), text in zip(pairs, values, strict=True):
        out.line(f"{name} = {text};")


def types_of(out: FunctionPrinter, values: Sequence[SSAValue]) -> list[str]:
    """The C types of what passes a border for values."""
    types: list[str] = []
    for value in values:
        if is_memref(value.type):
            types.append(out.pointer_type(value.type))
        else:
            layout = out.layout(value)
            types.extend(type_name(layout.element, lanes) for lanes in layout.lanes)
    return types


def print_region(out: FunctionPrinter, region: Region) -> list[str]:
    """Prints a region of one block; what it yields."""
    out.print_block(region.block)
    out.load_pending()
    terminator = region.block.last_op
    return out.flatten(terminator.operands) if terminator is not None else []


def for_loop(out: FunctionPrinter, op: scf.ForOp) -> None:
    out.load_pending()
    variable, *carried = op.body.block.args
    types = types_of(out, carried)
    initial = out.flatten(op.iter_args)
    names = out.declare_all(carried)
    assign(out, names, initial, types)
    out.bind_all(carried, names)
    counter = out.new_name()
    assert isinstance(variable.type, IndexType)
    lower, upper, step = (out.index_text(bound) for bound in (op.lb, op.ub, op.step))
    advance = f"{counter}++" if step == "1" else f"{counter} += {step}"
    head = f"for (long {counter} = {lower}; {counter} < {upper}; {advance})"
    with out.braces(head):
        out.set_index(variable, counter)
        assign(out, names, print_region(out, op.body), types)
    out.bind_all(op.results, names)


def condition(out: FunctionPrinter, op: scf.IfOp) -> None:
    out.load_pending()
    test = out.scalar(op.cond)
    types = types_of(out, op.results)
    names = out.declare_all(op.results)
    with out.braces(f"if ({test})"):
        assign(out, names, print_region(out, op.true_region), types)
    if op.false_region.blocks:
        out.lines.pop()
        with out.braces("} else"):
            assign(out, names, print_region(out, op.false_region), types)
    out.bind_all(op.results, names)


def while_loop(out: FunctionPrinter, op: scf.WhileOp) -> None:
    """A loop whose first region says whether its second one runs."""
    out.load_pending()
    before, after = op.before_region.block, op.after_region.block
    types, result_types = types_of(out, before.args), types_of(out, op.res)
    initial = out.flatten(op.arguments)
    names, results = out.declare_all(before.args), out.declare_all(op.res)
    assign(out, names, initial, types)
    out.bind_all(before.args, names)
    test = before.last_op
    assert isinstance(test, scf.ConditionOp)
    with out.braces("while (1)"):
        out.print_block(before)
        out.load_pending()
        assign(out, results, out.flatten(test.args), result_types)
        out.line(f"if (!({out.scalar(test.condition)})) break;")
        out.bind_all(after.args, results)
        assign(out, names, print_region(out, op.after_region), types)
    out.bind_all(op.res, results)


def function_return(out: FunctionPrinter, op: func.ReturnOp) -> None:
    out.load_pending()


def nothing(out: FunctionPrinter, op: Operation) -> None:
    """Prints nothing: the op that owns the region reads its yield."""


RULES: dict[type[Operation], Rule] = dict(
    [
        entry(scf.ForOp, for_loop),
        entry(scf.IfOp, condition),
        entry(scf.WhileOp, while_loop),
        entry(scf.YieldOp, nothing),
        entry(scf.ConditionOp, nothing),
        entry(func.ReturnOp, function_return),
    ]
)
