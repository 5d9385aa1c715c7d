"""Rules for `arith` on index, scalars and vectors.

On `index`, sums and constant multiples are affine forms and emit nothing; everything
else there is an opaque integer. Float minimum and maximum keep their IEEE meaning
(`maximumf` propagates NaN, `maxnumf` returns the number) unless the op's own fastmath
flags say that there are none.

Bounds of floats are one call on x86 in the place of a compare and a select:

    %less = arith.cmpf olt, %x, %bound        ->   llvm.x86.avx512.max.ps.512(%bound, %x, 4)
    %y    = arith.select %less, %bound, %x

The instruction is the same: `maxps` gives its second operand where the first is not greater, NaN
and zeros of either sign included. Epilogues of bytes bound each register of sums two or four
times, so this is a tenth of the text of their kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects import llvm as xllvm
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    Float32Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    i32,
)
from xdsl.dialects.llvm import FastMathAttr
from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects import arith, llvm
from glow.dialects.attributes import is_splat
from glow.dialects.bounded_cache import identity_cache
from glow.lowering.loops_to_llvm.affine import AffineForm, fold_index
from glow.lowering.loops_to_llvm.builder import (
    NO_FLAGS,
    NO_OVERFLOW,
    NO_PROPERTIES,
    Properties,
    predicate_properties,
    vector_attribute,
)
from glow.lowering.loops_to_llvm.function_lowering import (
    FunctionLowering,
    Registers,
    Rule,
    entry,
)
from glow.lowering.loops_to_llvm.layout import boolean_like, lanes_of
from glow.lowering.loops_to_llvm.lazy import is_lazy
from glow.lowering.loops_to_llvm.sign_flips import SIGN, is_lazy_flip
from glow.lowering.type_guards import is_vector

Maker = Callable[[SSAValue], SSAValue]


@identity_cache
def llvm_flags(flags: FastMathFlagsAttr) -> FastMathAttr:
    """Returns the fastmath flags of `arith` as those of `llvm`."""
    return FastMathAttr(tuple(flags.data))


def flags_of(op: Operation) -> FastMathAttr:
    """Returns an op's fastmath flags."""
    flags = op.properties.get("fastmath")
    if isinstance(flags, FastMathFlagsAttr) and flags.data:
        return llvm_flags(flags)
    return NO_FLAGS


@identity_cache
def float_properties(flags: FastMathAttr) -> Properties:
    return {"fastmathFlags": flags}


# Constants ---------------------------------------------------------------------------


def constant(low: FunctionLowering, op: arith.ConstantOp) -> None:
    result, value = op.result, op.value
    if isinstance(value, IntegerAttr) and isinstance(result.type, IndexType):
        low.indices[result] = AffineForm(value.value.data)
    elif isinstance(value, DenseIntOrFPElementsAttr):
        low.set_registers(result, vector_constant(low, value, result.type))
    else:
        assert isinstance(value, IntegerAttr | FloatAttr)
        type_ = low.layout(result).element
        low.set_registers(result, [low.builder.number(value.value.data, type_)])


def vector_constant(
    low: FunctionLowering, value: DenseIntOrFPElementsAttr, type_: Attribute
) -> Registers:
    """Returns the registers of a dense constant."""
    layout = low.layout_of(type_)
    numbers = cast("Sequence[float | int]", value.get_values())
    if is_splat(value):
        row = [low.builder.number(numbers[0], type_) for type_ in layout.row_types]
        return row * layout.rows
    registers: list[SSAValue] = []
    for row in range(layout.rows):
        for (first, width), register in zip(
            layout.chunks, layout.row_types, strict=True
        ):
            assert is_vector(register)
            start = row * layout.width + first
            piece = vector_attribute(numbers[start : start + width], register)
            registers.append(low.builder.constant(piece, register))
    return registers


# Rounding divisions ------------------------------------------------------------------


def floor_divide(low: FunctionLowering, op: arith.FloorDivSIOp) -> None:
    divide_rounding(low, op, is_ceiling=False)


def ceil_divide(low: FunctionLowering, op: arith.CeilDivSIOp) -> None:
    divide_rounding(low, op, is_ceiling=True)


def divide_rounding(low: FunctionLowering, op: Operation, *, is_ceiling: bool) -> None:
    """Signed division rounded down or up: the quotient is corrected by one where the
    remainder is not zero and the signs of the operands differ (or agree).
    """
    builder = low.builder
    results: list[SSAValue] = []
    for lhs, rhs in zip(*map(low.registers, op.operands), strict=True):
        zero, one = builder.number(0, lhs.type), builder.number(1, lhs.type)
        quotient = builder.emit(xllvm.SDivOp, (lhs, rhs), lhs.type)
        remainder = builder.emit(xllvm.SRemOp, (lhs, rhs), lhs.type)
        signs = builder.emit(xllvm.XOrOp, (lhs, rhs), lhs.type)
        corrected = builder.emit(
            xllvm.AddOp if is_ceiling else xllvm.SubOp,
            (quotient, one),
            lhs.type,
            NO_OVERFLOW,
        )
        less, at_least = 2, 5
        sign_test = builder.compare(at_least if is_ceiling else less, signs, zero)
        inexact = builder.compare(1, remainder, zero)
        wrong = builder.emit(xllvm.AndOp, (inexact, sign_test), inexact.type)
        results.append(builder.select(wrong, corrected, quotient))
    low.set_registers(op.results[0], results)


def ceil_divide_unsigned(low: FunctionLowering, op: arith.CeilDivUIOp) -> None:
    """`(a - 1) / b + 1`, and 0 for 0."""
    builder = low.builder
    results: list[SSAValue] = []
    for lhs, rhs in zip(*map(low.registers, op.operands), strict=True):
        zero, one = builder.number(0, lhs.type), builder.number(1, lhs.type)
        less = builder.emit(xllvm.SubOp, (lhs, one), lhs.type, NO_OVERFLOW)
        quotient = builder.emit(xllvm.UDivOp, (less, rhs), lhs.type)
        result = builder.add(quotient, one)
        results.append(builder.select(builder.compare(0, lhs, zero), zero, result))
    low.set_registers(op.results[0], results)


# Element-wise ------------------------------------------------------------------------


def element_wise(
    op_class: type[Operation], properties: Properties = NO_PROPERTIES
) -> Callable[[FunctionLowering, Operation], None]:
    """Returns the rule that maps an integer op register by register."""

    def rule(low: FunctionLowering, op: Operation) -> None:
        if fold_index(low, op):
            return
        emit = low.builder.emit
        lhs, rhs = map(low.registers, op.operands)
        registers = [
            emit(op_class, pair, pair[0].type, properties)
            for pair in zip(lhs, rhs, strict=True)
        ]
        low.set_registers(op.results[0], registers)

    return rule


def exclusive_or(low: FunctionLowering, op: arith.XOrIOp) -> None:
    registers = low.registers(op.lhs) if is_lazy_flip(op) else ()
    if not is_lazy(registers):
        element_wise(xllvm.XOrOp)(low, op)
        return

    def flip(register: SSAValue) -> SSAValue:
        sign = low.builder.number(SIGN, register.type)
        return low.builder.emit(xllvm.XOrOp, (register, sign), register.type)

    low.set_registers(op.result, registers.map(flip))


def float_element_wise(
    op_class: type[Operation],
) -> Callable[[FunctionLowering, Operation], None]:
    """Returns the rule that maps a float op register by register, flags kept."""

    def rule(low: FunctionLowering, op: Operation) -> None:
        emit = low.builder.emit
        properties = float_properties(flags_of(op))
        operands = zip(*map(low.registers, op.operands), strict=True)
        registers = [
            emit(op_class, group, group[0].type, properties) for group in operands
        ]
        low.set_registers(op.results[0], registers)

    return rule


def intrinsic(name: str) -> Callable[[FunctionLowering, Operation], None]:
    """Returns the rule that maps an op to an overloaded intrinsic."""

    def rule(low: FunctionLowering, op: Operation) -> None:
        if fold_index(low, op):
            return
        overloaded, flags = low.builder.overloaded, flags_of(op)
        operands = zip(*map(low.registers, op.operands), strict=True)
        registers = [overloaded(name, group, flags) for group in operands]
        low.set_registers(op.results[0], registers)

    return rule


def negate(low: FunctionLowering, op: arith.NegfOp) -> None:
    emit = low.builder.emit
    properties = float_properties(flags_of(op))
    registers = [
        emit(xllvm.FNegOp, (register,), register.type, properties)
        for register in low.registers(op.operand)
    ]
    low.set_registers(op.result, registers)


def compare_integers(low: FunctionLowering, op: Operation) -> None:
    predicate = op.properties["predicate"]
    assert isinstance(predicate, IntegerAttr)
    compare, number = low.builder.compare, predicate.value.data
    lhs, rhs = map(low.registers, op.operands)
    registers = [compare(number, a, b) for a, b in zip(lhs, rhs, strict=True)]
    low.set_registers(op.results[0], registers)


def compare_floats(low: FunctionLowering, op: Operation) -> None:
    """Nothing is emitted where only bounds read the result."""
    if all(is_bound(low, use.operation) for use in op.results[0].uses):
        return
    predicate = op.properties["predicate"]
    assert isinstance(predicate, IntegerAttr)
    properties = {
        **predicate_properties(predicate.value.data),
        "fastmathFlags": flags_of(op),
    }
    emit = low.builder.emit
    lhs, rhs = map(low.registers, op.operands)
    registers = [
        emit(llvm.FCmpOp, (a, b), boolean_like(a.type), properties)
        for a, b in zip(lhs, rhs, strict=True)
    ]
    low.set_registers(op.results[0], registers)


def select(low: FunctionLowering, op: Operation) -> None:
    """A scalar condition serves all registers of the operands, memrefs included."""
    if isinstance(op, arith.SelectOp) and is_bound(low, op):
        select_bound(low, op)
        return
    condition, lhs, rhs = op.operands
    conditions = low.registers(condition)
    then, otherwise = low.flatten(lhs), low.flatten(rhs)
    if len(conditions) < len(then):
        conditions = list(conditions) * len(then)
    registers = [
        low.builder.select(*triple)
        for triple in zip(conditions, then, otherwise, strict=True)
    ]
    low.bind(op.results[0], registers)


# Bounds --------------------------------------------------------------------------------

BOUND_NAMES = {4: ("sse", ""), 8: ("avx", ".256"), 16: ("avx512", ".512")}
"""The part and the end of an intrinsic's name, by lanes of f32."""

BOUND_KINDS = {
    arith.CMPF_COMPARISON_OPERATIONS.index("olt"): "max",
    arith.CMPF_COMPARISON_OPERATIONS.index("ogt"): "min",
}
"""What picks the bound where the number is on that side of it."""

CURRENT_ROUNDING = 4
"""How AVX-512 rounds, `_MM_FROUND_CUR_DIRECTION`: of extrema, as always."""


def is_bound(low: FunctionLowering, op: Operation) -> bool:
    """Whether a select bounds whole registers of f32, and x86 is what it is for."""
    is_x86 = low.has_intrinsics and low.target.triple.startswith("x86_64")
    if not is_x86 or not isinstance(op, arith.SelectOp):
        return False
    condition, bound, number = op.operands
    test = condition.owner
    return (
        isinstance(test, arith.CmpfOp)
        and test.predicate.value.data in BOUND_KINDS
        and not flags_of(test).data
        and tuple(test.operands) == (number, bound)
        and _has_whole_registers(low, number)
    )


def _has_whole_registers(low: FunctionLowering, value: SSAValue) -> bool:
    layout = low.layout(value)
    return isinstance(layout.element, Float32Type) and all(
        lanes_of(type_) in BOUND_NAMES and lanes_of(type_) <= low.lanes
        for type_ in layout.row_types
    )


def select_bound(low: FunctionLowering, op: arith.SelectOp) -> None:
    condition, *operands = op.operands
    test = condition.owner
    assert isinstance(test, arith.CmpfOp)
    kind = BOUND_KINDS[test.predicate.value.data]
    pairs = zip(*map(low.registers, operands), strict=True)
    low.set_registers(op.result, [bounded(low, kind, *pair) for pair in pairs])


def bounded(
    low: FunctionLowering, kind: str, bound: SSAValue, number: SSAValue
) -> SSAValue:
    """Returns a register bounded by another."""
    extension, end = BOUND_NAMES[lanes_of(number.type)]
    operands = [bound, number]
    if extension == "avx512":
        operands.append(low.builder.number(CURRENT_ROUNDING, i32))
    name = f"llvm.x86.{extension}.{kind}.ps{end}"
    return low.builder.intrinsic(name, operands, number.type)


RULES: dict[type[Operation], Rule] = dict(
    [
        entry(arith.ConstantOp, constant),
        entry(arith.AddiOp, element_wise(xllvm.AddOp, NO_OVERFLOW)),
        entry(arith.SubiOp, element_wise(xllvm.SubOp, NO_OVERFLOW)),
        entry(arith.MuliOp, element_wise(xllvm.MulOp, NO_OVERFLOW)),
        entry(arith.FloorDivSIOp, floor_divide),
        entry(arith.CeilDivSIOp, ceil_divide),
        entry(arith.CeilDivUIOp, ceil_divide_unsigned),
        entry(arith.DivSIOp, element_wise(xllvm.SDivOp)),
        entry(arith.DivUIOp, element_wise(xllvm.UDivOp)),
        entry(arith.RemSIOp, element_wise(xllvm.SRemOp)),
        entry(arith.RemUIOp, element_wise(xllvm.URemOp)),
        entry(arith.AndIOp, element_wise(xllvm.AndOp)),
        entry(arith.OrIOp, element_wise(xllvm.OrOp)),
        entry(arith.XOrIOp, exclusive_or),
        entry(arith.ShLIOp, element_wise(xllvm.ShlOp, NO_OVERFLOW)),
        entry(arith.ShRUIOp, element_wise(xllvm.LShrOp)),
        entry(arith.ShRSIOp, element_wise(xllvm.AShrOp)),
        entry(arith.MinSIOp, intrinsic("llvm.smin")),
        entry(arith.MaxSIOp, intrinsic("llvm.smax")),
        entry(arith.MinUIOp, intrinsic("llvm.umin")),
        entry(arith.MaxUIOp, intrinsic("llvm.umax")),
        entry(arith.AddfOp, float_element_wise(xllvm.FAddOp)),
        entry(arith.SubfOp, float_element_wise(xllvm.FSubOp)),
        entry(arith.MulfOp, float_element_wise(xllvm.FMulOp)),
        entry(arith.DivfOp, float_element_wise(xllvm.FDivOp)),
        entry(arith.RemfOp, float_element_wise(xllvm.FRemOp)),
        entry(arith.NegfOp, negate),
        entry(arith.MaximumfOp, intrinsic("llvm.maximum")),
        entry(arith.MinimumfOp, intrinsic("llvm.minimum")),
        entry(arith.MaxnumfOp, intrinsic("llvm.maxnum")),
        entry(arith.MinnumfOp, intrinsic("llvm.minnum")),
        entry(arith.CmpiOp, compare_integers),
        entry(arith.CmpfOp, compare_floats),
        entry(arith.SelectOp, select),
    ]
)
