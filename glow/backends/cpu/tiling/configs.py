"""Configurations in the IR as the tiles of kernels, and back."""

from __future__ import annotations

from xdsl.dialects.builtin import IntAttr

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.tiling.matmul_tile import Tile, tallest
from glow.dialects.attributes import Attributes
from glow.lowering.target.target import Target


def matmul_attributes(
    tile: Tile, lanes: int
) -> dict[str, cpu.MatmulConfigAttr | cpu.PanelsAttr]:
    """The attributes of a product with that tile, whose weights are packed for it."""
    rows, blocks = IntAttr(tile.rows), IntAttr(tile.blocks)
    return {
        "config": cpu.MatmulConfigAttr(rows, blocks),
        "panels": cpu.PanelsAttr(blocks, IntAttr(lanes)),
    }


def matmul_tile_of(attributes: Attributes) -> Tile | None:
    """The register tile that a product is configured for, if it says one."""
    config = attributes.get("config")
    if not isinstance(config, cpu.MatmulConfigAttr):
        return None
    return Tile(config.rows.data, config.blocks.data)


def wrong_matmul_config(
    attributes: Attributes, rows: int, target: Target
) -> str | None:
    """Why a product of so many rows cannot be computed as it is configured, if so."""
    tile, panels = matmul_tile_of(attributes), attributes.get("panels")
    if tile is None or not isinstance(panels, cpu.PanelsAttr):
        return None
    lanes = target.lanes(32)
    if panels.lanes.data != lanes:
        return (
            f"panels of {panels.lanes.data} lanes: a register of the target has {lanes}"
        )
    most = min(rows, tallest(tile.blocks, target))
    if tile.rows > most:
        return (
            f"a tile of {tile.rows} rows and {tile.blocks} blocks: the target's "
            f"{target.num_vector_registers} registers and {rows} rows of the product "
            f"allow 1 to {most} rows"
        )
    return None
