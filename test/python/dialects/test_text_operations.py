"""Every operation of our dialects keeps its bits in text, whatever its attributes are.

Operations of the lit tests take random attributes: extremes, infinities, NaNs with payloads,
-0.0, denormals, and strings that need escapes. What is read back must be equal, and print
the same, in the custom and the generic form, with locations and without.
"""

from __future__ import annotations

import numpy as np
import pytest
from text_mutations import context, readable_operations
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    NameLoc,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    UnknownLoc,
    f32,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.irdl import IRDLOperation, OptOperandDef
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from glow.backends.cpu.dialect.config import Panels, PanelsAttr
from glow.dialects.attributes import floats_attr, ints_attr
from glow.dialects.float_text import FRACTION_BITS, float_attr_of_bits, float_of_bits
from glow.dialects.node import SEGMENTS, operand_segments_attr
from glow.dialects.printer import mlir_text
from glow.frontends.mlir import parse_text
from glow.universe import GLOW_DIALECTS

ROUNDS = 3
FIXED = (SEGMENTS, "resultSegmentSizes", "predicate")
"""Properties whose values are few."""
STRINGS = ("", "a b", 'q"\\', "line\nbreak\t", "\x00\x7f", "é≠", "%x : f32 loc(")
INTEGERS = (0, 1, -1, 2**63 - 1, -(2**63), 97)


def examples() -> dict[str, Operation]:
    """An operation of each class of ours, and constants, of the lit tests' programs."""
    found: dict[str, Operation] = {}
    for op in readable_operations():
        is_ours = type(op).__module__.startswith("glow.")
        if (is_ours or op.name == "arith.constant") and is_valid(op):
            found.setdefault(op.name, op)
    return found


def is_valid(op: Operation) -> bool:
    """Whether an operation, which may be of a program that is refused, is not what is wrong."""
    try:
        op.verify(verify_nested_ops=False)
    except VerifyException:
        return False
    return True


def declared_operations() -> list[type[IRDLOperation]]:
    """All operations of our dialects."""
    operations = [op for make in GLOW_DIALECTS.values() for op in make().operations]
    return [op for op in operations if issubclass(op, IRDLOperation)]


def made(op: type[IRDLOperation]) -> Operation:
    """An operation of a class, as far as its definition says what it has."""
    definition = op.get_irdl_definition()
    is_instruction = op.name.startswith("instr.")
    value_type = MemRefType(f32, [2, 3]) if is_instruction else TensorType(f32, [2, 3])
    counts = [int(not isinstance(d, OptOperandDef)) for _, d in definition.operands]
    if is_instruction and len(counts) == 3:
        counts = [1, 0, 2]
    properties = {
        name: declared.default_value or value
        for name, declared in definition.properties.items()
        for kind, value in SAMPLES.items()
        if kind in (declared.constr.get_bases() or ())
    }
    if SEGMENTS in definition.properties:
        properties[SEGMENTS] = operand_segments_attr(*counts)
    block = Block(arg_types=[value_type] * sum(counts))
    made_op = op.create(
        operands=block.args,
        result_types=[value_type for _ in definition.results],
        properties=properties,
    )
    block.add_op(made_op)
    return made_op


SAMPLES: dict[type[Attribute], Attribute] = {
    IntegerAttr: IntegerAttr(1, i64),
    FloatAttr: FloatAttr(1.0, f32),
    DenseArrayBase: ints_attr(1, 2),
    StringAttr: StringAttr("a"),
    UnitAttr: UnitAttr(),
    PanelsAttr: PanelsAttr(Panels(1, 16)),
}

EXAMPLES = {op.name: made(op) for op in declared_operations()}
EXAMPLES |= examples()


def pattern(random: np.random.Generator, float_type: Attribute) -> int:
    """The bits of a float: any, or those of a zero, an infinity, a NaN or a denormal."""
    fraction = FRACTION_BITS[type(float_type)]
    width = {10: 16, 7: 16, 23: 32, 52: 64}[fraction]
    exponent = (1 << (width - 1)) - (1 << fraction)
    special = (
        0,
        1,
        exponent - 1,
        exponent,
        exponent | 1,
        exponent | 1 << (fraction - 1),
    )
    bits = int(random.integers(2**62)) % (1 << (width - 1))
    if random.integers(2):
        bits = int(random.choice(special))
    return bits | int(random.integers(2)) << (width - 1)


def random_integer(random: np.random.Generator, integer_type: Attribute) -> int:
    value = int(random.choice(np.array(INTEGERS, object)))
    if not isinstance(integer_type, IntegerType):
        return value
    low, high = integer_type.value_range()
    return low + (value - low) % (high - low)


def random_like(random: np.random.Generator, value: Attribute) -> Attribute:
    """Another attribute of the same class and type; the same of classes without choice."""
    if isa(value, FloatAttr):
        return float_attr_of_bits(pattern(random, value.type), value.type)
    if isa(value, IntegerAttr):
        return IntegerAttr(random_integer(random, value.type), value.type)
    if isa(value, DenseArrayBase) and value.elt_type == f32:
        count = int(random.integers(1, 5))
        bits = [pattern(random, f32) for _ in range(count)]
        return floats_attr(*(float_of_bits(each, f32) for each in bits))
    if isa(value, DenseArrayBase) and value.elt_type == i64:
        return ints_attr(*random.choice(np.array(INTEGERS, object), 3).tolist())
    if isa(value, DenseIntOrFPElementsAttr):
        return random_dense(random, value)
    if isinstance(value, StringAttr):
        return StringAttr(str(random.choice(STRINGS)))
    if isinstance(value, SymbolRefAttr):
        return SymbolRefAttr(str(random.choice(STRINGS[1:])))
    return value


def random_dense(
    random: np.random.Generator, value: DenseIntOrFPElementsAttr
) -> DenseIntOrFPElementsAttr:
    """A constant of the same type with other elements."""
    element = value.get_element_type()
    count = len(value)
    if type(element) in FRACTION_BITS:
        bits = [pattern(random, element) for _ in range(count)]
        if random.integers(2):
            bits = bits[:1] * count
        size = element.compile_time_size
        data = b"".join(each.to_bytes(size, "little") for each in bits)
        return DenseIntOrFPElementsAttr(value.type, BytesAttr(data))
    numbers = [random_integer(random, element) for _ in range(count)]
    return DenseIntOrFPElementsAttr.from_list(value.type, numbers)


def module_with(op: Operation, random: np.random.Generator) -> ModuleOp:
    """A module with a copy of the operation that has other attributes."""
    types = [value.type for value in op.operands]
    block = Block(arg_types=types)
    copy = op.clone(dict(zip(op.operands, block.args, strict=True)))
    for name, value in op.properties.items():
        if name not in FIXED:
            copy.properties[name] = random_like(random, value)
    copy.attributes["test.string"] = StringAttr(str(random.choice(STRINGS)))
    copy.attributes["test.float"] = float_attr_of_bits(pattern(random, f32), f32)
    copy.attributes["test.unit"] = UnitAttr()
    copy.location = NameLoc(StringAttr(str(random.choice(STRINGS))), UnknownLoc())
    block.add_op(copy)
    function = FuncOp("f", FunctionType.from_lists(types, []), Region(block))
    return ModuleOp([function])


def check(module: ModuleOp) -> None:
    """Fail unless all forms of the text are read as the same module."""
    for generic in (False, True):
        for locations in (False, True):
            text = mlir_text(module, generic=generic, locations=locations)
            again = parse_text(context(), text, "f.mlir")
            assert module.is_structurally_equivalent(again), text
            assert mlir_text(again, generic=generic, locations=locations) == text


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_operation_keeps_its_attributes(name: str) -> None:
    for seed in range(ROUNDS):
        check(module_with(EXAMPLES[name], np.random.default_rng(seed)))


def test_all_operations_have_an_example() -> None:
    assert {op.name for op in declared_operations()} - EXAMPLES.keys() == set()
