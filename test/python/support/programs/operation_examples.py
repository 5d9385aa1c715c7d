"""An operation of each class of ours, from the programs of the lit tests.

To read those programs takes seconds: the tests that do are named without it, and run in
one process (`READS_LIT_TESTS`), which reads them once.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pytest
from text_mutations import readable_operations
from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    StringAttr,
    TensorType,
    UnitAttr,
    f32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation
from xdsl.irdl import IRDLOperation, OptOperandDef
from xdsl.utils.exceptions import VerifyException

from glow.backends.cpu.dialect.config import Panels
from glow.backends.cpu.dialect.config_attributes import PanelsAttr
from glow.dialects.attributes import ints_attr
from glow.dialects.node import SEGMENTS, operand_segments_attr
from glow.universe import GLOW_DIALECTS

READS_LIT_TESTS = pytest.mark.xdist_group("programs of the lit tests")


@cache
def declared_operations() -> Mapping[str, type[IRDLOperation]]:
    """All operations of our dialects by name."""
    operations = [op for make in GLOW_DIALECTS.values() for op in make().operations]
    return {op.name: op for op in operations if issubclass(op, IRDLOperation)}


@cache
def examples() -> Mapping[str, Operation]:
    """An operation of each class of ours, and constants, of the lit tests' programs."""
    found: dict[str, Operation] = {}
    for op in readable_operations():
        is_ours = type(op).__module__.startswith("glow.")
        is_wanted = is_ours or op.name == "arith.constant"
        if is_wanted and op.name not in found and is_valid(op):
            found[op.name] = op
    return found


def example(name: str) -> Operation:
    """The operation of the lit tests with a name, or one as far as its class says."""
    found = examples().get(name)
    return found or made(declared_operations()[name])


def is_valid(op: Operation) -> bool:
    """Whether an operation, which may be of a program that is refused, is not what is wrong."""
    try:
        op.verify(verify_nested_ops=False)
    except VerifyException:
        return False
    return True


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
