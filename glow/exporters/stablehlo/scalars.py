"""Scalar operations of `arith` and `math`, each as an operation on whole tensors.

    glow.fused %x { ^bb0(%a: f32): %b = math.exp %a : f32 ... }
  becomes
    stablehlo.exponential %x

This is the way of nodes that no operation of StableHLO is, but that say what they do to one
element. An index is an i64; integers whose operation is unsigned are read as unsigned ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import (
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from glow.dialects.node import NodeOp, element_of, shape_of
from glow.dialects.weight_table import dtype_of
from glow.exporters.failures import CannotExport
from glow.exporters.programs.writer import type_like
from glow.exporters.stablehlo.hlo_writer import HloWriter
from glow.passes.rewriting.scalar_bodies import emit_node
from glow.passes.rewriting.scalar_builder import ScalarBuilder, as_integer

Values: TypeAlias = "list[SSAValue]"
Scalar: TypeAlias = "Callable[[HloWriter, Operation, Values], SSAValue]"

UNARY = {
    "arith.negf": "negate",
    "math.absf": "abs",
    "math.absi": "abs",
    "math.floor": "floor",
    "math.ceil": "ceil",
    "math.roundeven": "round_nearest_even",
    "math.sqrt": "sqrt",
    "math.rsqrt": "rsqrt",
    "math.exp": "exponential",
    "math.expm1": "exponential_minus_one",
    "math.log": "log",
    "math.log1p": "log_plus_one",
    "math.sin": "sine",
    "math.cos": "cosine",
    "math.tan": "tan",
    "math.tanh": "tanh",
    "math.asin": "chlo.asin",
    "math.acos": "chlo.acos",
    "math.atan": "chlo.atan",
    "math.erf": "chlo.erf",
    "math.ctlz": "count_leading_zeros",
    "math.ctpop": "popcnt",
}

BINARY = {
    "arith.addf": "add",
    "arith.addi": "add",
    "arith.subf": "subtract",
    "arith.subi": "subtract",
    "arith.mulf": "multiply",
    "arith.muli": "multiply",
    "arith.divf": "divide",
    "arith.divsi": "divide",
    "arith.remf": "remainder",
    "arith.remsi": "remainder",
    "arith.maximumf": "maximum",
    "arith.minimumf": "minimum",
    "arith.maxsi": "maximum",
    "arith.minsi": "minimum",
    "arith.andi": "and",
    "arith.ori": "or",
    "arith.xori": "xor",
    "arith.shli": "shift_left",
    "arith.shrsi": "shift_right_arithmetic",
    "arith.shrui": "shift_right_logical",
    "math.powf": "power",
    "math.ipowi": "power",
}

UNSIGNED = {
    "arith.divui": "divide",
    "arith.remui": "remainder",
    "arith.maxui": "maximum",
    "arith.minui": "minimum",
}

FLOAT_ORDER = {1: "EQ", 2: "GT", 3: "GE", 4: "LT", 5: "LE", 13: "NE"}
UNORDERED = {8: "NE", 9: "LE", 10: "LT", 11: "GE", 12: "GT", 6: "EQ"}
"""Predicates to what they are the opposite of."""
INTEGER_ORDER = ("EQ", "NE", "LT", "LE", "GT", "GE")

TO_NUMBERS = ("extf", "truncf", "extsi", "trunci", "sitofp", "fptosi", "index_cast")


def write_scalar_body(
    writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> list[SSAValue]:
    """A node as what it does to each element."""
    values = writer.together(*inputs, shape=shape_of(op.results[0]))
    scalars = Block(arg_types=[element_of(value) for value in op.inputs])
    results = emit_node(ScalarBuilder(scalars), op, scalars.args)
    known = dict[SSAValue, SSAValue](zip(scalars.args, values, strict=True))
    for one in scalars.ops:
        known[one.results[0]] = write_scalar(
            writer,
            one,
            [known[value] for value in one.operands],
            shape_of(op.results[0]),
        )
    return [known[result] for result in results]


def write_scalar(
    writer: HloWriter, op: Operation, values: Values, shape: Sequence[int]
) -> SSAValue:
    """A scalar operation on tensors of a shape; raises CannotExport for what has no word."""
    name = op.name
    if name == "arith.constant":
        return writer.splat(number_of(op), shape, plain(op.results[0].type))
    if name in UNARY:
        return writer.op(UNARY[name], *values)
    if name in BINARY:
        return writer.op(BINARY[name], *values)
    if name in UNSIGNED:
        element = element_of(values[0])
        wide = [as_unsigned(writer, value) for value in values]
        return as_type(writer, writer.op(UNSIGNED[name], *wide), element)
    if name not in OTHERS:
        raise CannotExport(f"with {name}")
    return OTHERS[name](writer, op, values)


def number_of(op: Operation) -> float:
    """The number of a constant."""
    value = op.properties["value"]
    if not isinstance(value, IntegerAttr | FloatAttr):
        raise CannotExport("with a constant that is no number")
    return value.value.data


def plain(scalar: Attribute) -> Attribute:
    """The element type of a scalar; an index is an i64."""
    return i64 if isinstance(scalar, IndexType) else scalar


def with_sign(element: Attribute, sign: Signedness) -> Attribute:
    """An integer type of the same width."""
    integer = as_integer(element)
    if integer is None or element == i1:
        return element
    return IntegerType(integer.width.data, sign)


def as_type(writer: HloWriter, value: SSAValue, element: Attribute) -> SSAValue:
    """The same bits in another type."""
    if element_of(value) == element:
        return value
    owner = value.owner
    if isinstance(owner, Operation) and owner.name == "stablehlo.bitcast_convert":
        (before,) = owner.operands
        if element_of(before) == element:
            return before
    return writer.op("bitcast_convert", value, to=type_like(value, element=element))


def as_unsigned(writer: HloWriter, value: SSAValue) -> SSAValue:
    """The same bits as unsigned integers."""
    return as_type(writer, value, with_sign(element_of(value), Signedness.UNSIGNED))


def as_signless(writer: HloWriter, value: SSAValue) -> SSAValue:
    """The same bits as integers whose sign counts."""
    return as_type(writer, value, with_sign(element_of(value), Signedness.SIGNLESS))


def _converted(writer: HloWriter, op: Operation, values: Values) -> SSAValue:
    """Signed integers and floats."""
    element = plain(op.results[0].type)
    source = values[0]
    if op.name in ("arith.extsi", "arith.sitofp"):
        source = as_signless(writer, source)
        if element_of(source) == i1:  # One is all bits there.
            source = writer.op("negate", writer.convert(source, i64))
    if element == i1:
        low = writer.op("and", source, writer.number(1, source))
        return writer.as_boolean(low)
    return writer.convert(source, element)


def _converted_unsigned(writer: HloWriter, op: Operation, values: Values) -> SSAValue:
    """Integers whose highest bit is no sign."""
    element = plain(op.results[0].type)
    wide = writer.convert(
        as_unsigned(writer, values[0]), with_sign(element, Signedness.UNSIGNED)
    )
    return as_type(writer, wide, element)


def _compared_floats(writer: HloWriter, op: Operation, values: Values) -> SSAValue:
    number, (lhs, rhs) = predicate(op), values
    if number in FLOAT_ORDER:
        return writer.compare(FLOAT_ORDER[number], lhs, rhs)
    if number in UNORDERED and number != 6:
        return writer.op("not", writer.compare(UNORDERED[number], lhs, rhs))
    are_numbers = writer.op(
        "and", *(writer.compare("EQ", value, value) for value in values)
    )
    if number == 6:
        return writer.op("and", are_numbers, writer.compare("NE", lhs, rhs))
    return are_numbers if number == 7 else writer.op("not", are_numbers)


def _compared_integers(writer: HloWriter, op: Operation, values: Values) -> SSAValue:
    number = predicate(op)
    if number >= len(INTEGER_ORDER):
        values, number = [as_unsigned(writer, value) for value in values], number - 4
    elif number > 1:
        values = [as_signless(writer, value) for value in values]
    lhs, rhs = values
    return writer.compare(INTEGER_ORDER[number], lhs, rhs)


def predicate(op: Operation) -> int:
    """The number of a comparison's predicate."""
    found = op.properties["predicate"]
    assert isinstance(found, IntegerAttr)
    return found.value.data


def _fused(writer: HloWriter, op: Operation, values: Values) -> SSAValue:
    return writer.op("add", writer.op("multiply", *values[:2]), values[2])


def _sign_copied(writer: HloWriter, op: Operation, values: Values) -> SSAValue:
    """The size of one number with the sign of another, -0 included."""
    bits = np.dtype(f"int{8 * dtype_of(element_of(values[0])).itemsize}")
    element = IntegerType(8 * bits.itemsize)
    sign = writer.compare(
        "LT",
        as_type(writer, values[1], element),
        writer.splat(0, shape_of(values[1]), element),
    )
    size = writer.op("abs", values[0])
    return writer.select(sign, writer.op("negate", size), size)


OTHERS: Mapping[str, Scalar] = {
    **{f"arith.{name}": _converted for name in TO_NUMBERS},
    **dict.fromkeys(
        ("arith.extui", "arith.uitofp", "arith.fptoui", "arith.index_castui"),
        _converted_unsigned,
    ),
    "arith.cmpf": _compared_floats,
    "arith.cmpi": _compared_integers,
    "arith.select": lambda writer, op, values: writer.select(*values),
    **dict.fromkeys(
        ("arith.bitcast", "builtin.unrealized_conversion_cast"),
        lambda writer, op, values: as_type(
            writer, values[0], plain(op.results[0].type)
        ),
    ),
    "math.fma": _fused,
    "math.copysign": _sign_copied,
}
