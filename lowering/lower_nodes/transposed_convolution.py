"""Transposed convolutions, as convolutions of phases.

A transposed convolution with stride s puts each output pixel into one of s phases an axis,
each an ordinary convolution with every s-th tap of the kernel. The phases become output
channels of one convolution, and their pixels are interleaved: no multiplication by zeros
that a stride would put between pixels. Over a volume it becomes `glow.conv3d` in the same way.

    %1 = glow.conv_transpose2d %x, %w strides [2, 2] : tensor<1x8x16x16xf32>
  becomes
    %0 = glow.conv2d %x, %v pads [1, 1, 1, 1] : tensor<1x32x9x9xf32>
    %1 = ... channels to pixels, borders cut off ... : tensor<1x8x16x16xf32>

Phases with fewer taps than others have zeros there, and the borders that are cut off are computed.
Where that is much, as with 3 x 3 taps, of which the phases have 4, 2, 2 and 1, each phase is a
convolution of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, product
from math import prod

from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.rewriting.node_builder import NodeBuilder, like

WASTE = 1.25
"""How many products one convolution of all phases has for each that results need, from which on
the phases are better apart."""

MOST_PHASES = 16
"""Those that are apart, each of which is code of its own."""


@dataclass(frozen=True)
class Phase:
    """Every `stride`-th output along an axis: those that the same taps of the kernel reach."""

    first: int
    """Of its taps in the kernel; the others are a stride apart."""
    taps: int
    before: int
    after: int
    """Padding of the input; less than zero where the last inputs reach no output."""


@dataclass(frozen=True)
class PhaseAxis:
    """An axis of a transposed convolution: what it reads, makes, and multiplies."""

    size: int
    extent: int
    kernel: int
    stride: int
    pad: int

    @property
    def outputs(self) -> int:
        """Those of a phase; where the stride does not divide them all, the last may be cut off."""
        return -(-self.extent // self.stride)

    @property
    def phases(self) -> list[Phase]:
        """From that of the first output on."""
        found: list[Phase] = []
        for output in range(self.stride):
            skipped, first = divmod(output + self.pad, self.stride)
            taps = max(0, -(-(self.kernel - first) // self.stride))
            after = self.outputs + skipped - self.size
            found.append(Phase(first, taps, taps - 1 - skipped, after))
        return found

    @property
    def apart(self) -> int:
        """The products of all phases."""
        return self.outputs * sum(phase.taps for phase in self.phases)

    @property
    def together(self) -> int:
        """The products of one convolution, whose phases have the most taps of one."""
        taps = -(-self.kernel // self.stride)
        skipped = min(self.pad // self.stride, taps - 1)
        lines = -(-(self.pad + self.extent) // self.stride) - skipped
        return lines * taps * self.stride


def phases_apart(
    op: glow.ConvTransposeOp, kernel: Sequence[int]
) -> list[tuple[Phase, Phase]] | None:
    """The phases of a transposed convolution over planes; None where one convolution of all is as
    good: where it multiplies little more. Channels with filters of their own have no such one.
    """
    attributes, channels = op.attributes_view(), shape_of(op.input)[1]
    strides, group = attributes.ints("strides"), attributes.int("group")
    if op.AXES != 2 or not 1 < prod(strides) <= MOST_PHASES:
        return None
    sizes, extents = shape_of(op.input)[2:], shape_of(op.result)[2:]
    lists = zip(
        sizes, extents, kernel, strides, attributes.ints("pads")[:2], strict=True
    )
    rows, columns = (PhaseAxis(*numbers) for numbers in lists)
    phases = list(product(rows.phases, columns.phases))
    if any(min(p.taps - 1, p.before, p.after) < 0 for pair in phases for p in pair):
        return None
    together, apart = rows.together * columns.together, rows.apart * columns.apart
    return phases if together > WASTE * apart or 1 < channels == group else None


def _phases_apart(
    builder: NodeBuilder,
    op: glow.ConvTransposeOp,
    kernel: SSAValue,
    phases: Sequence[tuple[Phase, Phase]],
) -> None:
    """A convolution for each phase, and their pixels in order."""
    strides, shape = op.attributes_view().ints("strides"), shape_of(op.result)
    results = [_of_phase(builder, op, kernel, *phase) for phase in phases]
    joined = builder.node(glow.ConcatOp, *results, axis=1)
    plane = shape_of(joined)[2:]
    pixels = builder.reshape(joined, (shape[0], *strides, shape[1], *plane))
    moved = builder.transpose(pixels, (0, 3, 4, 1, 5, 2))
    whole = [size * stride for size, stride in zip(plane, strides, strict=True)]
    result = builder.reshape(moved, (*shape[:2], *whole))
    builder.replace(_outputs_from(builder, op, result, (0, 0)))


def _of_phase(
    builder: NodeBuilder,
    op: glow.ConvTransposeOp,
    kernel: SSAValue,
    rows: Phase,
    columns: Phase,
) -> SSAValue:
    """The outputs of one phase: [N, O, its rows, its columns]."""
    attributes, taps = op.attributes_view(), [rows.taps, columns.taps]
    group = attributes.int("group")
    some = builder.node(
        glow.SliceOp,
        kernel,
        starts=[0, 0, rows.first, columns.first],
        sizes=[*shape_of(kernel)[:2], *taps],
        steps=[1, 1, *attributes.ints("strides")],
    )
    weights = phase_weights(builder, some, [1, 1], taps, group)
    bias = [] if op.bias is None else [op.bias]
    pads = [rows.before, columns.before, rows.after, columns.after]
    operands = [op.input, weights, *bias]
    return builder.node(glow.Conv2dOp, *operands, pads=pads, group=group)


def _outputs_from(
    builder: NodeBuilder,
    op: glow.ConvTransposeOp,
    pixels: SSAValue,
    starts: Sequence[int],
) -> SSAValue:
    """The outputs of a transposed convolution among pixels of which the pads cut some off."""
    wanted = shape_of(op.result)
    if shape_of(pixels) == wanted:
        return pixels
    steps = [1] * len(wanted)
    return builder.node(
        glow.SliceOp, pixels, starts=[0, 0, *starts], sizes=wanted, steps=steps
    )


def conv_transpose(op: Operation) -> None:
    """Convolutions of the phases, and their pixels in order."""
    assert isinstance(op, glow.ConvTransposeOp)
    builder, attributes = NodeBuilder(op), op.attributes_view()
    strides, pads = attributes.ints("strides"), attributes.ints("pads")
    batch, outputs, *extents = shape_of(op.result)
    sizes, axes = shape_of(op.input)[2:], range(op.AXES)
    kernel = dilated(builder, op.weights, attributes.ints("dilations"))
    if (apart := phases_apart(op, shape_of(kernel)[2:])) is not None:
        _phases_apart(builder, op, kernel, apart)
        return
    taps = [-(-k // s) for k, s in zip(shape_of(kernel)[2:], strides, strict=True)]
    # What the pads cut off from the beginning in whole lines is not computed.
    skipped = [min(pads[axis] // strides[axis], taps[axis] - 1) for axis in axes]
    rows = [-(-(pads[axis] + extents[axis]) // strides[axis]) for axis in axes]
    begins = [taps[axis] - 1 - skipped[axis] for axis in axes]
    ends = [max(0, rows[axis] - sizes[axis]) for axis in axes]
    group = attributes.int("group")
    phases = builder.node(
        glow.Conv2dOp if op.AXES == 2 else glow.Conv3dOp,
        op.input,
        phase_weights(builder, kernel, strides, taps, group),
        *([] if op.bias is None else [_repeated(builder, op, prod(strides))]),
        pads=begins + ends,
        group=group,
    )
    result = _interleaved(builder, phases, (batch, group, outputs // group), strides)
    starts = [pads[axis] - skipped[axis] * strides[axis] for axis in axes]
    builder.replace(_outputs_from(builder, op, result, starts))


def _interleaved(
    builder: NodeBuilder,
    phases: SSAValue,
    outer: tuple[int, int, int],
    strides: Sequence[int],
) -> SSAValue:
    """[N, groups * phases * O, sizes...] as [N, groups * O, sizes * strides...]."""
    (batch, groups, outputs), sizes = outer, shape_of(phases)[2:]
    front = (batch, groups) if groups > 1 else (batch,)
    first, count = len(front), len(strides)
    pixels = builder.reshape(phases, (*front, *strides, outputs, *sizes))
    pairs = [(first + 1 + count + axis, first + axis) for axis in range(count)]
    order = (*range(first), first + count, *chain.from_iterable(pairs))
    extents = [size * stride for size, stride in zip(sizes, strides, strict=True)]
    turned = builder.transpose(pixels, order)
    return builder.reshape(turned, (batch, groups * outputs, *extents))


def dilated(
    builder: NodeBuilder, weights: SSAValue, dilations: Sequence[int]
) -> SSAValue:
    """A kernel with zeros between its taps."""
    for axis, dilation in enumerate(dilations, 2):
        shape = list(shape_of(weights))
        if dilation == 1 or shape[axis] == 1:
            continue
        spread = builder.reshape(weights, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
        pads = [0] * (2 * len(shape_of(spread)))
        pads[len(shape_of(spread)) + axis + 1] = dilation - 1
        spread = builder.node(glow.PadOp, spread, pads=pads)
        shape[axis] *= dilation
        spread = builder.reshape(spread, shape)
        shape[axis] -= dilation - 1
        weights = builder.node(
            glow.SliceOp,
            spread,
            starts=[0] * len(shape),
            sizes=shape,
            steps=[1] * len(shape),
        )
    return weights


def phase_weights(
    builder: NodeBuilder,
    kernel: SSAValue,
    strides: Sequence[int],
    taps: Sequence[int],
    group: int,
) -> SSAValue:
    """[C, O, kernel...] as [groups * phases * O, C / groups, taps...].

    All channels of a phase follow each other, so that blocks of them become pixels of a block.
    Tap t of phase p is tap `t * s + p` of the kernel, which meets the input t pixels before: the
    taps of a phase are in reverse order.
    """
    inputs, outputs, *sizes = shape_of(kernel)
    axes = range(len(sizes))
    ends = [t * s - k for t, s, k in zip(taps, strides, sizes, strict=True)]
    if any(ends):
        pads = [0] * (len(sizes) + 4) + ends
        kernel = builder.node(glow.PadOp, kernel, pads=pads)
    pairs = list(chain.from_iterable(zip(taps, strides, strict=True)))
    shape = (group, inputs // group, outputs, *pairs)
    split = builder.reshape(kernel, shape)
    if any(count > 1 for count in taps):
        split = builder.node(
            glow.SliceOp,
            split,
            starts=[0, 0, 0, *chain.from_iterable((count - 1, 0) for count in taps)],
            sizes=shape,
            steps=[1, 1, 1] + [-1, 1] * len(taps),
        )
    phases, places = ([3 + 2 * axis + k for axis in axes] for k in (1, 0))
    turned = builder.transpose(split, (0, *phases, 2, 1, *places))
    rows = group * outputs * prod(strides)
    return builder.reshape(turned, (rows, inputs // group, *taps))


def _repeated(builder: NodeBuilder, op: glow.ConvTransposeOp, count: int) -> SSAValue:
    """Each number of the bias for all phases of its channel."""
    bias = op.bias
    assert bias is not None
    (outputs,), group = shape_of(bias), op.attributes_view().int("group")
    one = (group, 1, outputs // group)
    wide = (group, count, outputs // group)
    types = [like(bias, wide)]
    apart = builder.reshape(bias, one)
    repeated = builder.create(glow.BroadcastOp, [apart], {}, types=types)
    return builder.reshape(repeated, (outputs * count,))


LOWERINGS = {
    glow.ConvTranspose2dOp: conv_transpose,
    glow.ConvTranspose3dOp: conv_transpose,
}
