"""Configurations in the text: each class of numbers is the data of an attribute.

    %y = cpu.matmul %x, %w, %b config #cpu.matmul_config<rows = 8, blocks = 3>
        panels #cpu.panels<blocks = 3, lanes = 16> : tensor<128x768xf32>

It prints and parses its fields by name. Without one the kernel's own choice for the target holds,
as in programs written by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any, ClassVar, Generic, TypeVar, cast

from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from glow.backends.cpu.dialect.config import (
    AttentionConfig,
    BatchMatmulConfig,
    ConvConfig,
    DepthwiseConfig,
    MatmulConfig,
    Panels,
    PlainConvConfig,
    RecurrenceConfig,
    StrassenConfig,
    WinogradConfig,
)
from glow.dialects.attributes import Attributes
from glow.dialects.node import fail_unless

Config = TypeVar("Config", covariant=True)


def _count(parser: AttrParser, name: str) -> int:
    start = parser.pos
    value = parser.parse_integer(allow_boolean=False)
    if value < 0:
        parser.raise_error(f"{name} must not be negative, as {value} is", start)
    return value


def _positive(parser: AttrParser, name: str) -> int:
    start = parser.pos
    value = parser.parse_integer(allow_boolean=False)
    if value < 1:
        parser.raise_error(f"{name} must be positive, not {value}", start)
    return value


def _list(parser: AttrParser, name: str) -> tuple[int, ...]:
    return tuple(
        parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: _positive(parser, name)
        )
    )


PARSERS: Mapping[str, Callable[[AttrParser, str], object]] = {
    "int": _positive,
    "Count": _count,
    "bool": lambda parser, _: parser.parse_boolean(),
    "str": lambda parser, _: parser.parse_identifier(),
    "tuple[int, ...]": _list,
}
"""By the type of a field; numbers are positive."""


def _text(value: object) -> str:
    """A field as it is printed."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return str(list(cast("tuple[int, ...]", value)))
    return str(value)


class ConfigAttr(Data[Config], Generic[Config]):
    """`#cpu.matmul_config<rows = 8, blocks = 3>`: the fields of a class that are not as usual."""

    KIND: ClassVar[type[Any]]

    def print_parameter(self, printer: Printer) -> None:
        """Print the fields."""
        values = [
            f"{part.name} = {_text(value)}"
            for part in fields(self.KIND)
            if (value := getattr(self.data, part.name)) != part.default
        ]
        with printer.in_angle_brackets():
            printer.print_string(", ".join(values))

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Config:
        """Parse the fields, in any order."""
        known = {part.name: part for part in fields(cls.KIND)}
        values: dict[str, object] = {}

        def field() -> None:
            start, name = parser.pos, parser.parse_identifier()
            if name not in known or name in values:
                what = "two" if name in values else "no"
                parser.raise_error(
                    f"{cls.name} has {what} '{name}': there are {', '.join(known)}",
                    start,
                )
            parser.parse_punctuation("=")
            values[name] = PARSERS[str(known[name].type)](parser, name)

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, field)
        lacking = [
            name
            for name, part in known.items()
            if part.default is MISSING and name not in values
        ]
        if lacking:
            parser.raise_error(f"{cls.name} lacks {', '.join(lacking)}")
        return cls.KIND(**values)


@irdl_attr_definition
class PanelsAttr(ConfigAttr[Panels]):
    """The order of packed weights."""

    name = "cpu.panels"
    KIND = Panels


@irdl_attr_definition
class MatmulConfigAttr(ConfigAttr[MatmulConfig]):
    """The register tile of a product."""

    name = "cpu.matmul_config"
    KIND = MatmulConfig


@irdl_attr_definition
class ConvConfigAttr(ConfigAttr[ConvConfig]):
    """The register tiles and the order of a convolution on channel blocks."""

    name = "cpu.conv_config"
    KIND = ConvConfig


@irdl_attr_definition
class DepthwiseConfigAttr(ConfigAttr[DepthwiseConfig]):
    """The register tiles of a depthwise convolution."""

    name = "cpu.depthwise_config"
    KIND = DepthwiseConfig


@irdl_attr_definition
class PlainConvConfigAttr(ConfigAttr[PlainConvConfig]):
    """The register tile of a convolution in the plain layout."""

    name = "cpu.plain_conv_config"
    KIND = PlainConvConfig


@irdl_attr_definition
class BatchMatmulConfigAttr(ConfigAttr[BatchMatmulConfig]):
    """The form and the register tile of batched matmuls with dynamic operands."""

    name = "cpu.batch_matmul_config"
    KIND = BatchMatmulConfig


@irdl_attr_definition
class AttentionConfigAttr(ConfigAttr[AttentionConfig]):
    """The register tiles of attention."""

    name = "cpu.attention_config"
    KIND = AttentionConfig


@irdl_attr_definition
class WinogradConfigAttr(ConfigAttr[WinogradConfig]):
    """How a Winograd convolution is cut."""

    name = "cpu.winograd_config"
    KIND = WinogradConfig


@irdl_attr_definition
class StrassenConfigAttr(ConfigAttr[StrassenConfig]):
    """The register tile and the blocks of rows of Strassen's product."""

    name = "cpu.strassen_config"
    KIND = StrassenConfig


@irdl_attr_definition
class RecurrenceConfigAttr(ConfigAttr[RecurrenceConfig]):
    """The register tile of a recurrent step."""

    name = "cpu.recurrence_config"
    KIND = RecurrenceConfig


CONFIGS = (
    PanelsAttr,
    WinogradConfigAttr,
    StrassenConfigAttr,
    RecurrenceConfigAttr,
    MatmulConfigAttr,
    ConvConfigAttr,
    DepthwiseConfigAttr,
    PlainConvConfigAttr,
    BatchMatmulConfigAttr,
    AttentionConfigAttr,
)
"""The attributes of the dialect."""

ATTRIBUTE_OF: Mapping[type, type[ConfigAttr[Any]]] = {
    attribute.KIND: attribute for attribute in CONFIGS
}


def config_of(attributes: Attributes, kind: type[Config]) -> Config | None:
    """The configuration that a node says, if it says one of a kind."""
    config = _data_of(attributes.get("config"))
    return config if isinstance(config, kind) else None


def panels_of(attributes: Attributes) -> Panels | None:
    """In which panels the weights of a node are packed, if it says so."""
    panels = _data_of(attributes.get("panels"))
    return panels if isinstance(panels, Panels) else None


def _data_of(attribute: Attribute | None) -> object:
    if not isinstance(attribute, ConfigAttr):
        return None
    return cast("ConfigAttr[object]", attribute).data


def config_attributes(config: object, lanes: int | None = None) -> dict[str, Attribute]:
    """The attributes of a node that is configured so; its weights may lie in panels for that."""
    if config is None:
        return {}
    attributes: dict[str, Attribute] = {
        "config": ATTRIBUTE_OF[type(config)].new(config)
    }
    if lanes is not None:
        attributes["panels"] = PanelsAttr(_panels_for(config, lanes))
    return attributes


def _panels_for(config: object, lanes: int) -> Panels:
    """The panels that a configuration reads."""
    by_block = isinstance(config, WinogradConfig) and config.fused
    streams = config.streams if isinstance(config, MatmulConfig) else 1
    return Panels(cast("Panels", config).blocks, lanes, by_block, streams)


def check_panels(attributes: Attributes) -> None:
    """Fail unless a configuration has the columns of the panels in which weights are packed."""
    config, panels = _data_of(attributes.get("config")), panels_of(attributes)
    fail_unless((config is None) == (panels is None), "config and panels come together")
    if config is None or panels is None:
        return
    wanted = _panels_for(config, panels.lanes)
    fail_unless(
        wanted.blocks == panels.blocks,
        f"a tile of {wanted.blocks} blocks cannot read panels of {panels.blocks}: "
        "the weights would have to be packed anew",
    )
    fail_unless(
        wanted.streams == panels.streams,
        f"{wanted.streams} streams cannot read panels of {panels.streams}: the weights would have "
        "to be packed anew",
    )
    fail_unless(
        wanted == panels,
        "fused phases want panels by_block, others do not: the weights would have to be packed "
        "anew",
    )
