"""Our dialects in IRDL, so that upstream's mlir-opt reads and verifies our generic text.

    irdl.dialect @glow {
      irdl.operation @add {
        %0 = irdl.base "!builtin.tensor"
        %1 = irdl.base "!builtin.tensor"
        %2 = irdl.base "!builtin.tensor"
        %3 = irdl.base "!builtin.tensor"
        irdl.operands(lhs: %0, rhs: %1, predicate: optional %2)
        irdl.results(result: %3)
      }
    }

    mlir-opt --irdl-file=glow.irdl --cse --canonicalize in.mlir

What IRDL 22 cannot say is left out: shape rules, attributes that may be absent, which operations
end a region, the syntax of attributes, and operations whose names have a dot.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import (
    AnyOf,
    AttrConstraint,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    OptOperandDef,
    OptPropertyDef,
    OptResultDef,
    ParamAttrConstraint,
    RangeLengthConstraint,
    RangeOf,
    VarOperandDef,
    VarResultDef,
)
from xdsl.printer import Printer

BASES: Mapping[type[Attribute], str] = {
    TensorType: "!builtin.tensor",
    MemRefType: "!builtin.memref",
    IndexType: "!builtin.index",
    DenseArrayBase: "#builtin.dense_array",
    IntegerAttr: "#builtin.integer",
    FloatAttr: "#builtin.float",
    StringAttr: "#builtin.string",
    UnitAttr: "#builtin.unit",
    SymbolRefAttr: "#builtin.symbol_ref",
}
"""Classes of xDSL to what upstream calls them."""

ANY = "irdl.any"

NAME = re.compile("[a-z0-9_]+")
"""What IRDL takes for the name of an operation."""


def irdl_text(dialect: Dialect) -> str:
    """The IRDL of a dialect."""
    lines = [f"irdl.dialect @{dialect.name} {{"]
    for attribute in dialect.attributes:
        lines.append(f"  irdl.attribute @{attribute.name.partition('.')[2]} {{")
        lines.append("  }")
    for op in dialect.operations:
        name = op.name.partition(".")[2]
        if NAME.fullmatch(name) and issubclass(op, IRDLOperation):
            lines += OperationText(op).lines(name)
    return "\n".join([*lines, "}", ""])


class OperationText:
    """The lines of an operation."""

    def __init__(self, op: type[IRDLOperation]) -> None:
        self.definition = op.get_irdl_definition()
        self._values: list[str] = []

    def lines(self, name: str) -> Iterator[str]:
        """The operation: its values, operands, results, attributes and regions."""
        definition = self.definition
        rest = [
            *self._values_line("operands", definition.operands),
            *self._values_line("results", definition.results),
            *self._attributes_line(),
        ]
        yield f"  irdl.operation @{name} {{"
        for number, spelled in enumerate(self._values):
            yield f"    %{number} = {spelled}"
        for line in rest:
            yield f"    {line}"
        yield "  }"

    def _values_line(
        self, kind: str, values: Sequence[tuple[str, object]]
    ) -> Iterable[str]:
        parts: list[str] = []
        for name, each in values:
            variadic = ""
            if isinstance(each, OptOperandDef | OptResultDef):
                variadic = "optional "
            elif isinstance(each, VarOperandDef | VarResultDef):
                variadic = "variadic "
            constraint = getattr(each, "constr", None)
            parts.append(f"{name}: {variadic}{self._constraint(element(constraint))}")
        if parts:
            yield f"irdl.{kind}({', '.join(parts)})"

    def _attributes_line(self) -> Iterable[str]:
        """The properties that are always there."""
        found = [
            f'"{name}" = {self._constraint(each.constr)}'
            for name, each in self.definition.properties.items()
            if not isinstance(each, OptPropertyDef)
        ]
        if found:
            yield f"irdl.attributes {{ {', '.join(found)} }}"

    def _constraint(self, constraint: AttrConstraint | None) -> str:
        """A new value for a constraint: what shares one has to be equal."""
        spelled = self._spelled(constraint)
        self._values.append(spelled)
        return f"%{len(self._values) - 1}"

    def _spelled(self, constraint: AttrConstraint | None) -> str:
        if isinstance(constraint, AnyOf):
            spelled = {self._spelled(one) for one in constraint.attr_constrs}
            if ANY in spelled:
                return ANY
            options = [self._constraint(one) for one in constraint.attr_constrs]
            return f"irdl.any_of({', '.join(options)})"
        if isinstance(constraint, EqAttrConstraint):
            return f"irdl.is {printed(constraint.attr)}"
        if isinstance(constraint, BaseAttr):
            base = BASES.get(constraint.attr)
        elif isinstance(constraint, ParamAttrConstraint):
            base = BASES.get(cast("type[Attribute]", constraint.base_attr))
        else:
            base = None
        return ANY if base is None else f'irdl.base "{base}"'


def element(constraint: object) -> AttrConstraint | None:
    """The constraint of each value of a range."""
    if isinstance(constraint, RangeLengthConstraint):
        return element(cast("RangeLengthConstraint[Attribute]", constraint).constraint)
    if isinstance(constraint, RangeOf):
        return cast("RangeOf[Attribute]", constraint).constr
    return None


def printed(attribute: Attribute) -> str:
    """The text of an attribute."""
    text = StringIO()
    Printer(text).print_attribute(attribute)
    return text.getvalue()
