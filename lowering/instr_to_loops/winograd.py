"""The kernels of a Winograd convolution on channel blocks; `winograd_spec.py` has the method.

A convolution is a list of steps. The three phases are a kernel each, sliced by channel blocks
and tile rows, and by positions and channel tiles; or one fused kernel takes block after block
through all of them. Scratch buffers belong to the caller.

The fused kernel works in the scratch region of the first slice of its call. Concurrent calls
have different first slices, so they never share a region, whatever the number of threads; and
a thread keeps to one region, which stays in its cache, so that the others cost address space
but no memory.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from glow.lowering.instr_to_loops import ir_types as types
from glow.lowering.instr_to_loops.builder import Index, LoopBuilder
from glow.lowering.instr_to_loops.epilogue import extra_types
from glow.lowering.instr_to_loops.kernel import Kernel
from glow.lowering.instr_to_loops.slices import SliceSpace
from glow.lowering.instr_to_loops.winograd_phases import (
    Finish,
    OutputPhase,
    PatchPhase,
    ProductPhase,
    Scratch,
)
from glow.lowering.instr_to_loops.winograd_spec import (
    WinogradSpec,
    WinogradTiling,
    choose_winograd_tiling,
)
from glow.lowering.instr_to_loops.winograd_tiles import Origin
from glow.lowering.target import Target

Operand = Literal["output", "patches", "products", "input", "weights", "bias", "extras"]
"""A buffer of a convolution; "extras" are all extra inputs of the epilogue."""


@dataclass(frozen=True)
class WinogradStep:
    """A kernel and its buffers in argument order; the first `writes` of them are written."""

    kernel: Kernel
    operands: tuple[Operand, ...]
    writes: int = 1


def build_winograd(
    name: str, spec: WinogradSpec, target: Target
) -> tuple[WinogradStep, ...]:
    """The steps of a convolution, in order: one fused kernel, or one per phase.

    Raises ValueError for a spec that is not `supported()`.
    """
    return build_tiled_winograd(
        name, spec, choose_winograd_tiling(spec, target), target
    )


def build_tiled_winograd(
    name: str, spec: WinogradSpec, tiling: WinogradTiling, target: Target
) -> tuple[WinogradStep, ...]:
    """The steps of a convolution cut in a given way."""
    if not spec.supported():
        raise ValueError("Winograd convolution: needs pads of 0 or 1 and a whole tile")
    winograd = _Winograd(spec, tiling, LoopBuilder(target))
    if tiling.fused:
        return (winograd.fused(name),)
    return (
        winograd.patches(f"{name}_patches"),
        winograd.products(f"{name}_products"),
        winograd.output(f"{name}_output"),
    )


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


@dataclass(frozen=True)
class _Winograd:
    """Builds the kernels of one convolution."""

    spec: WinogradSpec
    tiling: WinogradTiling
    builder: LoopBuilder

    # ---- phases on the buffers of a kernel

    def _patch_phase(self, at: _Arguments) -> PatchPhase:
        patches, source = at.scratch("patches"), at.one("input")
        return PatchPhase(self.builder, self.tiling, patches, source)

    def _product_phase(self, at: _Arguments) -> ProductPhase:
        products, patches = at.scratch("products"), at.scratch("patches")
        weights = at.one("weights")
        return ProductPhase(self.builder, self.tiling, products, patches, weights)

    def _output_phase(self, at: _Arguments) -> OutputPhase:
        bias = at.one("bias") if self.spec.has_bias else None
        finish = Finish(at.one("output"), bias, at.buffers.get("extras", ()))
        products = at.scratch("products")
        return OutputPhase(self.builder, self.tiling, self.spec, products, finish)

    # ---- kernels

    def patches(self, name: str) -> WinogradStep:
        """The phase that transforms the input."""
        space = SliceSpace((self.spec.input_blocks,), self.tiling.block_rows, 1)

        def body(at: _Arguments, low: Index, high: Index) -> None:
            self._rows(space, low, high, self._patch_phase(at).row)

        return self._step(name, ("patches", "input"), space.size, body)

    def products(self, name: str) -> WinogradStep:
        """The phase of the matrix products."""
        extents = (self.spec.positions, self.tiling.channel_tiles)

        def body(at: _Arguments, low: Index, high: Index) -> None:
            phase = self._product_phase(at)
            self.builder.space(low, high, extents, lambda where: phase.product(*where))

        operands = ("products", "patches", "weights")
        return self._step(name, operands, extents[0] * extents[1], body)

    def output(self, name: str) -> WinogradStep:
        """The phase that transforms the products and stores the output."""
        space = SliceSpace((self.spec.output_blocks,), self.tiling.block_rows, 1)

        def body(at: _Arguments, low: Index, high: Index) -> None:
            self._rows(space, low, high, self._output_phase(at).row)

        operands = ("output", "products", *self._finish_operands())
        return self._step(name, operands, space.size, body)

    def _rows(
        self,
        space: SliceSpace,
        low: Index,
        high: Index,
        body: Callable[[Index, Origin, Index], None],
    ) -> None:
        """Runs the body on (channel block, origin, tile row) of the slices [low, high)."""
        space.visit(
            self.builder,
            low,
            high,
            lambda outer, row: body(outer[0], Origin(0, 0), row),
        )

    def fused(self, name: str) -> WinogradStep:
        """All phases, block by block."""
        b, tiling = self.builder, self.tiling
        count = tiling.row_blocks_per_slice

        def body(at: _Arguments, low: Index, high: Index) -> None:
            stop = b.mul(high, count)
            if tiling.row_blocks % count:
                stop = b.minimum(stop, tiling.row_blocks)
            block = self._block(at)
            b.loop(
                b.mul(low, count),
                stop,
                1,
                lambda number: self._row_block(number, block),
            )

        scratch = ("output", "patches", "products")
        operands = (*scratch, "input", "weights", *self._finish_operands())
        return self._step(name, operands, tiling.regions, body, len(scratch))

    def _row_block(self, number: Index, block: Callable[[Origin], None]) -> None:
        """Runs `block` on the segments of a block of tile rows."""
        b, tiling = self.builder, self.tiling
        row = b.mul(number, tiling.block_rows)
        last = self.spec.tile_rows - tiling.block_rows
        if self.spec.tile_rows % tiling.block_rows:
            row = b.minimum(row, last)
        b.tiles(
            0,
            self.spec.tiles_across,
            tiling.tiles_across,
            lambda across: block(Origin(row, across)),
        )

    def _block(self, at: _Arguments) -> Callable[[Origin], None]:
        """What takes a block through all phases."""
        spec, tiling = self.spec, self.tiling
        patches = self._patch_phase(at)
        products = self._product_phase(at)
        output = self._output_phase(at)

        def block(origin: Origin) -> None:
            self._nest(
                (spec.input_blocks, tiling.block_rows),
                lambda block, row: patches.row(block, origin, row),
            )
            self._nest((spec.positions, tiling.channel_tiles), products.product)
            self._nest(
                (spec.output_blocks, tiling.block_rows),
                lambda block, row: output.row(block, origin, row),
            )

        return block

    def _nest(
        self, extents: tuple[int, int], body: Callable[[Index, Index], None]
    ) -> None:
        b, (outer, inner) = self.builder, extents
        b.loop(0, outer, 1, lambda i: b.loop(0, inner, 1, lambda j: body(i, j)))

    # ---- functions

    def _finish_operands(self) -> tuple[Operand, ...]:
        bias: tuple[Operand, ...] = ("bias",) if self.spec.has_bias else ()
        return (*bias, "extras") if self.spec.epilogue else bias

    def _types(self) -> dict[Operand, list[MemRefType]]:
        spec, tiling = self.spec, self.tiling
        return {
            "output": [spec.output_type],
            "patches": [tiling.patches_type],
            "products": [tiling.products_type],
            "input": [spec.input_type],
            "weights": [types.memref_type((spec.packed_weights,), spec.element)],
            "bias": [spec.channel_type],
            "extras": extra_types(spec.epilogue, spec.output_type, spec.channel_type),
        }

    def _step(
        self,
        name: str,
        operands: tuple[Operand, ...],
        slices: int,
        body: Callable[[_Arguments, Index, Index], None],
        writes: int = 1,
    ) -> WinogradStep:
        """The kernel with those operands."""
        all_types = self._types()

        def kernel_body(arguments: Sequence[SSAValue], low: Index, high: Index) -> None:
            rest = iter(arguments)
            buffers: dict[Operand, Sequence[SSAValue]] = {
                operand: [next(rest) for _ in all_types[operand]]
                for operand in operands
            }
            body(_Arguments(buffers, low if self.tiling.regions > 1 else 0), low, high)

        arguments = [type_ for operand in operands for type_ in all_types[operand]]
        function = self.builder.function(name, arguments, kernel_body)
        return WinogradStep(Kernel(function, slices), operands, writes)
