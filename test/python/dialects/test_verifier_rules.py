"""The rules of nodes say in a line what is wrong, whatever types and attributes they meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import pytest
from support.programs.operation_examples import (
    READS_LIT_TESTS,
    declared_operations,
    example,
)
from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    TensorType,
    f32,
    i1,
    i8,
    i64,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from glow.dialects.attributes import Attributes, float_attr, int_attr, ints_attr
from glow.dialects.node import NodeOp, Types

SHAPES = ([], [0], [3], [2, 3], [1, 2, 3], [2, 1, 4, 4], [1, 2, 4, 4, 16], [1] * 6)
ELEMENTS = (f32, i1, i8, i64)
NUMBERS = (-1, 0, 1, 3, 97)


NODES = [name for name, op in declared_operations().items() if issubclass(op, NodeOp)]

pytestmark = READS_LIT_TESTS


def other_types(types: Types) -> Iterator[Types]:
    """The types with one of another rank, size or element type."""
    for number, old in enumerate(types):
        if not isinstance(old, TensorType):
            continue
        others = [TensorType(old.element_type, shape) for shape in SHAPES]
        others += [TensorType(element, old.get_shape()) for element in ELEMENTS]
        for other in others:
            yield [*types[:number], other, *types[number + 1 :]]


def other_values(value: Attribute) -> Sequence[Attribute]:
    """Other values of an attribute: other numbers, and other counts of them."""
    if isinstance(value, IntegerAttr):
        return [int_attr(number) for number in NUMBERS]
    if isinstance(value, FloatAttr):
        return [float_attr(float(number)) for number in NUMBERS]
    if isinstance(value, DenseArrayBase) and value.elt_type == i64:
        return [ints_attr(*[n] * count) for count in range(6) for n in NUMBERS]
    return []


@pytest.mark.parametrize("name", sorted(NODES))
def test_rules_name_what_is_wrong(name: str) -> None:
    """A rule passes or raises VerifyException, which says more than a number."""
    op = example(name)
    assert isinstance(op, NodeOp)
    definition = op.get_irdl_definition()
    operands = [cast("TensorType[Attribute]", value.type) for value in op.inputs]
    cases = [(types, op.properties) for types in other_types(operands)]
    cases += [
        (operands, op.properties | {key: other})
        for key, value in op.properties.items()
        for other in other_values(value)
    ]
    messages = set[str]()
    for types, properties in cases:
        try:
            op.check_operands(types)
            op.check(types, Attributes(definition, properties), op.result_types)
        except VerifyException as error:
            messages.add(str(error))
    assert all(len(message) > 10 for message in messages)
