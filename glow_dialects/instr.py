"""The `instr` dialect: address-only instructions on memory (Glow's low-level IR).

A function works on memrefs; its results are `@out` arguments. Operands carry the
qualifiers `@out` (written), `@inout` (read and written) and `@in` (read), from which
memory effects, liveness, buffer sharing and dead-store elimination follow. Each
computing instruction has the mnemonic, attributes and shape rule of its node
(`instr.conv2d` of `glow.conv2d`, `instr.cpu.conv2d` of `cpu.conv2d`).

    %a = instr.alloc : memref<1x64x112x112xf32>
    instr.conv2d @out %a, @in %x, @in %w, @in %b strides [2, 2] pads [3, 3, 3, 3]
    instr.max @out %a, @in %a, @in %zero
    instr.dealloc %a

After `plan-memory` an `instr.alloc` carries its byte offset in the function's arena.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from math import prod
from typing import Self, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    SymbolRefAttr,
    i64,
)
from xdsl.ir import Attribute, Dialect, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    OptionalDef,
    OptPropertyDef,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    opt_region_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    EffectInstance,
    MemoryAllocEffect,
    MemoryEffect,
    MemoryEffectKind,
    MemoryFreeEffect,
    NoMemoryEffect,
)

from glow.dialects import cpu, glow
from glow.dialects.attributes import AttributeValue, to_attribute
from glow.dialects.glow.elementwise import verify_scalar_region
from glow.dialects.node import (
    SEGMENTS,
    GlowOp,
    NodeOp,
    Types,
    fail_unless,
    operand_segments_attr,
    parse_attributes,
    parse_defined_operand,
    parse_regions,
    shape_of,
    tensor_of,
)


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
        return node is not None and glow.DataParallel() in node.traits.traits

    def verify_(self) -> None:
        """The node's shape rule holds for what is read and written."""
        for value in self.operands:
            fail_unless(
                not isinstance(value.type, MemRefType)
                or min(shape_of(value), default=0) >= 0,
                f"buffers must have static shapes, not {value.type}",
            )
        if self.node is not None:
            self.node.check(
                _tensor_types(self.ins),
                self.attributes_view(),
                _tensor_types(self.outs),
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
        has_regions = bool(self.get_irdl_definition().regions)
        printer.print_op_attributes(self.attributes, print_keyword=has_regions)
        for region in self.regions:
            printer.print_string(" ")
            printer.print_region(region, print_entry_block_args=True)

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


QUALIFIERS = ("out", "inout", "in")


def _tensor_types(values: Sequence[SSAValue]) -> Types:
    return cast(
        Types,
        [
            tensor_of(value.type) if isinstance(value.type, MemRefType) else value.type
            for value in values
        ],
    )


class MemoryOp(GlowOp):
    """An operation that names memory: `mnemonic [%operands] [attributes] : type`."""

    @classmethod
    def build_memory(
        cls,
        operands: Sequence[SSAValue],
        result_type: MemRefType[Attribute],
        **attributes: AttributeValue,
    ) -> Self:
        """A new operation of the given result type."""
        properties = {
            name: attribute
            for name, value in attributes.items()
            if (attribute := to_attribute(value)) is not None
        }
        return cls.create(
            operands=operands, result_types=[result_type], properties=properties
        )

    def print(self, printer: Printer) -> None:
        """Print operands, attributes and the result type."""
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_ssa_value)
        self.print_properties(printer)
        printer.print_op_attributes(self.attributes)
        if self.results:
            printer.print_string(" : ")
            printer.print_attribute(self.results[0].type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse operands, attributes and the result type."""
        definition = cls.get_irdl_definition()
        operands: list[SSAValue] = []
        for number in range(len(definition.operands)):
            if number:
                parser.parse_punctuation(",")
            operands.append(parse_defined_operand(parser))
        properties = cls.parse_all_properties(parser)
        attributes = parser.parse_optional_attr_dict()
        result_types: list[Attribute] = []
        if definition.results:
            parser.parse_punctuation(":")
            result_types.append(parser.parse_type())
        return cls.create(
            operands=operands,
            result_types=result_types,
            properties=properties,
            attributes=attributes,
        )


@irdl_op_definition
class AllocOp(MemoryOp):
    """Starts a buffer's life; `offset` is its place in the arena once planned."""

    name = "instr.alloc"
    result = result_def(MemRefType)
    offset = opt_prop_def(IntegerAttr.constr(i64))
    traits = traits_def(MemoryAllocEffect())

    def verify_(self) -> None:
        """The shape is static; an offset is aligned to a cache line."""
        fail_unless(
            min(shape_of(self.result), default=0) >= 0,
            f"buffers must have static shapes, not {self.result.type}",
        )
        if self.offset is not None:
            offset = self.offset.value.data
            fail_unless(
                offset >= 0 and offset % 64 == 0,
                f"the arena offset {offset} must be a multiple of 64",
            )


@irdl_op_definition
class DeallocOp(MemoryOp):
    """Ends a buffer's life."""

    name = "instr.dealloc"
    buffer = operand_def(MemRefType)
    traits = traits_def(MemoryFreeEffect())


@irdl_op_definition
class WeightOp(MemoryOp):
    """Constant memory: `instr.weight @name : type`, or an inline `dense<...>` value."""

    name = "instr.weight"
    value = prop_def()
    result = result_def(MemRefType)
    traits = traits_def(NoMemoryEffect())

    @property
    def weight_name(self) -> str | None:
        """The weight table's entry, or None for an inline value."""
        value = self.value
        return value.string_value() if isinstance(value, SymbolRefAttr) else None

    def print(self, printer: Printer) -> None:
        """Print the value and the result type."""
        printer.print_string(" ")
        printer.print_attribute(self.value)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse the value and the result type."""
        value = parser.parse_attribute()
        parser.parse_punctuation(":")
        return cls.create(
            result_types=[parser.parse_type()], properties={"value": value}
        )


@irdl_op_definition
class TensorviewOp(MemoryOp):
    """Another shape on part of a buffer: row-major from element `offset` on."""

    name = "instr.tensorview"
    source = operand_def(MemRefType)
    result = result_def(MemRefType)
    offset = prop_def(IntegerAttr.constr(i64), default_value=to_attribute(0))
    traits = traits_def(NoMemoryEffect())

    def verify_(self) -> None:
        """The view stays inside its source."""
        offset = self.offset.value.data
        size, available = prod(shape_of(self.result)), prod(shape_of(self.source))
        fail_unless(
            0 <= offset and offset + size <= available,
            f"the view of {size} elements at {offset} leaves its buffer of {available}",
        )
        fail_unless(
            _element_type(self.source) == _element_type(self.result),
            "a view keeps the element type",
        )


@irdl_op_definition
class DynamicViewOp(MemoryOp):
    """Element `index` of a buffer's first axis."""

    name = "instr.dynamic_view"
    source = operand_def(MemRefType)
    index = operand_def(IndexType)
    result = result_def(MemRefType)
    traits = traits_def(NoMemoryEffect())

    def verify_(self) -> None:
        """The view has the source's shape without its first axis."""
        fail_unless(
            shape_of(self.source)[1:] == shape_of(self.result),
            f"element of {self.source.type} cannot be {self.result.type}",
        )


def _element_type(value: SSAValue) -> Attribute:
    assert isinstance(value.type, MemRefType)
    return value.type.element_type


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
            and self.value.type == _element_type(self.outs[0]),
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


def _instruction(node: type[NodeOp]) -> type[InstructionOp]:
    """The instruction class of a node: same mnemonic, attributes and regions."""
    definition = node.get_irdl_definition()
    mnemonic = node.name.removeprefix("glow.")
    namespace: dict[str, object] = {
        "__doc__": node.__doc__,
        "__module__": __name__,
        "name": f"instr.{mnemonic}",
    }
    for name, declared in definition.properties.items():
        if name == SEGMENTS:
            continue
        is_optional = isinstance(declared, OptPropertyDef)
        define = opt_prop_def if is_optional else prop_def
        namespace[name] = define(declared.constr, default_value=declared.default_value)
    for name, declared_region in definition.regions:
        is_optional = isinstance(declared_region, OptionalDef)
        define = opt_region_def if is_optional else region_def
        namespace[name] = define("single_block")
    prefix = "Cpu" if node.name.startswith("cpu.") else ""
    return irdl_op_definition(type(prefix + node.__name__, (InstructionOp,), namespace))


_WITHOUT_INSTRUCTION: AbstractSet[type[NodeOp]] = {
    glow.ConstantOp,  # instr.weight
    glow.SplatOp,
    glow.FusedOp,  # instr.stacked
    glow.ReshapeOp,  # instr.tensorview
    glow.ConcatOp,  # instr.insert or views
    glow.DynamicSliceOp,  # instr.dynamic_view
    glow.DynamicUpdateOp,
}

INSTRUCTION_OF: dict[type[NodeOp], type[InstructionOp]] = {
    glow.SplatOp: SplatOp,
    glow.FusedOp: StackedOp,
    **{
        node: _instruction(node)
        for node in (*glow.NODES, *cpu.NODES)
        if node not in _WITHOUT_INSTRUCTION
    },
}
"""The instruction of each node that has one of its own."""

NODE_OF: dict[type[InstructionOp], type[NodeOp]] = {
    instruction: node for node, instruction in INSTRUCTION_OF.items()
}
"""The node of each instruction."""

Instr = Dialect(
    "instr",
    [
        AllocOp, DeallocOp, WeightOp, TensorviewOp, DynamicViewOp, CopyOp, InsertOp,
        *INSTRUCTION_OF.values(),
    ],
    [],
)  # fmt: skip
