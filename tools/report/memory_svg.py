"""Draws a memory plan: time from left to right, addresses from bottom to top."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from xdsl.dialects import func
from xdsl.ir import Operation

from glow.dialects import instr
from glow.dialects.node import node_name
from glow.passes.instr.lifetimes import Lifetime, lifetimes
from glow.passes.instr.packing.interval_packing import live_bound

WIDTH, HEIGHT, MARGIN = 1300, 380, 70

Column = Callable[[int], float]

STYLE = """
.buffer { stroke: #fff; stroke-width: .6 } .buffer:hover { stroke: #000 }
.live { fill: none; stroke: #000; stroke-width: 1.2 }
.bound { stroke: #c0392b; stroke-dasharray: 5 3 } text { font: 11px system-ui, sans-serif }
"""


def draw_memory(function: func.FuncOp) -> str:
    """The buffers of a planned function as rectangles, and how much is alive."""
    ops = list(function.body.walk())
    at = {op: number for number, op in enumerate(ops)}
    steps: list[int] = []  # instructions before each operation: the axis of time
    for op in ops:
        steps.append((steps[-1] if steps else 0) + isinstance(op, instr.InstructionOp))
    buffers = lifetimes(function)
    bound = live_bound(buffers)
    size = max((_offset(b) + b.size for b in buffers), default=1)
    across = (WIDTH - MARGIN) / max(steps[-1], 1)
    upwards = HEIGHT / size

    def column(position: int) -> float:
        return MARGIN + (steps[position] if position >= 0 else 0) * across

    boxes: list[str] = []
    for buffer in buffers:
        start, end = column(buffer.start), column(buffer.end)
        top = HEIGHT - (_offset(buffer) + buffer.size) * upwards + 20
        boxes.append(
            f'<rect class="buffer" x="{start:.1f}" y="{top:.1f}" '
            f'width="{max(end - start, 1):.1f}" height="{buffer.size * upwards:.1f}" '
            f'fill="{_color(at[buffer.alloc])}"><title>{_title(buffer, steps)}</title></rect>'
        )
    live = _live_line(buffers, ops, column, upwards)
    line = HEIGHT - bound * upwards + 20
    return (
        f'<svg class="memory" xmlns="http://www.w3.org/2000/svg" width="100%" '
        f'viewBox="0 0 {WIDTH + 10} {HEIGHT + 50}">\n<style>{STYLE}</style>\n'
        + "\n".join(boxes)
        + f'\n<polyline class="live" points="{live}"/>'
        f'<line class="bound" x1="{MARGIN}" x2="{WIDTH}" y1="{line:.1f}" y2="{line:.1f}"/>'
        f'<text x="0" y="28">{size:,} B</text><text x="0" y="{HEIGHT + 20}">0</text>'
        f'<text x="{MARGIN}" y="{HEIGHT + 40}">instructions 0 to {steps[-1]}; '
        "the line is what is alive, the dashed one its largest value</text></svg>"
    )


def _offset(buffer: Lifetime) -> int:
    assert buffer.alloc.offset is not None
    return buffer.alloc.offset.value.data


def _title(buffer: Lifetime, steps: Sequence[int]) -> str:
    alloc = buffer.alloc
    lines = [
        node_name(alloc) or alloc.result.name_hint or "",
        f"{alloc.result.type}",
        f"{buffer.size:,} bytes at {_offset(buffer):,}",
        f"instructions {steps[buffer.start]} to {steps[buffer.end]}",
    ]
    return escape("\n".join(filter(None, lines)))


def _color(number: int) -> str:
    """Neighbours in time get hues far apart."""
    return f"hsl({number * 137 % 360} 55% 68%)"


def _live_line(
    buffers: Sequence[Lifetime],
    ops: Sequence[Operation],
    column: Column,
    upwards: float,
) -> str:
    """The bytes alive during each instruction."""
    change = [0] * (len(ops) + 1)
    for buffer in buffers:
        change[buffer.start] += buffer.size
        change[buffer.end] -= buffer.size
    live, points = 0, [f"{MARGIN},{HEIGHT + 20}"]
    for position, op in enumerate(ops):
        live += change[position]
        if isinstance(op, instr.InstructionOp):
            y = HEIGHT - live * upwards + 20
            x1, x2 = column(position - 1), column(position)
            points.append(f"{x1:.1f},{y:.1f} {x2:.1f},{y:.1f}")
    return " ".join(points)
