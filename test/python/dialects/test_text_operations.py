"""Every operation of our dialects keeps its bits in text, whatever its attributes are.

Operations of the lit tests take random attributes: extremes, infinities, NaNs with payloads,
-0.0, denormals, and strings that need escapes. What is read back must be equal, and print
the same, in the custom and the generic form, with locations and without.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.programs.operation_examples import (
    READS_LIT_TESTS,
    declared_operations,
    example,
    examples,
)
from text_mutations import context
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    NameLoc,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    UnknownLoc,
    f32,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.utils.hints import isa

from glow.dialects.attributes import floats_attr, ints_attr
from glow.dialects.float_text import FRACTION_BITS, float_attr_of_bits, float_of_bits
from glow.dialects.node import SEGMENTS
from glow.dialects.printer import mlir_text
from glow.frontends.mlir import parse_text

ROUNDS = 3
FIXED = (SEGMENTS, "resultSegmentSizes", "predicate")
"""Properties whose values are few."""
STRINGS = ("", "a b", 'q"\\', "line\nbreak\t", "\x00\x7f", "é≠", "%x : f32 loc(")
INTEGERS = (0, 1, -1, 2**63 - 1, -(2**63), 97)

pytestmark = READS_LIT_TESTS


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


def check_attributes(op: Operation) -> None:
    """Fail unless copies of an operation with other attributes keep them in text."""
    for seed in range(ROUNDS):
        check(module_with(op, np.random.default_rng(seed)))


@pytest.mark.parametrize("name", sorted(declared_operations()))
def test_operation_keeps_its_attributes(name: str) -> None:
    check_attributes(example(name))


def test_operations_of_other_dialects_keep_their_attributes() -> None:
    """Those that we declare anew, such as `gpu`'s, and constants."""
    others = examples().keys() - declared_operations().keys()
    assert "arith.constant" in others
    for name in sorted(others):
        check_attributes(example(name))
