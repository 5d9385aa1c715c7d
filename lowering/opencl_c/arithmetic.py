"""Rules for `arith` on index, scalars and vectors.

On `index`, sums and constant multiples are affine forms and print nothing. A template has
`{0}`, `{1}`... for its operands; those of floats stand for all floats, and narrow ones are
widened around them. `maximumf` is NaN if an operand is, which `fmax` is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects import vector
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects import arith
from glow.dialects.attributes import is_splat
from glow.lowering.loops_to_llvm.affine import AffineForm, fold_index
from glow.lowering.loops_to_llvm.function_lowering import entry
from glow.lowering.opencl_c.c_types import (
    is_boolean,
    is_narrow_float,
    literal,
    scalar_literal,
    scalar_name,
    signed,
    stored,
    type_name,
    unsigned,
)
from glow.lowering.opencl_c.function_printer import FunctionPrinter, Rule

# Narrow floats -----------------------------------------------------------------------


def narrow_prefix(element: Attribute) -> str:
    """How the functions for a narrow float are called."""
    return "bfloat" if isinstance(element, BFloat16Type) else "half"


def widened(out: FunctionPrinter, element: Attribute, lanes: int, text: str) -> str:
    """A float as one that is computed with."""
    if not is_narrow_float(element):
        return text
    return f"{out.helper(f'float_of_{narrow_prefix(element)}', lanes)}({text})"


def narrowed(out: FunctionPrinter, element: Attribute, lanes: int, text: str) -> str:
    """A computed float as a register holds it."""
    if not is_narrow_float(element):
        return text
    return f"{out.helper(f'{narrow_prefix(element)}_of_float', lanes)}({text})"


# Constants ---------------------------------------------------------------------------


def constant(out: FunctionPrinter, op: arith.ConstantOp) -> None:
    result, value = op.result, op.value
    if isinstance(value, IntegerAttr) and isinstance(result.type, IndexType):
        out.indices[result] = AffineForm(value.value.data)
    elif isinstance(value, DenseIntOrFPElementsAttr):
        out.set_registers(result, dense_literals(out, result, value))
    else:
        assert isinstance(value, IntegerAttr | FloatAttr)
        element = out.layout(result).element
        out.set_registers(result, [scalar_literal(value.value.data, element)])


def dense_literals(
    out: FunctionPrinter, result: SSAValue, value: DenseIntOrFPElementsAttr
) -> Sequence[str]:
    """The registers of a dense constant."""
    layout, numbers = out.layout(result), cast("Sequence[float]", value.get_values())
    if is_splat(value):
        return [literal(numbers[0], layout.element, lanes) for lanes in layout.lanes]
    registers: list[str] = []
    for row in range(layout.rows):
        for first, lanes in layout.chunks:
            start = row * layout.width + first
            registers.append(
                lanes_literal(numbers[start : start + lanes], layout.element)
            )
    return registers


def lanes_literal(numbers: Sequence[float], element: Attribute) -> str:
    """A constant with a number for each lane."""
    if len(set(map(str, numbers))) == 1:
        return literal(numbers[0], element, len(numbers))
    sign = "-" if is_boolean(element) else ""
    texts = [sign + scalar_literal(number, element) for number in numbers]
    return f"(({type_name(element, len(numbers))})({', '.join(texts)}))"


def is_constant(value: SSAValue) -> bool:
    """Whether a value is a constant in all lanes, and no NaN."""
    owner = value.owner
    while isinstance(owner, vector.BroadcastOp):
        owner = owner.source.owner
    if not isinstance(owner, arith.ConstantOp):
        return False
    attribute = owner.value
    if isinstance(attribute, DenseIntOrFPElementsAttr):
        numbers = cast("Sequence[float]", attribute.get_values())
        return all(number == number for number in numbers[:1]) and is_splat(attribute)
    assert isinstance(attribute, IntegerAttr | FloatAttr)
    return attribute.value.data == attribute.value.data


# Element-wise ------------------------------------------------------------------------

Cast = Callable[[Attribute, int, str], str]


def as_it_is(element: Attribute, lanes: int, text: str) -> str:
    """An operand whose sign does not count."""
    return text


def integers(
    template: str, cast_: Cast = as_it_is
) -> Callable[[FunctionPrinter, Operation], None]:
    """The rule of an integer operation; `cast_` makes operands signed or unsigned."""

    def rule(out: FunctionPrinter, op: Operation) -> None:
        if fold_index(out, op):
            return
        element = out.layout(op.results[0]).element

        def text(lanes: int, group: Sequence[str]) -> str:
            parts = [cast_(element, lanes, operand) for operand in group]
            return stored(element, lanes, template.format(*parts))

        out.define(op.results[0], (text(*each) for each in out.groups(op)))

    return rule


def plain(template: str) -> Callable[[FunctionPrinter, Operation], None]:
    """The rule of an operation on bits, for which signs do not count."""

    def rule(out: FunctionPrinter, op: Operation) -> None:
        if fold_index(out, op):
            return
        groups = zip(*map(out.registers, op.operands), strict=True)
        out.define(op.results[0], (template.format(*group) for group in groups))

    return rule


def floats(template: str) -> Callable[[FunctionPrinter, Operation], None]:
    """The rule of a float operation."""

    def rule(out: FunctionPrinter, op: Operation) -> None:
        element = out.layout(op.results[0]).element

        def text(lanes: int, group: Sequence[str]) -> str:
            parts = [widened(out, element, lanes, operand) for operand in group]
            return narrowed(out, element, lanes, template.format(*parts))

        out.define(op.results[0], (text(*each) for each in out.groups(op)))

    return rule


def without_overflow(element: Attribute, lanes: int, text: str) -> str:
    """A factor; small ones would be multiplied as `int`."""
    is_small = lanes == 1 and scalar_name(element) in ("uchar", "ushort")
    return f"(uint){text}" if is_small else text


def extremum(comparison: str) -> Callable[[FunctionPrinter, Operation], None]:
    """The rule of `maximumf` or `minimumf`: NaN if an operand is NaN.

    `comparison` holds where the second operand is the result. It does not where an operand
    is NaN: the first one is then taken, or their sum, if the second one may be NaN.
    """

    def rule(out: FunctionPrinter, op: Operation) -> None:
        element = out.layout(op.results[0]).element
        second_is_number = is_constant(op.operands[1])
        texts: list[str] = []
        for lanes, (lhs, rhs) in out.groups(op):
            a, b = (widened(out, element, lanes, text) for text in (lhs, rhs))
            test = f"{a} {comparison} {b}"
            if not second_is_number:
                test = f"({test}) | ({b} != {b})"
            chosen = f"select({a}, {b}, {test})" if lanes > 1 else f"{test} ? {b} : {a}"
            texts.append(narrowed(out, element, lanes, chosen))
        out.define(op.results[0], texts)

    return rule


RULES: dict[type[Operation], Rule] = dict(
    [
        entry(arith.ConstantOp, constant),
        entry(arith.AddiOp, plain("{0} + {1}")),
        entry(arith.SubiOp, plain("{0} - {1}")),
        entry(arith.MuliOp, integers("{0} * {1}", without_overflow)),
        entry(arith.DivSIOp, integers("{0} / {1}", signed)),
        entry(arith.DivUIOp, integers("{0} / {1}", unsigned)),
        entry(arith.RemSIOp, integers("{0} % {1}", signed)),
        entry(arith.RemUIOp, integers("{0} % {1}", unsigned)),
        entry(arith.AndIOp, plain("{0} & {1}")),
        entry(arith.OrIOp, plain("{0} | {1}")),
        entry(arith.XOrIOp, plain("{0} ^ {1}")),
        entry(arith.ShLIOp, integers("{0} << {1}", unsigned)),
        entry(arith.ShRUIOp, integers("{0} >> {1}", unsigned)),
        entry(arith.ShRSIOp, integers("{0} >> {1}", signed)),
        entry(arith.MinSIOp, integers("min({0}, {1})", signed)),
        entry(arith.MaxSIOp, integers("max({0}, {1})", signed)),
        entry(arith.MinUIOp, integers("min({0}, {1})", unsigned)),
        entry(arith.MaxUIOp, integers("max({0}, {1})", unsigned)),
        entry(arith.AddfOp, floats("{0} + {1}")),
        entry(arith.SubfOp, floats("{0} - {1}")),
        entry(arith.MulfOp, floats("{0} * {1}")),
        entry(arith.DivfOp, floats("{0} / {1}")),
        entry(arith.RemfOp, floats("fmod({0}, {1})")),
        entry(arith.NegfOp, floats("-{0}")),
        entry(arith.MaximumfOp, extremum("<")),
        entry(arith.MinimumfOp, extremum(">")),
        entry(arith.MaxnumfOp, floats("fmax({0}, {1})")),
        entry(arith.MinnumfOp, floats("fmin({0}, {1})")),
    ]
)
