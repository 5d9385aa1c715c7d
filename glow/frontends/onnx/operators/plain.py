"""Handlers of the operators that are one node with the same operands and attributes.

The nodes themselves name the operators (`NodeOp.ONNX`), so there is nothing to add here:

    ONNX: ClassVar[OnnxNames | None] = "GlobalLpPool"

The node's properties are ONNX attributes of the same names; one that is left out has the
default of the node, or of the mapping where a node is several operators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Attribute
from xdsl.irdl import OptOperandDef, VarOperandDef

from glow.dialects import glow
from glow.dialects.attributes import AttributeValue
from glow.dialects.node import SEGMENTS, NodeOp, OnnxNames
from glow.dialects.text import kind_of
from glow.frontends.onnx.node import OnnxNode, Operand, Value
from glow.frontends.onnx.registry import HANDLERS, Handler

READ: Mapping[type[Attribute], Callable[[OnnxNode, str], AttributeValue]] = {
    FloatAttr: lambda node, name: node.attr_float(name, 0.0),
    IntegerAttr: lambda node, name: node.attr_int(name, 0),
    StringAttr: lambda node, name: node.attr_string(name, ""),
    UnitAttr: lambda node, name: bool(node.attr_int(name, 0)),
    DenseArrayBase: lambda node, name: node.attr_ints(name) or [],
}
"""Kind of property to what reads an ONNX attribute that is given."""


def _attributes(
    node: OnnxNode, op_class: type[NodeOp], defaults: Mapping[str, float]
) -> Iterator[tuple[str, AttributeValue]]:
    for name, declared in op_class.get_irdl_definition().properties.items():
        if name == SEGMENTS:
            continue
        if node.has_attribute(name):
            (kind,) = kind_of(declared)
            value = READ[kind](node, name)
            if name == "axis" and isinstance(value, int):
                value = node.positive(value, node.rank(0))
            yield name, value
        elif name in defaults:
            yield name, defaults[name]


def _operands(node: OnnxNode, op_class: type[NodeOp]) -> Iterator[Operand]:
    """The node's operands; trailing optional ones may be left out."""
    declared = op_class.get_irdl_definition().operands
    for number, (name, definition) in enumerate(declared):
        if isinstance(definition, OptOperandDef):
            if name != "predicate" and node.has(number):
                yield node.value(number)
        elif isinstance(definition, VarOperandDef):
            yield from node.values()[number:]
        else:
            yield node.value(number)


def _import(
    node: OnnxNode, op_class: type[NodeOp], defaults: Mapping[str, float]
) -> Value:
    attributes = dict(_attributes(node, op_class, defaults))
    return node.emit(op_class, *_operands(node, op_class), types=None, **attributes)


def operators(names: OnnxNames | None) -> Mapping[str, Mapping[str, float]]:
    """The operators that a node is, with the defaults that are not the node's."""
    return {names: {}} if isinstance(names, str) else names or {}


def _handlers() -> Iterator[tuple[str, Handler]]:
    for op_class in glow.NODES:
        for name, defaults in operators(op_class.ONNX).items():
            yield name, partial(_import, op_class=op_class, defaults=defaults)


HANDLERS.update(_handlers())
