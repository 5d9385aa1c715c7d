"""Runs the front of a network a few images at a time, while whole batches leave the caches.

A layer of a batch reads and writes all images' planes; where these exceed the cache, each
layer streams them from memory. A part of the batch keeps them in the cache, but reads the
weights once for each part. Planes shrink and weights grow along a network: the front, up to
where the sum of the bytes saved is largest, is done part by part, the rest at once. The
schedule then runs one part to its end before the next, since that takes the least memory.

    %0 = glow.conv2d %x, %w, %b ... : tensor<2x64x56x56xf32>
  becomes
    %1 = glow.slice %x starts [0, 0, 0, 0] sizes [1, 64, 56, 56] steps [1, 1, 1, 1] ...
    %2 = glow.conv2d %1, %w, %b ... : tensor<1x64x56x56xf32>
    %3 = glow.slice %x starts [1, 0, 0, 0] sizes [1, 64, 56, 56] steps [1, 1, 1, 1] ...
    %4 = glow.conv2d %3, %w, %b ... : tensor<1x64x56x56xf32>
    %0 = glow.concat %2, %4 axis 0 : tensor<2x64x56x56xf32>

Slices and concatenation are views in the end. The images' results keep every bit. So tuning may
split what the caches do not ask for, or leave a batch whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from glow.backends.cpu.layout.convolution import conv_shape
from glow.backends.cpu.tuning.choose import choose_level
from glow.dialects import glow
from glow.dialects.node import DataParallel, NodeOp, shape_of, tensor_type
from glow.lowering.target.named_targets import GPUS
from glow.lowering.target.program_target import settle_target
from glow.lowering.target.target import Target
from glow.passes.instr.buffers import byte_size
from glow.passes.rewriting.contract import BITS
from glow.passes.rewriting.node_builder import NodeBuilder, element_type, erase
from glow.tuning import choices

MOST_PARTS = 8
"""Each part is a copy of the front's nodes, which take time to compile."""

LEAST_CACHES = 8
"""Bytes saved, in second-level caches, below which a network stays as it is."""

IMAGE_NODES = (
    glow.Conv2dOp,
    glow.LocalResponseNormOp,
    glow.MaxPool2dOp,
    glow.AvgPool2dOp,
)
"""Nodes that compute each image from the same image alone."""


def keeps_images_apart(op: Operation, batch: int) -> bool:
    """Whether a node computes each image of its results from those of its operands."""
    if not op.results or any(shape_of(r)[:1] != (batch,) for r in op.results):
        return False
    if isinstance(op, glow.ConcatOp):
        return op.attributes_view().int("axis") != 0
    return isinstance(op, IMAGE_NODES) or op.has_trait(DataParallel)


@dataclass
class Front:
    """Nodes of a block, in order, that can run part by part; `values` are their batches."""

    batch: int
    nodes: list[NodeOp]
    values: set[SSAValue]


def find_front(block: Block) -> Front | None:
    """All nodes that depend on the arguments image by image; None without a batch."""
    sizes = {shape_of(argument)[:1] for argument in block.args}
    if len(sizes) != 1 or not (size := sizes.pop()) or size[0] < 2:
        return None
    front = Front(size[0], [], set(block.args))
    for op in block.ops:
        batches = [value for value in op.operands if value in front.values]
        others = [value for value in op.operands if value not in front.values]
        if (
            isinstance(op, NodeOp)
            and batches
            and keeps_images_apart(op, front.batch)
            and all(is_weight(value, op, front.batch) for value in others)
        ):
            front.nodes.append(op)
            front.values.update(op.results)
    return front


def is_weight(value: SSAValue, reader: NodeOp, batch: int) -> bool:
    """Whether a value is a constant that every image reads alike."""
    if not isinstance(value.owner, (glow.ConstantOp, glow.SplatOp)):
        return False
    if not reader.has_trait(DataParallel):
        return True
    shape = shape_of(value)
    return len(shape) < len(shape_of(reader.results[0])) or shape[0] != batch


def saved_bytes(op: NodeOp, front: Front, parts: int, cache: int) -> int:
    """What a node reads and writes less in parts: planes that leave the cache, less the
    weights that it reads again.
    """
    planes = sum(byte_size(v) for v in op.operands if v in front.values)
    planes += sum(map(byte_size, op.results))
    weights = sum(byte_size(v) for v in op.operands if v not in front.values)
    return (planes if planes > cache else 0) - (parts - 1) * weights


@dataclass(frozen=True)
class FrontShape:
    """What tells a front from others: its images, and what computing them takes."""

    batch: int
    image: tuple[int, ...]
    nodes: int
    operations: int
    """The multiplications and additions of its convolutions."""

    def __str__(self) -> str:
        return f"{self.batch} of {'x'.join(map(str, self.image))}: {self.nodes} nodes"


def front_shape(front: Front, nodes: Sequence[NodeOp]) -> FrontShape:
    """The shape of the front that has so many of the nodes."""
    convolutions = [op for op in nodes if isinstance(op, glow.Conv2dOp)]
    operations = sum(conv_shape(op).operations for op in convolutions)
    image = next(v for v in nodes[0].operands if v in front.values)
    return FrontShape(front.batch, shape_of(image)[1:], len(nodes), operations)


def split_batch(block: Block, target: Target) -> None:
    """Split the front of a function where that saves much traffic."""
    front, cache = find_front(block), target.l2_bytes
    if front is None or not front.nodes:
        return
    size = -(-front.batch // MOST_PARTS)
    parts = -(-front.batch // size)
    saved = [saved_bytes(op, front, parts, cache) for op in front.nodes]
    totals = list(accumulate(saved))
    best = max(range(len(totals)), key=totals.__getitem__)
    if totals[best] <= 0:
        return
    nodes = front.nodes[: best + 1]
    usual = parts if totals[best] > LEAST_CACHES * cache else 0
    shape = front_shape(front, nodes)
    if choose_level("batch", (shape,), usual, target, 0 if usual else parts):
        run_in_parts(nodes, front.batch, range(0, front.batch, size), size)


def run_in_parts(
    nodes: Sequence[NodeOp], batch: int, starts: Sequence[int], size: int
) -> None:
    """Replace nodes by a copy for each part of the batch, one part after the other."""
    copied = set(nodes)
    inside = {result for op in nodes for result in op.results}
    leaving = [
        result
        for op in nodes
        for result in op.results
        if any(use.operation not in copied for use in result.uses)
    ]
    first = first_reader(nodes)
    builder = NodeBuilder(first)
    hoist_constants(builder, first, nodes[-1])
    copies: list[dict[SSAValue, SSAValue]] = []
    for start in starts:
        mapping: dict[SSAValue, SSAValue] = {}
        end = min(start + size, batch)
        for op in nodes:
            for value in op.operands:
                if value not in inside and value not in mapping:
                    mapping[value] = part_of(builder, value, start, end)
            copy(op, builder, mapping, end - start)
        copies.append(mapping)
    for result in leaving:
        pieces = [mapping[result] for mapping in copies]
        whole = builder.node(glow.ConcatOp, *pieces, axis=0)
        result.replace_all_uses_with(whole)
    for op in reversed(nodes):
        erase(op)


def first_reader(nodes: Sequence[NodeOp]) -> Operation:
    """The first operation that reads what the nodes compute and is none of them, or the last
    node if it comes before: whole batches have to be there by then.
    """
    copied = set(nodes)
    readers = {
        use.operation for op in nodes for result in op.results for use in result.uses
    }
    block = nodes[-1].parent
    assert block is not None
    last = nodes[-1]
    return next(op for op in block.ops if op is last or op in readers - copied)


def hoist_constants(builder: NodeBuilder, first: Operation, last: Operation) -> None:
    """Insert the constants that stand between two operations."""
    op: Operation | None = first
    while op is not None and op is not last:
        following = op.next_op
        if isinstance(op, glow.ConstantOp | glow.SplatOp):
            op.detach()
            builder.insert(op)
        op = following


def part_of(builder: NodeBuilder, value: SSAValue, start: int, end: int) -> SSAValue:
    """Some images of a value; itself if it is a constant."""
    if isinstance(value.owner, (glow.ConstantOp, glow.SplatOp)):
        return value
    shape = shape_of(value)
    return builder.node(
        glow.SliceOp,
        value,
        starts=[start] + [0] * (len(shape) - 1),
        sizes=[end - start, *shape[1:]],
        steps=[1] * len(shape),
    )


def copy(
    op: NodeOp, builder: NodeBuilder, mapping: dict[SSAValue, SSAValue], images: int
) -> None:
    """Insert a node that computes a part of another's results, and map these to its."""
    clone = type(op).create(
        operands=[mapping[value] for value in op.operands],
        result_types=[part_type(result, images) for result in op.results],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
        regions=[region.clone() for region in op.regions],
    )
    builder.insert(clone)
    clone.location = op.location
    for old, new in zip(op.results, clone.results, strict=True):
        new.name_hint = old.name_hint
        mapping[old] = new


def part_type(value: SSAValue, images: int) -> Attribute:
    """The type of some images of a value."""
    return tensor_type((images, *shape_of(value)[1:]), element_type(value))


@dataclass(frozen=True)
class SplitBatchPass(ModulePass):
    """Run the front of a network a few images at a time, by the caches of a target
    (host, avx512, avx2, neon, scalar).
    """

    name = "split-batch"
    preserves = BITS

    target: str = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        target = settle_target(op, self.target)
        if target.cpu in GPUS:  # A batch is what fills one; its caches hold no images.
            return
        choices.refresh()
        for function in op.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                split_batch(function.body.block, target)
