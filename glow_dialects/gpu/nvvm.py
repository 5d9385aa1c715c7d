"""What of the `nvvm` dialect kernels say beside `nvgpu`, as upstream spells it.

nvvm.fence.mbarrier.init
nvvm.wgmma.wait.group.sync.aligned 0
"""

from __future__ import annotations

from xdsl.dialects.builtin import I64, IntegerAttr, i64
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from glow.dialects.gpu import wgmma


@irdl_op_definition
class FenceBarriersOp(IRDLOperation):
    """Shows barriers that the thread has made ready to the copies of tiles."""

    name = "nvvm.fence.mbarrier.init"
    assembly_format = "attr-dict"


@irdl_op_definition
class WaitGroupOp(IRDLOperation):
    """Waits until at most `group` groups of `wgmma` of the warp are not done."""

    name = "nvvm.wgmma.wait.group.sync.aligned"
    group = prop_def(IntegerAttr[I64])

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(f" {self.group.value.data}")

    @classmethod
    def parse(cls, parser: Parser) -> WaitGroupOp:
        attributes = parser.parse_optional_attr_dict()
        group = IntegerAttr(parser.parse_integer(allow_boolean=False), i64)
        return cls.create(properties={"group": group}, attributes=attributes)


Nvvm = Dialect(
    "nvvm", [FenceBarriersOp, WaitGroupOp, *wgmma.OPERATIONS], [*wgmma.ATTRIBUTES]
)
