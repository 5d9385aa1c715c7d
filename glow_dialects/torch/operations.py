"""Operators by name, and values that are left out."""

from __future__ import annotations

from xdsl.dialects.builtin import FunctionType, StringAttr
from xdsl.ir import Attribute, Region
from xdsl.irdl import irdl_op_definition, prop_def, traits_def
from xdsl.parser import Parser
from xdsl.traits import IsTerminator

from glow.dialects.foreign import ForeignOp
from glow.dialects.torch.types import NoneType


@irdl_op_definition
class OperatorOp(ForeignOp):
    """An operator that torch has no operation for: `onnx.X`."""

    name = "torch.operator"
    operator = prop_def(StringAttr, prop_name="name")

    @classmethod
    def parse(cls, parser: Parser) -> OperatorOp:
        """`"onnx.X"(%a) {...} : (type) -> type {...}`."""
        found: dict[str, Attribute] = {"name": StringAttr(parser.parse_str_literal())}
        place = parser.pos
        operands = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        found.update(parser.parse_optional_attr_dict())
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        if not isinstance(kind, FunctionType):
            parser.raise_error("an operator needs a function type")
        regions: list[Region] = []
        while (region := parser.parse_optional_region()) is not None:
            regions.append(region)
            parser.parse_optional_punctuation(",")
        values = parser.resolve_operands(operands, kind.inputs.data, place)
        return cls.make(values, kind.outputs.data, found, regions)


@irdl_op_definition
class ConstantNoneOp(ForeignOp):
    """`torch.constant.none`: an input that is left out."""

    name = "torch.constant.none"

    @classmethod
    def parse(cls, parser: Parser) -> ConstantNoneOp:
        """Nothing but attributes."""
        return cls.make([], [NoneType()], parser.parse_optional_attr_dict())


@irdl_op_definition
class FromBuiltinTensorOp(ForeignOp):
    """A tensor of MLIR, whose integers have no signs, as one of torch."""

    name = "torch_c.from_builtin_tensor"

    @classmethod
    def parse(cls, parser: Parser) -> FromBuiltinTensorOp:
        """`%a : type -> type`."""
        place = parser.pos
        operand = parser.parse_unresolved_operand()
        found = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        source = parser.parse_type()
        parser.parse_punctuation("->")
        values = parser.resolve_operands([operand], [source], place)
        return cls.make(values, [parser.parse_type()], found)


@irdl_op_definition
class TerminatorOp(ForeignOp):
    """Ends the graph of an operator with its results."""

    name = "torch.operator_terminator"
    traits = traits_def(IsTerminator())

    @classmethod
    def parse(cls, parser: Parser) -> TerminatorOp:
        """`%a, %b : type, type`."""
        place = parser.pos
        operands = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        if not operands:
            return cls.make([], [], {})
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_type
        )
        return cls.make(parser.resolve_operands(operands, types, place), [], {})
