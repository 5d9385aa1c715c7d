"""Functions take and return the stored integers of values that they cast at once.

    func.func @main(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
      %0 = quant.qcast %x : tensor<1x4xf32> to tensor<1x4x!quant.uniform<u8:f32, 0.5:3>>
      ...
      %2 = quant.dcast %1 : tensor<1x4x!quant.uniform<u8:f32, 0.25>> to tensor<1x4xf32>
      func.return %2 : tensor<1x4xf32>
  becomes
    func.func @main(%x: tensor<1x4xui8>) -> tensor<1x4xui8> {
      %0 = glow.scast %x : tensor<1x4xui8> to tensor<1x4x!quant.uniform<u8:f32, 0.5:3>>
      ...
      %2 = glow.scast %1 : tensor<1x4x!quant.uniform<u8:f32, 0.25>> to tensor<1x4xui8>
      func.return %2 : tensor<1x4xui8>

The caller quantizes, or has bytes anyway, as cameras do; a float takes four times the memory.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument

from glow.dialects.quant import storage_cast
from glow.dialects.quantized import parameters_of, quantized_type, stored_type
from glow.passes.quantization.casts import (
    common_target,
    dequantized,
    replace_casts,
    tensor_of,
)
from glow.passes.quantization.profiling.instrument_profile import functions_of
from glow.passes.rewriting.node_builder import NodeBuilder, erase_dead_nodes


def integer_interface(module: ModuleOp) -> None:
    """Move the casts at the borders of the functions to their callers."""
    for function in functions_of(module):
        for argument in list(function.body.block.args):
            take_stored(argument)
        give_stored(function)
        function.update_function_type()
    erase_dead_nodes(module)


def take_stored(argument: BlockArgument) -> None:
    """Make an argument the stored integers that all of its readers cast it to."""
    data = common_target(argument)
    if data is None or data.axis is not None:
        return
    target = quantized_type(tensor_of(argument), data)
    first = argument.block.first_op
    assert first is not None
    new = argument.block.insert_arg(stored_type(target), argument.index)
    new.name_hint = argument.name_hint
    cast = NodeBuilder(first).insert(storage_cast(new, target))
    replace_casts(argument, cast.results[0])
    argument.block.erase_arg(argument)


def give_stored(function: FuncOp) -> None:
    """Return the stored integers of what is returned as their floats."""
    last = function.body.block.last_op
    assert isinstance(last, ReturnOp)
    for index, value in enumerate(last.arguments):
        source = dequantized(value)
        if source is not None and parameters_of(source.type).axis is None:
            cast = storage_cast(source, stored_type(tensor_of(source)))
            last.operands[index] = NodeBuilder(last).insert(cast).results[0]
