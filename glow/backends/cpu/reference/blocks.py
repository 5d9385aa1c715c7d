"""Channel blocks; lanes past the last channel are padding that nobody has written."""

from __future__ import annotations

from glow.backends.cpu.dialect import blocks as count_blocks
from glow.interpreter.arrays import Array, garbage


def to_blocks(x: Array, lanes: int) -> Array:
    """[N, C, H, W] as [N, C / lanes, H, W, lanes]."""
    batch, channels, height, width = x.shape
    blocks = count_blocks(channels, lanes)
    padded = garbage((batch, blocks * lanes, height, width), x.dtype)
    padded[:, :channels] = x
    split = padded.reshape(batch, blocks, lanes, height, width)
    return split.transpose(0, 1, 3, 4, 2)


def from_blocks(x: Array, channels: int | None = None) -> Array:
    """[N, C / lanes, H, W, lanes] as [N, C, H, W]; all lanes unless `channels` is given."""
    batch, blocks, height, width, lanes = x.shape
    joined = x.transpose(0, 1, 4, 2, 3).reshape(batch, blocks * lanes, height, width)
    return joined[:, :channels]
