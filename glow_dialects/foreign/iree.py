"""Weights of IREE's programs: globals that come from a file of parameters.

    util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<2xf32>
    %0 = util.global.load @w : tensor<2xf32>

The rest of IREE's dialects stays with IREE.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, opt_prop_def
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer

from glow.dialects.foreign.operation import ForeignOp


class ParameterAttr(ParametrizedAttribute):
    """A tensor of a file: `#flow.parameter.named<"model"::"w"> : type`."""

    scope: StringAttr
    key: StringAttr
    held: TypeAttribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """The scope, which may be left out, the key, and the type."""
        parser.parse_punctuation("<")
        scope, key = "", parser.parse_str_literal()
        if parser.parse_optional_punctuation(":") is not None:
            parser.parse_punctuation(":")
            scope, key = key, parser.parse_str_literal()
        parser.parse_punctuation(">")
        parser.parse_punctuation(":")
        return [StringAttr(scope), StringAttr(key), parser.parse_type()]

    def print_parameters(self, printer: Printer) -> None:
        """The same."""
        scope = f'"{self.scope.data}"::' if self.scope.data else ""
        printer.print_string(f'<{scope}"{self.key.data}"> : ')
        printer.print_attribute(self.held)


@irdl_attr_definition
class FlowParameterAttr(ParameterAttr):
    """As programs for IREE are written by hand, and by `iree-compile`."""

    name = "flow.parameter.named"


@irdl_attr_definition
class StreamParameterAttr(ParameterAttr):
    """As `iree-import-onnx --externalize-params` writes it."""

    name = "stream.parameter.named"


@irdl_op_definition
class GlobalOp(ForeignOp):
    """A named value of the module."""

    name = "util.global"
    sym_name = opt_prop_def(StringAttr)
    sym_visibility = opt_prop_def(StringAttr)
    type = opt_prop_def(Attribute)
    initial_value = opt_prop_def(Attribute)
    is_mutable = opt_prop_def(Attribute)
    inlining_policy = opt_prop_def(Attribute)

    @classmethod
    def parse(cls, parser: Parser) -> GlobalOp:
        """`private mutable @w {...} = value : type`."""
        found: dict[str, Attribute] = {}
        if (how := parser.parse_optional_visibility_keyword()) is not None:
            found["sym_visibility"] = how
        if parser.parse_optional_keyword("mutable") is not None:
            found["is_mutable"] = StringAttr("mutable")
        found["sym_name"] = parser.parse_symbol_name()
        found.update(parser.parse_optional_attr_dict())
        if parser.parse_optional_punctuation("=") is not None:
            value = parser.parse_attribute()
            found["initial_value"] = value
            held = getattr(value, "held", None) or getattr(value, "type", None)
            if not isinstance(held, Attribute):
                parser.raise_error("a global needs a value with a type")
        else:
            parser.parse_punctuation(":")
            held = parser.parse_type()
        return cls.make([], [], {**found, "type": held})


@irdl_op_definition
class GlobalLoadOp(ForeignOp):
    """The value of a global."""

    name = "util.global.load"
    loaded = opt_prop_def(SymbolRefAttr, prop_name="global")
    is_immutable = opt_prop_def(Attribute)

    @classmethod
    def parse(cls, parser: Parser) -> GlobalLoadOp:
        """`@w : type`."""
        found: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("immutable") is not None:
            found["is_immutable"] = StringAttr("immutable")
        found["global"] = SymbolRefAttr(parser.parse_symbol_name())
        found.update(parser.parse_optional_attr_dict())
        parser.parse_punctuation(":")
        return cls.make([], [parser.parse_type()], found)


DIALECTS = {
    "flow": Dialect("flow", [], [FlowParameterAttr]),
    "stream": Dialect("stream", [], [StreamParameterAttr]),
    "util": Dialect("util", [GlobalOp, GlobalLoadOp]),
}
