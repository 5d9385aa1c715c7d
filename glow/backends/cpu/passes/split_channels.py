"""Computes wide convolutions some channels at a time, where memory is scarce.

A depthwise convolution or a pool computes each channel from the same channel alone. What the
convolution before it writes is then needed for some channels only, and its largest value is
never there as a whole. Nothing is computed twice, since each output channel has its own weights.

    %0 = glow.conv2d %x, %w : tensor<1x48x48x48xf32>
    %1 = glow.conv2d %0, %v strides [2, 2] ... group 48 : tensor<1x48x24x24xf32>
  becomes
    %2 = glow.conv2d %x, %w.0 : tensor<1x24x48x48xf32>
    %3 = glow.conv2d %2, %v.0 strides [2, 2] ... group 24 : tensor<1x24x24x24xf32>
    %4 = glow.conv2d %x, %w.1 : tensor<1x24x48x48xf32>
    %5 = glow.conv2d %4, %v.1 strides [2, 2] ... group 24 : tensor<1x24x24x24xf32>
    %1 = glow.concat %3, %5 axis 1 : tensor<1x48x24x24xf32>

The concatenation is a view in the end, since channel blocks come first, and the parts share their
kernels. There are as few parts as bring a pair below what the rest of the network needs at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of, tensor_type
from glow.dialects.quant import Quantization, StorageCastOp, quantization_of
from glow.dialects.quantized import is_quantized, stored_type
from glow.dialects.weights import stored_value
from glow.lowering.target.program_target import settle_target
from glow.passes.instr.buffers import byte_size
from glow.passes.quantization.casts import tensor_of
from glow.passes.rewriting.contract import BITS
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    attributes_of,
    element_type,
    erase,
    name_of,
)

VIEWS = (glow.ReshapeOp, StorageCastOp)
"""Nodes whose results have no memory of their own."""

CONSTANTS = (glow.ConstantOp, glow.SplatOp)


@dataclass(frozen=True)
class Pair:
    """A convolution, and the only node that reads it, channel by channel."""

    first: glow.Conv2dOp
    second: NodeOp
    blocks: int
    """The channel blocks of what is between them."""

    @property
    def between(self) -> SSAValue:
        """What the first writes and the second reads."""
        return self.first.result


def find_pairs(block: Block, lanes: int) -> Iterator[Pair]:
    """The pairs of a block whose channels can be parted."""
    for first in block.ops:
        if not isinstance(first, glow.Conv2dOp) or group_of(first) != 1:
            continue
        second = first.result.get_user_of_unique_use()
        batch, channels, *_ = shape_of(first.result)
        if (
            isinstance(second, NodeOp)
            and second.parent is block
            and keeps_channels_apart(second)
            and batch == 1
            and channels % lanes == 0
            and all(map(can_be_cut, (*first.inputs[1:], *second.inputs[1:])))
        ):
            yield Pair(first, second, channels // lanes)


def group_of(op: glow.Conv2dOp) -> int:
    """How many groups of channels a convolution has."""
    return op.attributes_view().int("group")


def keeps_channels_apart(op: NodeOp) -> bool:
    """Whether a node computes each channel of its result from that of its first operand."""
    if isinstance(op, glow.Conv2dOp):
        channels = shape_of(op.result)[1]
        return group_of(op) == channels == shape_of(op.input)[1]
    return isinstance(op, glow.MaxPool2dOp | glow.AvgPool2dOp)


def can_be_cut(value: SSAValue) -> bool:
    """Whether a value is a constant whose first axis, that of channels, can be sliced."""
    data = quantization_of(value.type)
    return stored_value(value) is not None and (data is None or data.axis in (None, 0))


def live_values(block: Block) -> Mapping[Operation, set[SSAValue]]:
    """The values in the arena while each operation runs: inputs and outputs lie elsewhere."""
    live: set[SSAValue] = set()
    returned: set[SSAValue] = set()
    found: dict[Operation, set[SSAValue]] = {}
    for op in reversed(list(block.ops)):
        operands = {source_of(value) for value in op.operands}
        if isinstance(op, ReturnOp):
            returned = operands
            continue
        if isinstance(op, (*VIEWS, *CONSTANTS)):
            continue
        needed = {v for v in operands if not isinstance(v.owner, CONSTANTS)}
        live |= {v for v in needed if not isinstance(v, BlockArgument)} - returned
        found[op] = live | (set(op.results) - returned)
        live -= set(op.results)
    return found


def source_of(value: SSAValue) -> SSAValue:
    """The value in whose memory another one lies."""
    while isinstance(value.owner, VIEWS):
        value = value.owner.operands[0]
    return value


def bytes_of(*values: SSAValue) -> int:
    """The bytes of tensors, as they are stored."""
    return sum(
        byte_size(stored_type(tensor_of(v)) if is_quantized(v.type) else v)
        for v in values
    )


def choose_parts(block: Block, lanes: int) -> dict[Pair, int]:
    """The pairs to part, and into how many parts."""
    live, pairs = live_values(block), list(find_pairs(block, lanes))
    inside = {op for pair in pairs for op in (pair.first, pair.second)}
    needs = {pair: memory_by_parts(pair, live) for pair in pairs}
    others = [bytes_of(*values) for op, values in live.items() if op not in inside]
    least = max([0, *others, *(min(need.values()) for need in needs.values())])
    chosen = {
        pair: next(parts for parts, size in need.items() if size <= least)
        for pair, need in needs.items()
    }
    return {pair: parts for pair, parts in chosen.items() if parts > 1}


def memory_by_parts(
    pair: Pair, live: Mapping[Operation, set[SSAValue]]
) -> dict[int, int]:
    """The bytes that are live at once while a pair runs, by the number of its parts."""
    first, second = live[pair.first], live[pair.second]
    size, whole = bytes_of(pair.between), bytes_of(*(first | second))
    sizes = {1: max(bytes_of(*first), bytes_of(*second))}
    for parts in range(2, pair.blocks + 1):
        if pair.blocks % parts == 0:
            sizes[parts] = whole - size + size // parts
    return sizes


def split(pair: Pair, parts: int) -> None:
    """Replace a pair by a concatenation of its parts, one part after the other."""
    builder = NodeBuilder(pair.second)
    step = shape_of(pair.between)[1] // parts
    pieces: list[SSAValue] = []
    for start in range(0, step * parts, step):
        value = part_of(builder, pair.first, pair.first.input, start, step)
        pieces.append(part_of(builder, pair.second, value, start, step))
    types = [tensor_of(pair.second.results[0])]
    builder.replace(builder.create(glow.ConcatOp, pieces, {"axis": 1}, types=types))
    erase(pair.first)


def part_of(
    builder: NodeBuilder, op: NodeOp, value: SSAValue, start: int, step: int
) -> SSAValue:
    """Some channels of a node's result, for the first operand of these."""
    attributes = attributes_of(op)
    if isinstance(op, glow.Conv2dOp) and group_of(op) > 1:
        attributes["group"] = step
    constants = [constant_part(builder, x, start, step) for x in op.inputs[1:]]
    result = op.results[0]
    batch, _, *plane = shape_of(result)
    types = [tensor_type((batch, step, *plane), element_type(result))]
    return builder.create(type(op), [value, *constants], attributes, types=types)


def constant_part(
    builder: NodeBuilder, value: SSAValue, start: int, step: int
) -> SSAValue:
    """Some channels of a constant, with their scales."""
    array, data = stored_value(value), quantization_of(value.type)
    assert array is not None
    part, name = array[start : start + step], f"{name_of(value)}.{start}"
    if data is None:
        return builder.constant(part, name)
    return builder.quantized_constant(part, channels_of(data, start, step), name)


def channels_of(data: Quantization, start: int, step: int) -> Quantization:
    """The parameters of some channels."""
    if data.axis is None:
        return data
    chosen = slice(start, start + step)
    return replace(
        data, scales=data.scales[chosen], zero_points=data.zero_points[chosen]
    )


@dataclass(frozen=True)
class SplitChannelsPass(ModulePass):
    """Compute wide convolutions some channels at a time, for targets of little memory."""

    name = "split-channels"
    preserves = BITS

    target: str = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        target = settle_target(op, self.target)
        if not target.for_size:
            return
        lanes = max(target.lanes(32), target.dot_bytes)
        for function in op.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                for pair, parts in choose_parts(function.body.block, lanes).items():
                    split(pair, parts)
