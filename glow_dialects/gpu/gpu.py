"""The `gpu` dialect as upstream spells it, of which xDSL 0.74 has the generic form alone.

What xDSL has and is not here is xDSL's; `gpu.shuffle` is added.

    gpu.module @kernels {
      gpu.func @f(%x: memref<4xf32>) kernel attributes {known_block_size = array<i32: 4, 1, 1>} {
        %i = gpu.thread_id x
        gpu.return
      }
    }
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import auto
from typing import Self, cast

from xdsl.dialects import gpu as upstream
from xdsl.dialects.builtin import (
    DenseArrayBase,
    FunctionType,
    IndexType,
    StringAttr,
    UnitAttr,
    i1,
    i32,
)
from xdsl.dialects.gpu import DimensionAttr, DimensionEnum
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import (
    Attribute,
    Block,
    Dialect,
    Operation,
    Region,
    SpacedOpaqueSyntaxAttribute,
)
from xdsl.irdl import (
    IRDLOperation,
    attr_def,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_attr_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsolatedFromAbove,
    IsTerminator,
    NoTerminator,
    Pure,
    SymbolOpInterface,
    SymbolTable,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

KERNEL = "gpu.kernel"
SIZES = ("known_block_size", "known_grid_size")


@irdl_op_definition
class ModuleOp(IRDLOperation):
    """Kernels, and the shared memory that they use.

    gpu.module @kernels { ... }
    """

    name = "gpu.module"
    sym_name = prop_def(StringAttr)
    body = region_def("single_block")
    traits = traits_def(
        IsolatedFromAbove(), NoTerminator(), SymbolOpInterface(), SymbolTable()
    )

    def __init__(self, name: str, ops: Sequence[Operation]) -> None:
        super().__init__(
            properties={"sym_name": StringAttr(name)}, regions=[Region(Block(ops))]
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)

    @classmethod
    def parse(cls, parser: Parser) -> ModuleOp:
        name = parser.parse_symbol_name().data
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region()
        if not region.blocks:
            region.add_block(Block())
        op = cls.create(properties={"sym_name": StringAttr(name)}, regions=[region])
        op.attributes |= attributes.data if attributes is not None else {}
        return op


def _argument_of(parser: Parser) -> Parser.Argument:
    """An argument of a function, which may have a location behind it."""
    argument = parser.parse_argument()
    parser.parse_optional_location()
    return argument


@irdl_op_definition
class FuncOp(IRDLOperation):
    """A function that each thread of a grid runs.

    gpu.func @f(%x: memref<4xf32>) kernel { ... }
    """

    name = "gpu.func"
    sym_name = attr_def(StringAttr)
    function_type = prop_def(FunctionType)
    known_block_size = opt_prop_def(DenseArrayBase.constr(i32))
    known_grid_size = opt_prop_def(DenseArrayBase.constr(i32))
    kernel = opt_attr_def(UnitAttr, attr_name=KERNEL)
    body = region_def()
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(
        self,
        name: str,
        region: Region,
        block_size: Sequence[int],
        grid_size: Sequence[int],
    ) -> None:
        """A kernel; the arguments are those of the region's block."""
        inputs = region.blocks[0].arg_types
        super().__init__(
            properties={
                "function_type": FunctionType.from_lists(inputs, []),
                "known_block_size": DenseArrayBase.from_list(i32, block_size),
                "known_grid_size": DenseArrayBase.from_list(i32, grid_size),
            },
            attributes={"sym_name": StringAttr(name), KERNEL: UnitAttr()},
            regions=[region],
        )

    def verify_(self) -> None:
        if tuple(self.function_type.inputs) != tuple(self.body.blocks[0].arg_types):
            raise VerifyException("gpu.func: the arguments are not those of its type")
        if self.kernel is not None and len(self.function_type.outputs):
            raise VerifyException("gpu.func: a kernel has no results")
        for name in SIZES:
            size = self.properties.get(name)
            if size is not None and len(cast("DenseArrayBase", size)) != 3:
                raise VerifyException(f"gpu.func: {name} needs three numbers")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        block = self.body.blocks[0]
        with printer.in_parens():
            printer.print_list(block.args, printer.print_block_argument)
        if self.kernel is not None:
            printer.print_string(" kernel")
        shown = {
            name: self.properties[name] for name in SIZES if name in self.properties
        }
        shown |= self.attributes
        printer.print_op_attributes(
            shown, reserved_attr_names=("sym_name", KERNEL), print_keyword=True
        )
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> FuncOp:
        name = parser.parse_symbol_name().data
        arguments = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: _argument_of(parser)
        )
        attributes: dict[str, Attribute] = {"sym_name": StringAttr(name)}
        if parser.parse_optional_keyword("kernel") is not None:
            attributes[KERNEL] = UnitAttr()
        given = parser.parse_optional_attr_dict_with_keyword()
        attributes |= {} if given is None else given.data
        properties: dict[str, Attribute] = {
            size: attributes.pop(size) for size in SIZES if size in attributes
        }
        inputs = [argument.type for argument in arguments]
        properties["function_type"] = FunctionType.from_lists(inputs, [])
        region = parser.parse_region(arguments)
        return cls.create(
            properties=properties, attributes=attributes, regions=[region]
        )


class PlaceOp(IRDLOperation):
    """A number of the thread that reads it, in one dimension: `gpu.thread_id x`."""

    dimension = prop_def(DimensionAttr)
    result = result_def(IndexType)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.dimension.data.value}")
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        dimension = parser.parse_str_enum(DimensionEnum)
        attributes = parser.parse_optional_attr_dict()
        return cls.create(
            result_types=[IndexType()],
            properties={"dimension": DimensionAttr(dimension)},
            attributes=attributes,
        )


@irdl_op_definition
class ThreadIdOp(PlaceOp):
    """The number of a thread in its block: `gpu.thread_id x`."""

    name = "gpu.thread_id"
    traits = traits_def(Pure())


@irdl_op_definition
class BlockIdOp(PlaceOp):
    """The number of a thread's block in the grid: `gpu.block_id x`."""

    name = "gpu.block_id"
    traits = traits_def(Pure())


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """Waits for all threads of the block: `gpu.barrier`."""

    name = "gpu.barrier"
    assembly_format = "attr-dict"


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """Ends a kernel: `gpu.return`."""

    name = "gpu.return"
    traits = traits_def(IsTerminator())
    assembly_format = "attr-dict"


class ShuffleMode(StrEnum):
    """How a lane is found from the operand `offset`."""

    Xor = auto()
    Up = auto()
    Down = auto()
    Idx = auto()


@irdl_attr_definition
class ShuffleModeAttr(EnumAttribute[ShuffleMode], SpacedOpaqueSyntaxAttribute):
    """Which lane's value a lane gets: `#gpu<shuffle_mode xor>`."""

    name = "gpu.shuffle_mode"


@irdl_op_definition
class ShuffleOp(IRDLOperation):
    """The value that another lane of the warp has, and whether there is such a lane.

    %y, %valid = gpu.shuffle xor %x, %offset, %width : f32
    """

    name = "gpu.shuffle"
    mode = prop_def(ShuffleModeAttr)
    value = operand_def(Attribute)
    offset = operand_def(i32)
    width = operand_def(i32)
    shuffled = result_def(Attribute)
    valid = result_def(i1)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.mode.data.value} ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)

    @classmethod
    def parse(cls, parser: Parser) -> ShuffleOp:
        mode = parser.parse_str_enum(ShuffleMode)
        values = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        return cls.create(
            operands=parser.resolve_operands(values, [type_, i32, i32], parser.pos),
            result_types=[type_, i1],
            properties={"mode": ShuffleModeAttr(mode)},
            attributes=attributes,
        )


OWN = (ModuleOp, FuncOp, ThreadIdOp, BlockIdOp, BarrierOp, ReturnOp, ShuffleOp)

Gpu = Dialect(
    "gpu",
    [
        *(op for op in upstream.GPU.operations if op.name not in {o.name for o in OWN}),
        *OWN,
    ],
    [*upstream.GPU.attributes, ShuffleModeAttr],
)
