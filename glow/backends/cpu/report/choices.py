"""Which algorithm and tile each kernel has: what the log, the report and the attributes say.

A kernel's specification decides it together with the target; here each kind of specification
has a function that asks what the builder of that kernel asks. Nothing is chosen here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from glow.backends.cpu.kernels.attention.spec import AttentionSpec
from glow.backends.cpu.kernels.channelwise.depthwise import DepthwiseSpec
from glow.backends.cpu.kernels.channelwise.int8_depthwise import Int8DepthwiseSpec
from glow.backends.cpu.kernels.channelwise.planes import BlockedPlanes
from glow.backends.cpu.kernels.convolution.conv2d import Convolution
from glow.backends.cpu.kernels.convolution.conv2d_config import conv_tiling
from glow.backends.cpu.kernels.convolution.conv2d_gradient import (
    Conv2dGradientSpec,
    choose_gradient_tile,
)
from glow.backends.cpu.kernels.convolution.conv2d_spec import Conv2dSpec, ConvTiling
from glow.backends.cpu.kernels.convolution.direct_conv import (
    DirectConvSpec,
    choose_plain_config,
)
from glow.backends.cpu.kernels.convolution.int8_conv2d import Int8Convolution
from glow.backends.cpu.kernels.convolution.int8_conv2d_spec import Int8Conv2dSpec
from glow.backends.cpu.kernels.convolution.prologue_spec import PrologueConv2dSpec
from glow.backends.cpu.kernels.convolution.sparse_conv2d_spec import SparseConv2dSpec
from glow.backends.cpu.kernels.int8_winograd.spec import (
    Int8WinogradSpec,
    int8_winograd_tiling,
)
from glow.backends.cpu.kernels.matmul.batch_matmul_spec import BatchMatmulSpec
from glow.backends.cpu.kernels.matmul.block_quantized_spec import BlockQuantizedSpec
from glow.backends.cpu.kernels.matmul.int8_batch_matmul import Int8BatchMatmulSpec
from glow.backends.cpu.kernels.matmul.matmul_spec import MatmulSpec
from glow.backends.cpu.kernels.recurrence.kernel import RecurrenceSpec
from glow.backends.cpu.kernels.strassen.linear_combinations import (
    StrassenCombinationsSpec,
)
from glow.backends.cpu.kernels.strassen.spec import StrassenSpec
from glow.backends.cpu.kernels.winograd.direct import WinogradDirectSpec, most_uneven
from glow.backends.cpu.kernels.winograd.kernel import WinogradPhase
from glow.backends.cpu.kernels.winograd.pixel_sizes import PixelSizesSpec
from glow.backends.cpu.kernels.winograd.spec import WinogradSpec
from glow.backends.cpu.kernels.winograd.tiling import choose_winograd_tiling
from glow.backends.cpu.program.program import KernelRequest
from glow.backends.cpu.report.algorithms import (
    DIRECT,
    HALF_WEIGHTS,
    STRASSEN,
    WINOGRAD,
    WINOGRAD_LINES,
    Algorithm,
)
from glow.backends.cpu.tiling.tiles import ChannelPart
from glow.lowering.target.target import Target

INTEGERS = "int8 products, sums in i32"
CHANNEL_BLOCKS = "channel blocks"


@dataclass(frozen=True)
class Choice:
    """What one kernel does; texts are for people."""

    algorithm: str
    tile: str = ""
    """The register tile."""
    order: str = ""
    """What the outer loops run over, and what threads share."""
    error: float | None = None
    """To expect of f32 sums; 0 of exact integers, None where nothing is summed up."""
    fallback: str = ""
    """What is computed otherwise, where inputs do not allow the algorithm."""

    def fields(self) -> dict[str, str]:
        """The fields that say something, by name."""
        error = "" if self.error is None else f"{self.error:.0e}"
        found = {
            "algorithm": self.algorithm,
            "tile": self.tile,
            "order": self.order,
            "fallback": self.fallback,
            "error": error,
        }
        return {name: text for name, text in found.items() if text}


def spec_of(request: KernelRequest) -> object:
    """The specification of a kernel, which stands behind its label."""
    if isinstance(request.spec, tuple):
        return cast("tuple[object, ...]", request.spec)[-1]
    return request.spec


def choice_of(request: KernelRequest, target: Target) -> Choice:
    """What a kernel does on a target."""
    spec = spec_of(request)
    describe = DESCRIBED.get(type(spec))
    if describe is None:
        return Choice(request.label.replace("_", " "))
    return describe(spec, target)


def _summed(
    algorithm: Algorithm, channels: int, prefix: str, tile: str, order: str
) -> Choice:
    name = f"{prefix}{algorithm.name}"
    return Choice(name, tile, order, algorithm.expected_error(channels))


def _element(element: Attribute) -> str:
    return "" if element == f32 else f"{element}, "


def _registers(rows: int, blocks: int, what: str) -> str:
    return f"{rows} {what} x {blocks} registers"


def _parts(
    parts: Iterable[ChannelPart], sizes: Iterable[int], what: str = "pixels"
) -> str:
    return ", ".join(
        _registers(size, part.blocks, what)
        for size, part in zip(sizes, parts, strict=True)
    )


def _conv_tile(tiling: ConvTiling) -> str:
    """The tiles of the longest runs: rows, or columns where all are at a border."""
    config, (top, bottom) = tiling.config, tiling.window.interior(0)
    if config.images:
        return _parts(tiling.parts, config.pixels, "images")
    of_columns = config.sides and bottom - top > tiling.window.row_run
    return _parts(tiling.parts, config.sides if of_columns else config.pixels)


def _conv2d(spec: Conv2dSpec, target: Target) -> Choice:
    convolution = Convolution(spec, target)
    tile = _conv_tile(convolution.tiling)
    prefix = _element(spec.element)
    return _summed(
        DIRECT, spec.in_channels, prefix, tile, convolution.order.description
    )


def _conv2d_gradient(spec: Conv2dGradientSpec, target: Target) -> Choice:
    tile = choose_gradient_tile(spec, target)
    what = "taps" if spec.plain_input or spec.is_depthwise else "channels"
    return Choice(
        "gradient of weights, direct sums",
        _registers(prod(tile.rows), tile.blocks, what),
        "weights, all images of each",
    )


def _sparse(spec: SparseConv2dSpec, target: Target) -> Choice:
    tile = _conv_tile(conv_tiling(spec, target))
    return _summed(DIRECT, spec.in_channels, "channels with weights, ", tile, "")


def _fused_prologue(spec: PrologueConv2dSpec, target: Target) -> Choice:
    choice = _conv2d(spec.spec, target)
    blocks = conv_tiling(spec.spec, target).config.blocks
    tile = _registers(spec.run_pixels(target), blocks, "pixels")
    return replace(choice, algorithm=f"fused prologue, {choice.algorithm}", tile=tile)


def _sums_of_quadrants(spec: StrassenCombinationsSpec, target: Target) -> Choice:
    return Choice(f"linear combinations for {STRASSEN[spec.levels].name}")


def _recurrence(spec: RecurrenceSpec, target: Target) -> Choice:
    return _summed(DIRECT, spec.shape.units, "recurrent step, ", "", "units")


def _depthwise(spec: DepthwiseSpec, target: Target) -> Choice:
    group, tile = spec.planes.group, _plane_tile(spec.planes, target)
    what = "depthwise, " if group == 1 else f"groups of {group}, "
    return _summed(DIRECT, group, what, tile, CHANNEL_BLOCKS)


def _plane_tile(planes: BlockedPlanes, target: Target) -> str:
    config = planes.config or planes.choose_config(target.core)
    return _registers(config.pixels, 1, "pixels")


def _plain(spec: DirectConvSpec, target: Target) -> Choice:
    tile = spec.config or choose_plain_config(spec, target)
    text = f"{tile.channels} channels x {tile.vectors} registers"
    return _summed(DIRECT, spec.in_channels, "plain layout, ", text, "")


def _winograd(phase: WinogradPhase, target: Target) -> Choice:
    spec, tiling = phase.spec, choose_winograd_tiling(phase.spec, target)
    tile = _parts(tiling.parts, tiling.config.pixels)
    order = (
        f"blocks of {tiling.tiles} tiles" if tiling.fused else f"{phase.name} of all"
    )
    known = WINOGRAD_LINES if spec.is_line else WINOGRAD
    algorithm = known[spec.tile, spec.kernel]
    choice = _summed(algorithm, spec.in_channels, _element(spec.element), tile, order)
    return replace(choice, fallback=f"direct sums of {_uneven_tiles(spec)}")


def _uneven_tiles(spec: WinogradSpec) -> str:
    return f"tiles with pixels 2^{most_uneven(spec)} times as large, infinity or NaN"


def _winograd_direct(direct: WinogradDirectSpec, target: Target) -> Choice:
    spec = direct.convolution
    name = f"{DIRECT.name}, only of {_uneven_tiles(spec)}"
    return Choice(name, error=DIRECT.expected_error(spec.in_channels))


def _pixel_sizes(_: PixelSizesSpec, target: Target) -> Choice:
    return Choice("largest channel of each pixel, which tells where to fall back")


def _matmul(spec: MatmulSpec, target: Target) -> Choice:
    tile = spec.tile(target)
    text = _registers(tile.rows, tile.blocks, "rows")
    if spec.matrix_tile(tile.blocks, target) is not None:
        text += " in matrix tiles"
    order = "tiles of rows" if spec.is_cut_by_rows(target) else "tiles of columns"
    if spec.group == 4:
        return Choice(INTEGERS, text, order, 0.0)
    algorithm = HALF_WEIGHTS if spec.widens else DIRECT
    return _summed(algorithm, spec.depth, _element(spec.element), text, order)


def _strassen(spec: StrassenSpec, target: Target) -> Choice:
    tile = spec.leaf.tile(target)
    text = _registers(tile.rows, tile.blocks, "rows")
    order = "tiles of rows" if spec.is_cut_by_rows(target) else "tiles of columns"
    choice = _summed(STRASSEN[spec.levels], spec.depth, "", text, order)
    rows = f"{spec.parts} rows that share sums with an infinity or NaN"
    return replace(choice, fallback=f"direct sums of {rows}")


def _batch_matmul(spec: BatchMatmulSpec, target: Target) -> Choice:
    tile = spec.tile(target)
    form = {
        "direct": "rows read in place, ",
        "pack": "columns transposed into panels, ",
        "dot": "registers along the depth, ",
    }[spec.form]
    text = "" if spec.form == "dot" else _registers(tile.rows, tile.blocks, "rows")
    return _summed(DIRECT, spec.depth, form, text, "batches")


def _attention(spec: AttentionSpec, target: Target) -> Choice:
    config = spec.config or spec.choose_config(target)
    text = _registers(config.score_rows, config.score_blocks, "queries")
    order = f"blocks of {spec.height} queries of a head"
    return _summed(DIRECT, spec.depth, "attention, ", text, order)


def _int8_conv2d(spec: Int8Conv2dSpec, target: Target) -> Choice:
    convolution = Int8Convolution(spec, target)
    tile = _conv_tile(convolution.tiling)
    return Choice(INTEGERS, tile, convolution.order.description, 0.0)


def _int8_winograd(spec: Int8WinogradSpec, target: Target) -> Choice:
    tiling = int8_winograd_tiling(spec, target)
    tile = _parts(tiling.parts, tiling.config.pixels)
    name = f"{WINOGRAD[spec.tile, spec.kernel].name}, {INTEGERS}"
    return Choice(name, tile, f"blocks of {tiling.tiles} tiles", 0.0)


def _int8_depthwise(spec: Int8DepthwiseSpec, target: Target) -> Choice:
    name = f"depthwise, {INTEGERS}"
    return Choice(name, _plane_tile(spec.planes, target), CHANNEL_BLOCKS, 0.0)


def _int8_batch_matmul(spec: Int8BatchMatmulSpec, target: Target) -> Choice:
    tile = spec.tile(target)
    text = _registers(tile.rows, tile.blocks, "rows")
    return Choice(INTEGERS, text, "batches", 0.0)


def _block_quantized(spec: BlockQuantizedSpec, target: Target) -> Choice:
    tile = spec.tile(target)
    text = _registers(tile.rows, tile.blocks, "rows")
    form = f"{spec.format.bits}-bit weights, "
    return _summed(DIRECT, spec.depth, form, text, "tiles of columns")


DESCRIBED: Mapping[type, Callable[[Any, Target], Choice]] = {
    Conv2dSpec: _conv2d,
    Conv2dGradientSpec: _conv2d_gradient,
    SparseConv2dSpec: _sparse,
    DepthwiseSpec: _depthwise,
    DirectConvSpec: _plain,
    WinogradPhase: _winograd,
    MatmulSpec: _matmul,
    StrassenSpec: _strassen,
    BatchMatmulSpec: _batch_matmul,
    AttentionSpec: _attention,
    PrologueConv2dSpec: _fused_prologue,
    StrassenCombinationsSpec: _sums_of_quadrants,
    RecurrenceSpec: _recurrence,
    Int8Conv2dSpec: _int8_conv2d,
    Int8WinogradSpec: _int8_winograd,
    Int8DepthwiseSpec: _int8_depthwise,
    Int8BatchMatmulSpec: _int8_batch_matmul,
    BlockQuantizedSpec: _block_quantized,
    PixelSizesSpec: _pixel_sizes,
    WinogradDirectSpec: _winograd_direct,
}
"""By the kind of a specification; of all others the name says what is done."""
