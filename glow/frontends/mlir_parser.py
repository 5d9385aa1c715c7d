"""The parser of MLIR text: every operation knows its place, every error is one line.

xDSL's parser keeps no positions, reports an undefined value at the end of the file, lets
exceptions of verifiers and builders through, and drops the attributes of the arguments of
a declared function. What is wrong with a text is one `ParseError` with its place here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, AttributeInvT, Operation, SSAValue
from xdsl.parser import UnresolvedOperand
from xdsl.utils.exceptions import ParseError
from xdsl.utils.hints import isa
from xdsl.utils.lexer import Span

from glow.diagnostics import did_you_mean
from glow.dialects.locations import place_of, read_location
from glow.frontends.mlir_metadata import MetadataParser
from glow.frontends.mlir_strings import check_strings

_IREE = "read the program that IREE was given, which it does not give back"
_ONNX_MLIR = (
    "convert it with onnx-mlir-opt --convert-onnx-to-stablehlo, or read the .onnx file"
)
_TF = "make StableHLO of the saved model with iree-import-tf"
_TORCH = "convert it with torch-mlir, to StableHLO, TOSA or linalg"
CONVERTERS = {
    **dict.fromkeys(("flow", "hal", "iree_input", "stream", "util", "vm"), _IREE),
    **dict.fromkeys(("krnl", "onnx"), _ONNX_MLIR),
    **dict.fromkeys(
        ("tf", "tf_device", "tf_executor", "tf_saved_model", "tf_type"), _TF
    ),
    **dict.fromkeys(("tcp", "torch"), _TORCH),
    "mhlo": "convert it with mlir-hlo-opt --hlo-legalize-to-stablehlo",
    "tm_tensor": "convert the program with torch-mlir to StableHLO, which can say it",
    "tfl": "convert it with tf-opt --tfl-to-tosa-pipeline, or the .tflite file with "
    "tosa-converter-for-tflite",
    "vhlo": "convert it with stablehlo-opt --vhlo-legalize-to-stablehlo",
}
"""Dialects of programs that are not read, and what helps."""

_UNREGISTERED = re.compile(r"'(\w+)\.[\w.]+' is not registered")


def converter_of(dialect: str) -> str:
    """What to do with a program in a dialect that is not read; nothing where none is known."""
    tool = CONVERTERS.get(dialect)
    return f"; {tool}" if tool else ""


class LocatingParser(MetadataParser):
    """The MLIR parser with a `file:line:col` location for each operation."""

    def __init__(
        self, context: Context, text: str, name: str, *, line_offset: int = 0
    ) -> None:
        check_strings(text, name)
        super().__init__(context, text, name)
        self._file = StringAttr(name)
        self._line_offset = line_offset
        self._line_starts = [0, *(m.end() for m in re.finditer("\n", text))]
        self._first_uses: dict[str, Span] = {}

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        try:
            return super().parse_module(allow_implicit_module)
        except ParseError as error:
            if error.msg.startswith("values used but not defined"):
                self._raise_undefined()
            if unknown := _UNREGISTERED.match(error.msg):
                error.msg += converter_of(unknown[1])
            raise
        except RecursionError:
            self.raise_error("the text nests too deeply")

    def parse_operation(self) -> Operation:
        start = self.pos
        try:
            operation = super().parse_operation()
        except (ParseError, RecursionError):
            raise
        except Exception as error:
            # Builders and verifiers of attributes and types know no position.
            self._raise_at(start, error)
        place = self._place(start)
        is_stated = self.location_end == self.pos
        operation.location = (
            read_location(operation.location, place) if is_stated else place
        )
        if isinstance(operation, FuncOp):
            if not operation.body.blocks:
                self._add_argument_attributes(operation, start)
            _drop_empty_attributes(operation)
        return operation

    def _add_argument_attributes(self, function: FuncOp, start: int) -> None:
        """Set the attributes of a declaration's arguments, `(i32 {a}, i32)`.

        xDSL's parser passes over them, so that they are read a second time.
        """
        back = self.pos
        self._resume_from(start)
        if self.parse_optional_keyword("func.func") is not None:
            self.parse_optional_visibility_keyword()
            self.parse_symbol_name()
            attributes = self.parse_comma_separated_list(
                self.Delimiter.PAREN, self._parse_declared_argument
            )
            if any(attributes):
                function.arg_attrs = ArrayAttr(map(DictionaryAttr, attributes))
        self._resume_from(back)

    def _parse_declared_argument(self) -> dict[str, Attribute]:
        self.parse_optional_argument(False)
        self.parse_optional_punctuation(":")
        self.parse_type()
        attributes = self.parse_optional_dictionary_attr_dict()
        self.parse_optional_location()
        return attributes

    def _get_op_by_name(self, name: str) -> type[Operation]:
        try:
            return super()._get_op_by_name(name)
        except ParseError as error:
            position = self.lexer.input.content.rfind(name, 0, self.pos)
            known = (operation.name for operation in self.ctx.loaded_ops)
            other = converter_of(name.partition(".")[0]) or did_you_mean(name, known)
            message = f"unknown operation '{name}'{other}"
            span = Span(position, position + len(name), self.lexer.input)
            raise ParseError(span, message) from error

    def resolve_operand(
        self, operand: UnresolvedOperand, type: AttributeInvT
    ) -> SSAValue[AttributeInvT]:
        try:
            value = super().resolve_operand(operand, type)
        except ParseError as error:
            self._note_definition(error, operand.operand_name, "prior use here")
            raise
        if operand.operand_name in self.forward_ssa_references:
            self._first_uses.setdefault(operand.operand_name, operand.span)
        return value

    def _register_ssa_definition(
        self, name: str, values: Sequence[SSAValue], span: Span
    ) -> None:
        try:
            super()._register_ssa_definition(name, values, span)
        except ParseError as error:
            self._note_definition(error, name, "previously defined here")
            raise

    def _note_definition(self, error: ParseError, name: str, text: str) -> None:
        """Add where the operation stands that defines a value, as mlir-opt does."""
        for value in self.ssa_values.get(name, ())[:1]:
            owner = value.owner
            place = place_of(owner) if isinstance(owner, Operation) else None
            if place is not None:
                error.add_note(f"{place}: note: {text}")

    def _raise_undefined(self) -> None:
        """Raise at the first use of a value that is never defined, if it is known."""
        for name in self.forward_ssa_references:
            if span := self._first_uses.get(name):
                self.raise_error(f"use of undefined value %{name}", span)

    def _place(self, position: int) -> FileLineColLoc:
        line = bisect_right(self._line_starts, position)
        column = position - self._line_starts[line - 1] + 1
        return FileLineColLoc(
            self._file, IntAttr(line + self._line_offset), IntAttr(column)
        )

    def _raise_at(self, position: int, error: Exception) -> NoReturn:
        message = str(error) or type(error).__name__
        span = Span(position, position + 1, self.lexer.input)
        raise ParseError(span, message) from error


def _drop_empty_attributes(function: FuncOp) -> None:
    """Take `res_attrs = [{}]` for no attributes, as the custom form does."""
    for name in ("arg_attrs", "res_attrs"):
        attributes = function.properties.get(name)
        if isa(attributes, ArrayAttr[DictionaryAttr]):
            if not any(one.data for one in attributes):
                del function.properties[name]
