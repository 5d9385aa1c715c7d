"""How a kernel was configured: chosen once for the target, and kept in the text.

    %y = cpu.matmul %x, %w, %b config #cpu.matmul_config<rows = 8, blocks = 3>
        panels #cpu.panels<blocks = 3, lanes = 16> : tensor<128x768xf32>

A family of kernels has one frozen class of numbers, which its specification holds and its
builder, the reference and the log of kernels read; here each is the data of an attribute, which
prints and parses its fields by name. Without one the kernel's own choice for the target holds, as
in programs written by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, Generic, TypeVar, cast

from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from glow.dialects.attributes import Attributes
from glow.dialects.node import fail_unless


@dataclass(frozen=True)
class Panels:
    """The order of packed weights: panels of so many registers of columns, each front to back.

    `by_block`: those of a Winograd convolution have the channels outermost, then the positions.
    """

    blocks: int
    lanes: int
    by_block: bool = False


CUTS = ("auto", "rows", "columns")
"""What threads share of a product."""


@dataclass(frozen=True)
class MatmulConfig:
    """The register tile of a product: rows times blocks of one register of columns each.

    `cut`: what threads share, tiles of `rows` or of `columns`; `auto` is what the machine model
    says of the kernel with its epilogue.
    """

    rows: int
    blocks: int
    cut: str = "auto"


@dataclass(frozen=True)
class ConvConfig:
    """The register tiles of a convolution on channel blocks, and what its loops run over.

    A tile is `pixels` of a row times `blocks` blocks of output channels; in columns that reach
    the padding it is `sides` pixels high, unless tiles of `whole_rows` take these in. There is a
    second number where a last tile has fewer blocks. A row is cut into `segments`. On small
    planes a tile may be `images` instead: one pixel of as many images as `pixels` says. `order`:
    `rows`, all channels of each; `channels`, all rows of each; `shared_rows`, which
    threads share, where each goes through all channels before the next rows; or `pixels`, rows
    of which one loop body takes every pixel, with its taps inside as bounds.
    """

    blocks: int
    pixels: tuple[int, ...]
    sides: tuple[int, ...] = ()
    whole_rows: bool = False
    order: str = "rows"
    segments: int = 1
    images: bool = False


@dataclass(frozen=True)
class DepthwiseConfig:
    """The register tiles of a depthwise convolution: `pixels` of a row, `sides` of a column that
    reaches the padding; a row is cut into `segments`. `by_pixel`: one loop body takes every
    pixel, with its taps inside as bounds.
    """

    pixels: int
    sides: int = 1
    segments: int = 1
    by_pixel: bool = False


@dataclass(frozen=True)
class PlainConvConfig:
    """The register tile of a convolution in the plain layout: `channels` times `vectors` of
    pixels; a row is cut into `segments`.
    """

    channels: int
    vectors: int
    segments: int = 1


@dataclass(frozen=True)
class BatchMatmulConfig:
    """How batched matmuls with dynamic operands are done, and in which register tiles.

    `form`: `direct`, rows of the right matrices are read in place; `pack`, panels of their
    columns are transposed first; or `dot`, registers lie along the depth. A tile is `rows` times
    `blocks` registers of columns, or columns in the `dot` form.
    """

    form: str
    rows: int
    blocks: int


@dataclass(frozen=True)
class AttentionConfig:
    """The register tiles of attention, in blocks of `rows` queries: `score` for the products
    with keys, `value` for those with values. Keys are taken in blocks of `key_block`, or all.
    """

    rows: int
    score_rows: int
    score_blocks: int
    value_rows: int
    value_blocks: int
    key_block: int = 0


@dataclass(frozen=True)
class WinogradConfig:
    """How a Winograd convolution is cut.

    A block is `block_rows` rows of tiles, or one of the `segments` of a single row. A register
    tile of the products is `pixels` tiles times `blocks` blocks of output channels, with a second
    number where a last one has fewer blocks. `fused`: each block goes through all phases before
    the next one; else there is one block, and a kernel for each phase.
    """

    block_rows: int
    blocks: int
    pixels: tuple[int, ...]
    segments: int = 1
    fused: bool = False


@dataclass(frozen=True)
class StrassenConfig:
    """The register tile of the products of parts, the blocks of their rows, and the `cut`."""

    rows: int
    blocks: int
    row_blocks: int = 1
    cut: str = "auto"


@dataclass(frozen=True)
class RecurrenceConfig:
    """The register tile of a step: rows times `blocks` registers of units, of all gates.

    `alternates`: every other step reads the weights from their end.
    """

    rows: int
    blocks: int
    alternates: bool = False


Config = TypeVar("Config", covariant=True)


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
    return Panels(cast("Panels", config).blocks, lanes, by_block)


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
        wanted == panels,
        "fused phases want panels by_block, others do not: the weights would have to be packed "
        "anew",
    )
