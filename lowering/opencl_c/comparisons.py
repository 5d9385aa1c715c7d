"""Rules for comparisons and choices, and for divisions that are corrected by a comparison.

Comparisons of vectors are -1 or 0 in lanes as wide as those compared; an i1 is held as `int`.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation

from glow.dialects import arith
from glow.lowering.loops_to_llvm.function_lowering import entry
from glow.lowering.opencl_c.arithmetic import as_it_is, widened
from glow.lowering.opencl_c.c_types import (
    BITS,
    INTEGER_OF_BITS,
    is_boolean,
    is_narrow_float,
    scalar_name,
    signed,
    stored,
    unsigned,
    vector_name,
)
from glow.lowering.opencl_c.function_printer import FunctionPrinter, Memory, Rule
from glow.lowering.type_guards import is_memref

INTEGER_TESTS = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")
FIRST_UNSIGNED = 6


def as_mask(scalar: str, lanes: int, text: str) -> str:
    """What a comparison of such elements gives, as an i1."""
    if lanes == 1 or BITS[scalar] == 32:
        return text
    return f"convert_int{lanes}({text})"


def compare_integers(out: FunctionPrinter, op: Operation) -> None:
    predicate = cast("IntegerAttr", op.properties["predicate"]).value.data
    element, texts = out.layout(op.operands[0]).element, list[str]()
    cast_ = unsigned if predicate >= FIRST_UNSIGNED else signed
    if is_boolean(element):
        cast_ = as_it_is
    for lanes, group in out.groups(op):
        lhs, rhs = (cast_(element, lanes, text) for text in group)
        test = f"{lhs} {INTEGER_TESTS[predicate]} {rhs}"
        texts.append(as_mask(scalar_name(element), lanes, test))
    out.define(op.results[0], texts)


FLOAT_TESTS = {
    "false": "{0} != {0} && 0",
    "oeq": "{0} == {1}",
    "ogt": "{0} > {1}",
    "oge": "{0} >= {1}",
    "olt": "{0} < {1}",
    "ole": "{0} <= {1}",
    "one": "islessgreater({0}, {1})",
    "ord": "isordered({0}, {1})",
    "ueq": "!islessgreater({0}, {1})",
    "ugt": "!({0} <= {1})",
    "uge": "!({0} < {1})",
    "ult": "!({0} >= {1})",
    "ule": "!({0} > {1})",
    "une": "{0} != {1}",
    "uno": "isunordered({0}, {1})",
}


def compare_floats(out: FunctionPrinter, op: Operation) -> None:
    number = cast("IntegerAttr", op.properties["predicate"]).value.data
    template = FLOAT_TESTS[arith.CMPF_COMPARISON_OPERATIONS[number]]
    element, texts = out.layout(op.operands[0]).element, list[str]()
    scalar = "float" if is_narrow_float(element) else scalar_name(element)
    for lanes, group in out.groups(op):
        parts = [widened(out, element, lanes, text) for text in group]
        texts.append(as_mask(scalar, lanes, template.format(*parts)))
    out.define(op.results[0], texts)


def select(out: FunctionPrinter, op: Operation) -> None:
    """A scalar condition serves all registers of the operands, memrefs included."""
    condition, lhs, rhs = op.operands
    if is_memref(lhs.type):
        select_memory(out, op)
        return
    layout = out.layout(op.results[0])
    is_scalar = not out.layout(condition).width
    tests = list(out.registers(condition)) * (len(layout.lanes) if is_scalar else 1)
    groups = zip(tests, out.registers(lhs), out.registers(rhs), strict=True)
    out.define(
        op.results[0],
        [
            chosen(layout.element, lanes, is_scalar, *group)
            for lanes, group in zip(layout.lanes, groups, strict=True)
        ],
    )


def chosen(
    element: Attribute, lanes: int, is_scalar: bool, test: str, lhs: str, rhs: str
) -> str:
    """One of two registers; a mask has the lanes of 32 bits."""
    if is_scalar or lanes == 1:
        return f"{test} ? {lhs} : {rhs}"
    bits = BITS[scalar_name(element)]
    if bits != 32:
        test = f"convert_{vector_name(INTEGER_OF_BITS[bits], lanes)}({test})"
    return f"select({rhs}, {lhs}, {test})"


def select_memory(out: FunctionPrinter, op: Operation) -> None:
    """The pointer of one of two memrefs."""
    condition, lhs, rhs = op.operands
    memory: Memory = out.memories[lhs]
    (name,) = out.declare_all(op.results)
    first, second = (out.pointer(out.memories[value]) for value in (lhs, rhs))
    out.line(f"{name} = {out.scalar(condition)} ? {first} : {second};")
    out.bind_memory(op.results[0], name, memory.space)


# Signed division ---------------------------------------------------------------------


def floor_divide(out: FunctionPrinter, op: Operation) -> None:
    """Signed division rounded down; by a positive constant, as builders have it."""
    divide_rounding(out, op, "-", "<")


def ceil_divide(out: FunctionPrinter, op: Operation) -> None:
    """Signed division rounded up."""
    divide_rounding(out, op, "+", ">=")


def divide_rounding(out: FunctionPrinter, op: Operation, sign: str, test: str) -> None:
    """The quotient is corrected by one where the remainder is not zero and the signs of
    the operands differ, or agree. Comparisons are -1 in lanes of vectors.
    """
    element, texts = out.layout(op.results[0]).element, list[str]()
    for lanes, group in out.groups(op):
        a, b = (signed(element, lanes, text) for text in group)
        wrong = f"(({a} % {b} != 0) & (({a} ^ {b}) {test} 0))"
        step = sign if lanes == 1 else {"-": "+", "+": "-"}[sign]
        texts.append(stored(element, lanes, f"{a} / {b} {step} {wrong}"))
    out.define(op.results[0], texts)


def ceil_divide_unsigned(out: FunctionPrinter, op: Operation) -> None:
    element, texts = out.layout(op.results[0]).element, list[str]()
    for lanes, group in out.groups(op):
        a, b = (unsigned(element, lanes, text) for text in group)
        texts.append(stored(element, lanes, f"{a} / {b} + ({a} % {b} != 0 ? 1 : 0)"))
    out.define(op.results[0], texts)


RULES: dict[type[Operation], Rule] = dict(
    [
        entry(arith.CmpiOp, compare_integers),
        entry(arith.CmpfOp, compare_floats),
        entry(arith.SelectOp, select),
        entry(arith.FloorDivSIOp, floor_divide),
        entry(arith.CeilDivSIOp, ceil_divide),
        entry(arith.CeilDivUIOp, ceil_divide_unsigned),
    ]
)
