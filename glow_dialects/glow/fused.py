"""Scalar functions as regions: the data-parallel node that has one, and how they end."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ContainerType, TensorType
from xdsl.ir import Attribute, Block
from xdsl.irdl import (
    irdl_op_definition,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure

from glow.dialects.attributes import Attributes
from glow.dialects.glow.elementwise import broadcast_shape
from glow.dialects.node import (
    DataParallel,
    GlowOp,
    NodeOp,
    Types,
    fail_unless,
    public_nodes,
)
from glow.dialects.text import parse_operands


@irdl_op_definition
class FusedOp(NodeOp):
    """Any scalar function of broadcast operands, given as a region of arith/math ops.

    %0 = glow.fused %a, %b {
    ^bb0(%x: f32, %y: f32):
      %s = arith.addf %x, %y : f32
      glow.yield %s
    } : tensor<4xf32>
    """

    name = "glow.fused"
    arguments = var_operand_def(TensorType)
    body = region_def("single_block")
    results_ = var_result_def(TensorType)
    traits = traits_def(DataParallel())

    @classmethod
    def check(cls, operands: Types, attributes: Attributes, results: Types) -> None:
        """All results have the operands' broadcast shape."""
        shape = broadcast_shape([operand.get_shape() for operand in operands])
        for result in results:
            fail_unless(
                result.get_shape() == shape,
                f"the result {result} must have the operands' broadcast shape "
                + "x".join(map(str, shape)),
            )

    def verify_(self) -> None:
        """The region takes and yields the element types of operands and results."""
        super().verify_()
        verify_scalar_region(
            self.body.block,
            [operand.type for operand in self.inputs],
            self.result_types,
        )


def verify_scalar_region(
    block: object, operands: Sequence[Attribute], results: Sequence[Attribute]
) -> None:
    """Check a scalar region's arguments and yield against tensor or memref types."""

    def elements(types: Sequence[Attribute]) -> list[Attribute]:
        return [
            t.get_element_type() if isinstance(t, ContainerType) else t for t in types
        ]

    assert isinstance(block, Block)
    fail_unless(
        list(block.arg_types) == elements(operands),
        lambda: (
            "the region must take the operands' element types "
            + ", ".join(map(str, elements(operands)))
        ),
    )
    verify_self_contained(block)
    last = block.last_op
    fail_unless(
        isinstance(last, YieldOp)
        and [value.type for value in last.operands] == elements(results),
        lambda: (
            "the region must end in glow.yield of the results' element types "
            + ", ".join(map(str, elements(results)))
        ),
    )


def verify_self_contained(block: Block) -> None:
    """Check that a scalar region uses nothing from around it, which passes rely on."""
    inside = {*block.args, *(result for op in block.ops for result in op.results)}
    fail_unless(
        all(value in inside for op in block.ops for value in op.operands),
        "the region must use its own values only",
    )


@irdl_op_definition
class YieldOp(GlowOp):
    """Ends a scalar region with the values of one element."""

    name = "glow.yield"
    values = var_operand_def()
    traits = traits_def(IsTerminator(), Pure())

    def print(self, printer: Printer) -> None:
        """Print `%a, %b`."""
        if self.values:
            printer.print_string(" ")
            printer.print_list(self.values, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> YieldOp:
        """Parse `%a, %b`."""
        operands = parse_operands(parser)
        attributes = parser.parse_optional_attr_dict()
        return cls.create(operands=operands, attributes=attributes)


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
