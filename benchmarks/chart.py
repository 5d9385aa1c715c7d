"""Draws what `compare.py` measured: how much faster than each peer we are, as an SVG."""

from collections.abc import Mapping, Sequence
from pathlib import Path

# Matplotlib is an optional package and carries few types.
# pyright: basic, reportMissingImports=false


def draw(
    labels: Sequence[str], milliseconds: Sequence[Mapping[str, float]], path: Path
) -> None:
    """Write a bar of each peer's time over ours for each row, on a logarithmic axis."""
    from matplotlib.figure import Figure

    peers = list(dict.fromkeys(name for row in milliseconds for name in row))
    peers.remove("glow")
    height = 0.8 / len(peers)
    figure = Figure((8, 1 + 0.18 * len(labels) * (len(peers) + 1)), layout="tight")
    axes = figure.subplots()
    for index, peer in enumerate(peers):
        measured = [(y, row) for y, row in enumerate(milliseconds) if peer in row]
        ratios = [row[peer] / row["glow"] for _, row in measured]
        axes.barh([y + index * height for y, _ in measured], ratios, height, label=peer)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks([y + 0.4 - height / 2 for y in range(len(labels))], labels)
    axes.set_xscale("log")
    axes.set_xlabel("time over Glow's (above 1, Glow is faster); network, threads")
    axes.invert_yaxis()
    axes.legend()
    figure.savefig(path, format="svg", metadata={"Date": None})
