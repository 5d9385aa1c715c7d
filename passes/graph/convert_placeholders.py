"""Moves conversions of element types at the borders into the function's type.

A network whose input is converted at once may as well be given that type (Glow's
`-convert-placeholders`). It changes what callers pass, so no pipeline runs it by itself.

    func.func @main(%x: tensor<4xf16>) -> tensor<4xf16> {
      %0 = glow.convert %x : tensor<4xf32>
      ...
      %2 = glow.convert %1 : tensor<4xf16>
      func.return %2
  becomes
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { ... func.return %1 }
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument
from xdsl.rewriter import Rewriter

from glow.dialects import glow
from glow.passes.rewriting.contract import MEANING, GraphPass
from glow.passes.rewriting.node_builder import erase_dead_nodes


def convert_argument(argument: BlockArgument) -> None:
    """Give an argument the one type that all its readers convert it to."""
    readers = [use.operation for use in argument.uses]
    types = {
        reader.results[0].type
        for reader in readers
        if isinstance(reader, glow.ConvertOp)
    }
    if len(types) != 1 or not all(isinstance(r, glow.ConvertOp) for r in readers):
        return
    converted = Rewriter.replace_value_with_new_type(argument, types.pop())
    for reader in readers:
        reader.results[0].replace_all_uses_with(converted)
        reader.detach()
        reader.erase()


def convert_function(function: FuncOp) -> None:
    """Convert the arguments and the results of a function."""
    for argument in function.args:
        convert_argument(argument)
    last = function.body.block.last_op
    if isinstance(last, ReturnOp):
        for index, value in enumerate(last.operands):
            if isinstance(value.owner, glow.ConvertOp):
                last.operands[index] = value.owner.operands[0]
    function.update_function_type()


class ConvertPlaceholdersPass(GraphPass):
    """Move conversions at the borders into the function's type."""

    name = "convert-placeholders"
    preserves = MEANING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        for function in op.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                convert_function(function)
        erase_dead_nodes(op)
