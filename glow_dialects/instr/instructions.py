"""Instructions: operations that read and write buffers, and those without a node."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Self, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
)
from xdsl.ir import Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.hints import isa

from glow.dialects.attributes import AttributeValue, to_attribute
from glow.dialects.glow.fused import verify_scalar_region, verify_self_contained
from glow.dialects.glow.indexing import UpdatesOperand
from glow.dialects.node import (
    SEGMENTS,
    DataParallel,
    GlowOp,
    NodeOp,
    Types,
    element_of,
    fail_unless,
    operand_segments_attr,
    shape_of,
    tensor_of,
)
from glow.dialects.text import (
    parse_attributes,
    parse_defined_operand,
    parse_regions,
    print_attributes_and_regions,
)

QUALIFIERS = ("out", "inout", "in")


class QualifiedEffects(MemoryEffect):
    """Memory effects that follow from the operand qualifiers."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        """A write for each `@out`, a read for each `@in`, both for each `@inout`."""
        assert isinstance(op, InstructionOp)
        written = (*op.outs, *op.inouts)
        read = (*op.inouts, *op.ins)
        return {
            *(EffectInstance(MemoryEffectKind.WRITE, value) for value in written),
            *(EffectInstance(MemoryEffectKind.READ, value) for value in read),
        }


class InstructionOp(GlowOp):
    """An operation on buffers with qualified operands."""

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    outs = var_operand_def(MemRefType)
    inouts = var_operand_def(MemRefType)
    ins = var_operand_def(MemRefType | IndexType)

    traits = traits_def(QualifiedEffects())

    @property
    def node(self) -> type[NodeOp] | None:
        """The node whose instruction this is: its shape rule and semantics apply."""
        return NODE_OF.get(type(self))

    @classmethod
    def build_instruction(
        cls,
        outs: Sequence[SSAValue],
        ins: Sequence[SSAValue],
        inouts: Sequence[SSAValue] = (),
        *,
        regions: Sequence[Region] = (),
        **attributes: AttributeValue,
    ) -> Self:
        """A new instruction; attributes that are not given take their defaults."""
        properties = {
            name: attribute
            for name, value in attributes.items()
            if (attribute := to_attribute(value)) is not None
        }
        for name, declared in cls.get_irdl_definition().properties.items():
            if name not in properties and declared.default_value is not None:
                properties[name] = declared.default_value
        properties[SEGMENTS] = operand_segments_attr(len(outs), len(inouts), len(ins))
        return cls.create(
            operands=[*outs, *inouts, *ins], properties=properties, regions=regions
        )

    @property
    def is_data_parallel(self) -> bool:
        """Whether each written element depends on its own position only."""
        node = self.node
        return node is not None and DataParallel() in node.traits.traits

    def may_overwrite(self, value: SSAValue) -> bool:
        """Whether a result may take the very memory of an operand."""
        traits = () if self.node is None else self.node.traits
        return self.is_data_parallel or any(
            isinstance(trait, UpdatesOperand) and value is self.ins[trait.number]
            for trait in traits
        )

    def verify_(self) -> None:
        """The node's shape rule holds for what is read and written, and for scratch."""
        for value in self.operands:
            fail_unless(
                not isa(value.type, MemRefType) or min(shape_of(value), default=0) >= 0,
                f"buffers must have static shapes, not {value.type}",
            )
        for region in self.regions:
            verify_self_contained(region.block)
        if self.node is not None:
            reads, attributes = _tensor_types(self.ins), self.attributes_view()
            self.node.check_operands(reads)
            self.node.check(reads, attributes, _tensor_types(self.outs))
            scratch = list(self.node.scratch_types(reads, attributes))
            fail_unless(
                scratch == list(_tensor_types(self.inouts)),
                f"needs @inout scratch memory for [{', '.join(map(str, scratch))}]",
            )

    def print(self, printer: Printer) -> None:
        """Print qualified operands, attributes and regions."""
        printer.print_string(" ")
        qualified = [
            (qualifier, value)
            for qualifier, group in zip(
                QUALIFIERS, (self.outs, self.inouts, self.ins), strict=True
            )
            for value in group
        ]

        def print_operand(item: tuple[str, SSAValue]) -> None:
            printer.print_string(f"@{item[0]} ")
            printer.print_ssa_value(item[1])

        printer.print_list(qualified, print_operand)
        self.print_properties(printer)
        print_attributes_and_regions(printer, self, self.get_irdl_definition())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse qualified operands, attributes and regions."""
        groups: dict[str, list[SSAValue]] = {name: [] for name in QUALIFIERS}
        while True:
            start = parser.pos
            qualifier = parser.parse_symbol_name().data
            if qualifier not in groups:
                parser.raise_error(
                    f"unknown qualifier @{qualifier}, expected @out, @inout or @in",
                    start,
                    parser.pos,
                )
            groups[qualifier].append(parse_defined_operand(parser))
            if parser.parse_optional_punctuation(",") is None:
                break
        properties = cls.parse_all_properties(parser)
        properties[SEGMENTS] = operand_segments_attr(*map(len, groups.values()))
        definition = cls.get_irdl_definition()
        attributes = parse_attributes(parser, definition)
        regions = parse_regions(parser, definition)
        return cls.create(
            operands=[value for group in groups.values() for value in group],
            properties=properties,
            attributes=attributes,
            regions=regions,
        )


NODE_OF: dict[type[InstructionOp], type[NodeOp]] = {}
"""The node of each instruction; `table.py` fills it from the nodes."""


def _tensor_types(values: Sequence[SSAValue]) -> Types:
    return cast(
        Types,
        [
            tensor_of(value.type) if isa(value.type, MemRefType) else value.type
            for value in values
        ],
    )


@irdl_op_definition
class CopyOp(InstructionOp):
    """Copies a whole buffer into another of its shape."""

    name = "instr.copy"

    def verify_(self) -> None:
        """Source and destination have one type."""
        super().verify_()
        fail_unless(
            len(self.outs) == 1 and len(self.ins) == 1 and not self.inouts,
            "copy takes one @out and one @in buffer",
        )
        fail_unless(
            self.outs[0].type == self.ins[0].type,
            f"copy needs one type, not {self.ins[0].type} and {self.outs[0].type}",
        )


@irdl_op_definition
class SplatOp(InstructionOp):
    """Fills a buffer with one number (Glow's SplatInst)."""

    name = "instr.splat"
    value = prop_def(FloatAttr | IntegerAttr)

    def verify_(self) -> None:
        """The number has the buffer's element type."""
        fail_unless(
            len(self.outs) == 1
            and not self.ins
            and not self.inouts
            and self.value.type == element_of(self.outs[0]),
            "splat takes one @out buffer of its number's type",
        )

    @property
    def is_data_parallel(self) -> bool:
        """A splat has no operands, so any position can be written alone."""
        return True


@irdl_op_definition
class InsertOp(InstructionOp):
    """Writes a tensor into a larger one at `offsets` (Glow's InsertTensorInst)."""

    name = "instr.insert"
    offsets = prop_def(DenseArrayBase)

    def verify_(self) -> None:
        """The inserted tensor stays inside the destination."""
        super().verify_()
        fail_unless(
            len(self.inouts) == 1 and len(self.ins) == 1 and not self.outs,
            "insert takes one @inout and one @in buffer",
        )
        target, source = shape_of(self.inouts[0]), shape_of(self.ins[0])
        offsets = self.attributes_view().ints("offsets")
        fail_unless(
            len(target) == len(source) == len(offsets)
            and all(
                0 <= offset and offset + size <= limit
                for offset, size, limit in zip(offsets, source, target, strict=True)
            ),
            f"{self.ins[0].type} at {list(offsets)} leaves {self.inouts[0].type}",
        )


@irdl_op_definition
class StackedOp(InstructionOp):
    """A stack of data-parallel instructions run in one loop (Glow's operator stacking).

    instr.stacked @out %y, @in %a, @in %b {
    ^bb0(%x: f32, %r: f32):
      %s = arith.addf %x, %r : f32
      glow.yield %s
    }
    """

    name = "instr.stacked"
    body = region_def("single_block")

    def verify_(self) -> None:
        """The region takes and yields the buffers' element types."""
        super().verify_()
        verify_scalar_region(
            self.body.block,
            [value.type for value in self.ins],
            [value.type for value in self.outs],
        )
