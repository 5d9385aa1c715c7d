"""Reads what MLIR's printer puts at the end of a file and uses before: aliases, resources.

    %0 = arith.constant dense_resource<w> : tensor<1xf32> loc(#loc1)
    #loc1 = loc("conv1")
    {-# dialect_resources: { builtin: { w: "0x040000000000803F" } } #-}

xDSL's parser knows no alias before its definition, and leaves the bytes of a resource in a
table of the process, where those of the first file of that key stay. Here an alias of a
location is looked up where it stands, and a resource becomes a dense constant that holds
its bytes.
"""

from __future__ import annotations

import re

from xdsl.context import Context
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    FusedLoc,
    LocationAttr,
    NoneAttr,
)
from xdsl.ir import Attribute

from glow.frontends.mlir_literals import LiteralParser

_LOCATION_ALIAS = re.compile(r"^(#[\w$.-]+)\s*=\s*(?=loc\()", re.MULTILINE)
_RESOURCES = re.compile(r"^\{-#", re.MULTILINE)


class MetadataParser(LiteralParser):
    """See the module's docstring."""

    def __init__(self, context: Context, text: str, name: str) -> None:
        super().__init__(context, text, name)
        self.location_end = -1
        """What follows the location that was read last."""
        self._location_aliases = {
            match[1]: match.end() for match in _LOCATION_ALIAS.finditer(text)
        }
        self._early_aliases: set[str] = set()
        """Aliases that were read at their first use."""
        self._resources: dict[str, str] = {}
        self.resource_keys: dict[int, str] = {}
        """The resource that each constant was made of, by its `id`."""
        self._read_resources(text)

    def parse_optional_location(self) -> LocationAttr | None:
        location = super().parse_optional_location()
        if location is not None:
            self.location_end = self.pos
        return location

    def _parse_location(self) -> LocationAttr:
        name = self._current_token.text
        if name in self._location_aliases and name not in self.attribute_aliases:
            start, back = self._location_aliases.pop(name), self.pos
            self._resume_from(start)
            self.attribute_aliases[name] = self.parse_attribute()
            self._early_aliases.add(name)
            self._resume_from(back)
        is_fused = self.parse_optional_keyword("fused") is not None
        location = self._parse_fused() if is_fused else super()._parse_location()
        if self.parse_optional_keyword("to") is not None:
            self._skip_end_of_range()
        return location

    def _parse_fused(self) -> FusedLoc:
        """Parse `<metadata>[location, ...]`, of which xDSL knows no metadata."""
        metadata: Attribute = NoneAttr()
        if self.parse_optional_punctuation("<") is not None:
            metadata = self.parse_attribute()
            self.parse_punctuation(">")
        parts = self.parse_comma_separated_list(
            self.Delimiter.SQUARE, self._parse_location
        )
        return FusedLoc(tuple(parts), metadata)

    def _skip_end_of_range(self) -> None:
        """Pass over the end of `"a.py":14:8 to :32`, or of one that ends on another line."""
        self.parse_optional_integer(allow_boolean=False, allow_negative=False)
        self.parse_punctuation(":")
        self.parse_integer(allow_boolean=False, allow_negative=False)

    def _parse_alias_def(self) -> None:
        name = self._current_token.text
        if name in self._early_aliases:
            self._early_aliases.remove(name)
            del self.attribute_aliases[name]
        super()._parse_alias_def()

    # -- resources

    def _read_resources(self, text: str) -> None:
        """Read the bytes at the end of the file before the constants that name them."""
        section = _RESOURCES.search(text)
        if section is None:
            return
        back = self.pos
        self._resume_from(section.start())
        self._parse_file_metadata_dictionary()
        self._resume_from(back)

    def _parse_resource(
        self, dialect_name: str, interface: OpAsmDialectInterface
    ) -> None:
        key = self.parse_identifier(" for the key of a resource")
        self.parse_punctuation(":")
        self._resources[key] = self.parse_str_literal()

    def _parse_external_resources(self) -> None:
        """Skip the resources of tools, as mlir-opt does with those it does not know."""
        self.parse_comma_separated_list(
            self.Delimiter.BRACES, self._parse_resources_of_tool
        )

    def _parse_resources_of_tool(self) -> None:
        self.parse_identifier(" for the name of a tool")
        self.parse_punctuation(":")
        self.parse_comma_separated_list(
            self.Delimiter.BRACES, self._parse_resource_of_tool
        )

    def _parse_resource_of_tool(self) -> None:
        self.parse_identifier(" for the key of a resource")
        self.parse_punctuation(":")
        if self.parse_optional_str_literal() is None:
            self.parse_boolean()

    def _parse_optional_builtin_parametrized_attr(self) -> Attribute | None:
        """Also parse `dense_resource<key> : type` where the bytes are in the file."""
        start = self.pos
        if self.parse_optional_keyword("dense_resource") is None:
            return super()._parse_optional_builtin_parametrized_attr()
        self.parse_punctuation("<")
        key = self.parse_identifier(" for the key of a resource")
        if key not in self._resources:
            self._resume_from(start)
            return super()._parse_optional_builtin_parametrized_attr()
        self.parse_punctuation(">")
        self.parse_punctuation(":")
        dense_type = self._parse_dense_literal_type()
        data = self._bytes_of(key, start)
        needed = dense_type.element_count() * dense_type.element_type.compile_time_size
        if len(data) != needed:
            message = f"the resource '{key}' has {len(data)} bytes, {dense_type} needs"
            self.raise_error(f"{message} {needed}", start, self.pos)
        constant = DenseIntOrFPElementsAttr(dense_type, BytesAttr(data))
        self.resource_keys[id(constant)] = key
        return constant

    def _bytes_of(self, key: str, position: int) -> bytes:
        """The bytes of a resource, without the four that hold its alignment."""
        text = self._resources[key]
        try:
            if not text.startswith("0x"):
                raise ValueError(text)
            return bytes.fromhex(text[2:])[4:]
        except ValueError:
            self.raise_error(f"the resource '{key}' is no hexadecimal string", position)
