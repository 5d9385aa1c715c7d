"""Which configurations of a Winograd convolution its shapes and the target allow."""

from __future__ import annotations

from collections.abc import Iterator

from glow.backends.cpu.dialect.config import WinogradConfig, wrong_prefetch
from glow.backends.cpu.kernels.winograd.spec import WinogradSpec
from glow.backends.cpu.kernels.winograd.tiling import (
    WinogradTiling,
    choose_winograd_tiling,
)
from glow.lowering.target.target import Target


def wrong_winograd_config(spec: WinogradSpec, target: Target) -> str | None:
    """What the target or the shapes do not allow of the configuration, if so."""
    if spec.config is None:
        return None
    tiling = choose_winograd_tiling(spec, target)
    return next(_wrong(spec, spec.config, tiling, target), None)


def _wrong(
    spec: WinogradSpec, config: WinogradConfig, tiling: WinogradTiling, target: Target
) -> Iterator[str]:
    if spec.groups > 1 and not config.fused:
        yield "a kernel for each phase: there is one for all groups, fused = true"
    if not spec.allows_rows(config.block_rows):
        yield (
            f"blocks of {config.block_rows} rows of tiles: groups of {spec.tiles_down} are "
            f"no multiple of it"
        )
    least = 1 if config.fused else spec.tile_rows
    if not least <= config.block_rows <= spec.tile_rows:
        yield (
            f"blocks of {config.block_rows} rows of tiles: {least} to {spec.tile_rows} are "
            f"allowed"
        )
    most = spec.tiles_across if config.fused and config.block_rows == 1 else 1
    if config.segments > most:
        yield f"{config.segments} segments: blocks of {config.block_rows} rows allow {most}"
    if tiling.has_empty_segments:
        yield (
            f"{config.segments} segments: {spec.tiles_across} tiles of a row in those of "
            f"{tiling.tiles_across} are fewer"
        )
    if wrong := wrong_prefetch(config.prefetch):
        yield wrong
    parts = tiling.parts
    if len(config.pixels) != len(parts):
        yield (
            f"{len(config.pixels)} sizes of register tiles: {spec.output_blocks} blocks of "
            f"channels in tiles of {config.blocks} want {len(parts)}"
        )
    for part, size in zip(parts, config.pixels, strict=False):
        most = min(tiling.tiles, tiling.model.max_pixels(part.blocks))
        if size > most:
            yield (
                f"a register tile of {size} tiles and {part.blocks} blocks: the target's "
                f"{target.num_vector_registers} registers and {tiling.tiles} tiles of a block "
                f"allow 1 to {most}"
            )
