"""The kernels of a Winograd convolution on channel blocks; `spec.py` has the method.

The three phases are a kernel each: those of patches and outputs are sliced by channel blocks and
tile rows, that of products by positions and channel tiles. Or one fused kernel takes block after
block through all phases. Scratch buffers belong to the caller.

The fused kernel works in the scratch region of the first work item of its call. Concurrent calls
have different first work items, so they never share a region, whatever the number of threads; and
a thread keeps to one region, which stays in its cache, so that the others cost address space
but no memory.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Literal, TypeAlias

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.winograd.phases import (
    EpilogueBuffers,
    OutputPhase,
    PatchPhase,
    ProductPhase,
)
from glow.backends.cpu.kernels.winograd.pixel_sizes import SizesPhase, pixel_sizes_of
from glow.backends.cpu.kernels.winograd.prefetch import BlockAhead, planes_are_far
from glow.backends.cpu.kernels.winograd.spec import WinogradSpec
from glow.backends.cpu.kernels.winograd.tiles import (
    Origin,
    Scratch,
    block_origin,
    group_of,
)
from glow.backends.cpu.kernels.winograd.tiling import (
    WinogradTiling,
    choose_winograd_tiling,
)
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.epilogue import operand_types, stored_type
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.work_items import WorkItems
from glow.lowering.target.target import Target

Operand = Literal[
    "output", "patches", "products", "sizes",
    "input", "factors", "weights", "bias", "epilogue_operands",
]  # fmt: skip
"""A buffer of a convolution; "epilogue_operands" are all operands of the epilogue."""

PhaseName = Literal["patches", "products", "output", "fused"]


@dataclass(frozen=True)
class WinogradPhase:
    """A kernel of a convolution; `operands` are its buffers, the first `writes` written.

    `spec` leaves out what the kernel does not depend on, so that equal ones are shared.
    """

    name: PhaseName
    spec: WinogradSpec
    operands: tuple[Operand, ...]
    writes: int = 1

    @property
    def operations(self) -> int:
        """Those of the direct sums, which the products replace; none in other phases."""
        return self.spec.operations if self.name in ("products", "fused") else 0


def winograd_phases(
    spec: WinogradSpec, target: Target, tiling: WinogradTiling | None = None
) -> tuple[WinogradPhase, ...]:
    """The kernels of a convolution in order: one for all phases, or one for each."""
    spec = replace(spec, has_zero_taps=False)
    bias: tuple[Operand, ...] = ("bias",) if spec.has_bias else ()
    read: tuple[Operand, ...] = (*bias, "epilogue_operands") if spec.epilogue else bias
    if (tiling or choose_winograd_tiling(spec, target)).fused:
        written: tuple[Operand, ...] = ("output", "patches", "products", "sizes")
        operands = (*written, "input", "factors", "weights", *read)
        return (WinogradPhase("fused", spec, operands, len(written)),)
    return (
        WinogradPhase("patches", spec.bare, ("patches", "input")),
        WinogradPhase("products", spec.bare, ("products", "patches", "weights")),
        WinogradPhase("output", spec, ("output", "products", *read)),
    )


def build_winograd_phase(
    name: str,
    phase: WinogradPhase,
    target: Target,
    tiling: WinogradTiling | None = None,
) -> Kernel:
    """The kernel of a phase. Raises ValueError for a spec that is not `supported()`."""
    if not phase.spec.supported():
        raise ValueError("Winograd convolution: needs small pads and a whole tile")
    tiling = tiling or choose_winograd_tiling(phase.spec, target)
    return _Winograd(phase, tiling, LoopBuilder(target)).kernel(name)


@dataclass(frozen=True)
class _Arguments:
    """The buffers of a kernel, and the scratch region that the call uses."""

    buffers: Mapping[Operand, Sequence[SSAValue]]
    region: Index

    def scratch(self, operand: Literal["patches", "products"]) -> Scratch:
        return Scratch(self.one(operand), self.region)

    def one(self, operand: Operand) -> SSAValue:
        (buffer,) = self.buffers[operand]
        return buffer


KernelBody: TypeAlias = Callable[[_Arguments, Index, Index], None]
"""Takes the buffers and the work items."""


@dataclass(frozen=True)
class _Winograd:
    """Builds the kernel of one phase."""

    phase: WinogradPhase
    tiling: WinogradTiling
    builder: LoopBuilder

    @property
    def spec(self) -> WinogradSpec:
        """What the kernel depends on."""
        return self.phase.spec

    def kernel(self, name: str) -> Kernel:
        """The kernel on the operands of the phase."""
        builders: dict[PhaseName, Callable[[], tuple[int, KernelBody]]] = {
            "patches": self._patches,
            "products": self._products,
            "output": self._output,
            "fused": self._fused,
        }
        work_items, body = builders[self.phase.name]()
        operands, all_types = self.phase.operands, self._types()

        def kernel_body(arguments: Sequence[SSAValue], low: Index, high: Index) -> None:
            rest = iter(arguments)
            buffers: dict[Operand, Sequence[SSAValue]] = {
                operand: [next(rest) for _ in all_types[operand]]
                for operand in operands
            }
            body(_Arguments(buffers, low if self.tiling.regions > 1 else 0), low, high)

        arguments = [type_ for operand in operands for type_ in all_types[operand]]
        return Kernel(self.builder.function(name, arguments, kernel_body), work_items)

    def _types(self) -> dict[Operand, list[MemRefType]]:
        spec, tiling, pixels = self.spec, self.tiling, pixel_sizes_of(self.spec)
        return {
            "sizes": [pixels.sizes_type],
            "factors": [pixels.factors_type],
            "output": [stored_type(spec.epilogue, spec.output_type)],
            "patches": [tiling.patches_type],
            "products": [tiling.products_type],
            "input": [spec.input_type],
            "weights": [types.memref_type((spec.packed_weights,), spec.element)],
            "bias": [spec.channel_type],
            "epilogue_operands": operand_types(
                spec.epilogue, spec.output_type, spec.channel_type
            ),
        }

    # ---- phases on the buffers of a kernel

    def _patch_phase(self, at: _Arguments) -> PatchPhase:
        patches, source = at.scratch("patches"), at.one("input")
        return PatchPhase(self.builder, self.tiling, patches, source)

    def _sizes_phase(self, at: _Arguments) -> SizesPhase:
        buffers = at.one("sizes"), at.one("input"), at.one("factors")
        return SizesPhase(self.builder, self.tiling, *buffers)

    def _product_phase(self, at: _Arguments) -> ProductPhase:
        products, patches = at.scratch("products"), at.scratch("patches")
        weights = at.one("weights")
        return ProductPhase(self.builder, self.tiling, products, patches, weights)

    def _output_phase(self, at: _Arguments) -> OutputPhase:
        bias = at.one("bias") if self.spec.has_bias else None
        stores = EpilogueBuffers(
            at.one("output"), bias, at.buffers.get("epilogue_operands", ())
        )
        products = at.scratch("products")
        return OutputPhase(self.builder, self.tiling, self.spec, products, stores)

    # ---- work items and bodies

    def _patches(self) -> tuple[int, KernelBody]:
        return self._rows(self.spec.input_blocks, lambda at: self._patch_phase(at).row)

    def _output(self) -> tuple[int, KernelBody]:
        return self._rows(
            self.spec.output_blocks, lambda at: self._output_phase(at).row
        )

    def _rows(
        self,
        blocks: int,
        phase: Callable[[_Arguments], Callable[[Index, Origin, Index], None]],
    ) -> tuple[int, KernelBody]:
        """Work items of tile rows of channel blocks."""
        space = WorkItems((blocks,), self.tiling.block_rows, 1)

        def body(at: _Arguments, low: Index, high: Index) -> None:
            visit_row = phase(at)
            space.visit(
                self.builder,
                low,
                high,
                lambda outer, row: visit_row(outer[0], Origin(0, 0), row),
            )

        return space.size, body

    def _products(self) -> tuple[int, KernelBody]:
        extents = (self.spec.positions, self.tiling.channel_tiles)

        def body(at: _Arguments, low: Index, high: Index) -> None:
            phase = self._product_phase(at)
            self.builder.space(
                low, high, extents, lambda where: phase.product(where[0], where[1])
            )

        return prod(extents), body

    def _fused(self) -> tuple[int, KernelBody]:
        """Work items of blocks of tile rows, or of segments of them."""
        b, tiling = self.builder, self.tiling
        count = tiling.blocks_per_item

        def body(at: _Arguments, low: Index, high: Index) -> None:
            stop = b.mul(high, count)
            if tiling.shared_blocks % count:
                stop = b.minimum(stop, tiling.shared_blocks)
            run_block = self._all_phases(at)
            segments = tiling.segments // tiling.shared_segments

            def block(number: Index) -> None:
                following = block_origin(b, tiling, b.add(number, 1))
                run_block(block_origin(b, tiling, number), following)

            first = b.mul(low, count * segments)
            b.loop(first, b.mul(stop, segments), 1, block)

        return tiling.regions, body

    def _all_phases(self, at: _Arguments) -> Callable[[Origin, Origin], None]:
        """What takes the block at an origin through all phases, before that at another."""
        b, spec, tiling = self.builder, self.spec, self.tiling
        sizes = self._sizes_phase(at)
        patches = self._patch_phase(at)
        products = self._product_phase(at)
        output = self._output_phase(at)

        def run_block(origin: Origin, following: Origin) -> None:
            ahead = None
            if planes_are_far(spec, b.target):
                planes = at.one("input"), at.one("output")
                ahead = BlockAhead(b, tiling, *planes, origin, following, spec.pool)
            b.loop(0, tiling.block_rows, 1, lambda row: sizes.row(origin, row))
            self._nest(
                (spec.input_blocks, tiling.block_rows),
                lambda block, row: patches.row(block, origin, row),
            )
            group = group_of(b, spec, origin)
            if tiling.keeps_products:
                b.loop(0, tiling.channel_tiles, 1, partial(multiply, group, ahead))
                transform(origin, 0, spec.output_blocks)
            else:
                rest = partial(finish, origin, group, ahead)
                b.loop(0, tiling.channel_tiles, 1, rest)

        def multiply(group: Index, ahead: BlockAhead | None, tile: Index) -> None:
            b.loop(
                0,
                spec.positions,
                1,
                lambda k: products.product(k, tile, group, ahead),
            )

        def transform(origin: Origin, first: Index, count: Index) -> None:
            self._nest(
                (count, tiling.block_rows),
                lambda k, row: output.row(b.add(first, k), origin, row, k),
            )

        def finish(
            origin: Origin, group: Index, ahead: BlockAhead | None, tile: Index
        ) -> None:
            multiply(group, ahead, tile)
            transform(origin, *self._blocks_of(tile))

        return run_block

    def _blocks_of(self, channel_tile: Index) -> tuple[Index, Index]:
        """The first channel block of a channel tile, and how many it has."""
        b, most = self.builder, self.tiling.parts[0].blocks
        first = b.mul(channel_tile, most)
        if self.spec.output_blocks % most == 0:
            return first, most
        return first, b.minimum(b.sub(self.spec.output_blocks, first), most)

    def _nest(
        self, extents: tuple[Index, int], body: Callable[[Index, Index], None]
    ) -> None:
        b, (outer, inner) = self.builder, extents
        b.loop(0, outer, 1, lambda i: b.loop(0, inner, 1, lambda j: body(i, j)))
