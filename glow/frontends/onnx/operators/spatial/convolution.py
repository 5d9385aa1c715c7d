"""Handlers of convolution; one spatial axis is a plane of height 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from glow.dialects.glow import (
    Conv2dOp,
    Conv3dOp,
    ConvTranspose2dOp,
    ConvTranspose3dOp,
)
from glow.dialects.node import fail_unless
from glow.frontends.onnx.node import OnnxNode, Operand, Value, shape
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import onnx_op


@dataclass
class Window:
    """A sliding window over one to three spatial axes, as ONNX gives it."""

    kernel: list[int]
    strides: list[int]
    pads: list[int]
    dilations: list[int]

    def attributes(self) -> dict[str, Sequence[int]]:
        """The attributes over two axes, or three."""
        if len(self.kernel) == 1:
            return {
                "strides": [1, *self.strides],
                "pads": [0, self.pads[0], 0, self.pads[1]],
                "dilations": [1, *self.dilations],
            }
        return {"strides": self.strides, "pads": self.pads, "dilations": self.dilations}


def window_of(node: OnnxNode, plane: Sequence[int], kernel: Sequence[int]) -> Window:
    """The window over a plane, with defaults and `auto_pad` resolved."""
    rank = len(plane)
    strides = node.attr_ints("strides") or [1] * rank
    dilations = node.attr_ints("dilations") or [1] * rank
    for name, numbers in (
        ("kernel_shape", kernel),
        ("strides", strides),
        ("dilations", dilations),
    ):
        fail_unless(
            len(numbers) == rank and min(numbers) > 0,
            f"{name} {list(numbers)} does not suit {rank} spatial axes",
        )
    mode = node.attr_string("auto_pad", "NOTSET")
    if mode in ("NOTSET", ""):
        pads = node.attr_ints("pads") or [0] * (2 * rank)
    elif mode == "VALID":
        pads = [0] * (2 * rank)
    else:
        refuse_if(mode not in ("SAME_UPPER", "SAME_LOWER"), f"auto_pad {mode}")
        pads = _same_pads(plane, kernel, strides, dilations, mode == "SAME_LOWER")
    fail_unless(len(pads) == 2 * rank, f"pads needs {2 * rank} numbers, not {pads}")
    return Window(list(kernel), strides, pads, dilations)


def _same_pads(
    plane: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    lower: bool,
) -> list[int]:
    """Pads for which the output has ceil(size / stride) elements (ONNX `auto_pad`)."""
    totals = [
        max((-(-size // stride) - 1) * stride + (extent - 1) * dilation + 1 - size, 0)
        for size, extent, stride, dilation in zip(
            plane, kernel, strides, dilations, strict=True
        )
    ]
    begins = [(total + lower) // 2 for total in totals]
    ends = [total - begin for total, begin in zip(totals, begins, strict=True)]
    return begins + ends


def as_plane(node: OnnxNode, value: Operand) -> Operand:
    """[N, C, L] as [N, C, 1, L]; [N, C, H, W] as it is."""
    sizes = shape(value)
    refuse_if(len(sizes) not in (3, 4), f"{len(sizes) - 2} spatial axes")
    return value if len(sizes) == 4 else node.reshape(value, (*sizes[:2], 1, sizes[2]))


def from_plane(node: OnnxNode, value: Operand, rank: int) -> Operand:
    """[N, C, 1, L] as [N, C, L] where the node's operands have rank 3."""
    sizes = shape(value)
    return node.reshape(value, (*sizes[:2], sizes[3])) if rank == 3 else value


def layer_operands(node: OnnxNode) -> tuple[list[Operand], tuple[int, ...]]:
    """Image, weights and bias over two or three axes, and the kernel's sizes as declared."""
    rank, kernel = node.rank(0), node.shape(1)[2:]
    operands = [node.value(0), node.value(1)]
    if rank != 5:
        operands = [as_plane(node, value) for value in operands]
    declared = node.attr_ints("kernel_shape")
    fail_unless(
        node.rank(1) == rank and declared in (None, list(kernel)),
        f"kernel_shape {declared} and weights {list(node.shape(1))} do not suit an "
        f"input {list(node.shape(0))}",
    )
    return [*operands, *([node.value(2)] if node.has(2) else [])], kernel


@onnx_op("Conv")
def conv(node: OnnxNode) -> Value:
    """Convolution over one to three spatial axes."""
    operands, kernel = layer_operands(node)
    window = window_of(node, node.shape(0)[2:], kernel)
    result = node.emit(
        Conv3dOp if len(kernel) == 3 else Conv2dOp,
        *operands,
        types=None,
        group=node.attr_int("group", 1),
        **window.attributes(),
    )
    return from_plane(node, result, node.rank(0))


@onnx_op("ConvTranspose")
def conv_transpose(node: OnnxNode) -> Value:
    """Transposed convolution over one to three spatial axes."""
    operands, kernel = layer_operands(node)
    more = node.attr_ints("output_padding") or [0] * len(kernel)
    window, more = transposed_window(node, node.shape(0)[2:], kernel, more)
    result = node.emit(
        ConvTranspose3dOp if len(kernel) == 3 else ConvTranspose2dOp,
        *operands,
        types=None,
        group=node.attr_int("group", 1),
        output_padding=more if len(more) > 1 else [0, *more],
        **window.attributes(),
    )
    return from_plane(node, result, node.rank(0))


def transposed_window(
    node: OnnxNode, plane: Sequence[int], kernel: Sequence[int], more: list[int]
) -> tuple[Window, list[int]]:
    """The window of a transposed convolution, and its output padding.

    Pads are those that give `output_shape`, where there is one; what it has beyond the full
    output is padding at the end, as in ONNX Runtime.
    """
    rank = len(plane)
    mode = node.attr_string("auto_pad", "NOTSET")
    wanted = node.attr_ints("output_shape")
    strides = node.attr_ints("strides") or [1] * rank
    dilations = node.attr_ints("dilations") or [1] * rank
    is_same = mode in ("SAME_UPPER", "SAME_LOWER")
    if wanted is None and is_same:
        wanted = [size * stride for size, stride in zip(plane, strides, strict=True)]
    if wanted is None:
        return window_of(node, plane, kernel), more
    fail_unless(
        len(wanted[-rank:]) == len(more) == len(strides) == len(dilations) == rank,
        f"output_shape {wanted} does not suit {rank} spatial axes",
    )
    totals = [
        (plane[axis] - 1) * strides[axis]
        + more[axis]
        + (kernel[axis] - 1) * dilations[axis]
        + 1
        - wanted[-rank:][axis]
        for axis in range(rank)
    ]
    more = [extra + max(0, -total) for extra, total in zip(more, totals, strict=True)]
    halves = [max(0, total) // 2 for total in totals]
    rests = [max(0, total) - half for total, half in zip(totals, halves, strict=True)]
    pads = halves + rests if mode == "SAME_UPPER" else rests + halves
    return Window(list(kernel), strides, pads, dilations), more
