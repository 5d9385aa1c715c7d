"""The page of `glow quantize-report`: what each layer loses, and why."""

from __future__ import annotations

from html import escape

import numpy as np
import numpy.typing as npt

from glow.dialects.quant import Quantization
from glow.interpreter.integer_arithmetic import dequantize
from glow.passes.quantization.profiling.value_profile import ValueProfile
from glow.quantization_report import Layer, QuantizationReport
from glow.tools.report import html

BARS, WIDTH, HEIGHT = 128, 512, 120
HEADS = (
    "layer",
    "kind",
    "input",
    "seen",
    "stored as",
    "alone dB",
    "output dB",
    "in all dB",
)
TEXT_COLUMNS = 5
EXPLANATION = (
    "Signal-to-noise ratios in decibels; 6 dB are one bit. 'alone' is the layer's result, "
    "'output' the network's, when nothing but that layer is quantized: the layers that hurt "
    "most come first. 'in all' is the layer's result in the network that is quantized as a "
    "whole."
)


def decibels(number: float) -> str:
    """A ratio as text."""
    return "exact" if number == float("inf") else f"{number:.1f}"


def stored_as(layer: Layer) -> str:
    """How a layer's input is stored."""
    if layer.stored is None:
        return "u8 by row"
    low, high = layer.stored.limits
    kind = f"{'i' if layer.stored.signed else 'u'}{layer.stored.bits}"
    scale, zero_point = layer.stored.scales[0], layer.stored.zero_points[0]
    narrow = f"<{low}:{high}>" if layer.stored.storage_range else ""
    return f"{kind}{narrow}, {scale:.4g}:{zero_point}"


def seen_range(layer: Layer) -> str:
    """The range of a layer's input in the calibration data."""
    seen = layer.seen
    return "" if seen is None else f"{seen.low:.4g} .. {seen.high:.4g}"


def row_of(layer: Layer) -> tuple[str, ...]:
    """A layer's line in a table."""
    ratios = (layer.alone, layer.output, layer.together)
    return (
        layer.name,
        layer.kind,
        layer.input_name,
        seen_range(layer),
        stored_as(layer),
        *(decibels(ratio.decibels) for ratio in ratios),
    )


def text_table(report: QuantizationReport) -> str:
    """All layers as lines of equal columns, and the network's own ratio."""
    rows = [HEADS, *(row_of(layer) for layer in report.layers)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS))]
    lines = [
        "  ".join(
            cell.ljust(width) if column < TEXT_COLUMNS else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([*lines, summary(report)])


def summary(report: QuantizationReport) -> str:
    """The network's own ratio in words."""
    return f"output of the quantized network: {decibels(report.output.decibels)} dB"


def quantization_page(title: str, report: QuantizationReport) -> str:
    """The whole page."""
    rows = [row_of(layer) for layer in report.layers]
    figures = [figure(layer) for layer in report.layers if layer.seen is not None]
    return html.page(
        title,
        [
            html.paragraph(summary(report)),
            html.paragraph(EXPLANATION),
            html.section(
                "Layers", html.table(HEADS, rows, TEXT_COLUMNS), name="layers"
            ),
            html.section("Ranges of inputs", *figures, name="ranges"),
        ],
    )


def figure(layer: Layer) -> str:
    """The histogram of a layer's input and the range that is stored, under its name."""
    assert layer.seen is not None
    title = f"{layer.name} reads {layer.input_name}: {seen_range(layer)}"
    caption = html.paragraph(f"{title}, stored as {stored_as(layer)}")
    if not layer.seen.histogram.any():
        note = "its channels were evened out, so that its histogram is not known"
        return caption + f'<p class="note">{escape(note)}</p>'
    return caption + draw_histogram(layer.seen, layer.stored)


def heights(seen: ValueProfile) -> npt.NDArray[np.float64]:
    """The logarithms of the counts in few bars, the largest 1."""
    counts = seen.histogram.reshape(BARS, -1).sum(axis=1)
    logarithms = np.log1p(counts.astype(np.float64))
    return logarithms / logarithms.max()


def draw_histogram(seen: ValueProfile, stored: Quantization | None) -> str:
    """Counts on a logarithmic scale; what is stored lies between the lines."""
    low, high = (seen.low, seen.high)
    if stored is not None and stored.axis is None:
        ends = dequantize(np.array(stored.limits), stored)
        low, high = min(low, float(ends[0])), max(high, float(ends[1]))
    span = (high - low) or 1.0
    left, right = ((end - low) / span * WIDTH for end in (seen.low, seen.high))
    bar = (right - left) / BARS
    bars = "".join(
        f'<rect x="{left + at * bar:.2f}" y="{HEIGHT * (1 - height):.1f}" '
        f'width="{max(bar, 0.5):.2f}" height="{HEIGHT * height:.1f}" fill="#4a7fb5"/>'
        for at, height in enumerate(heights(seen))
        if height > 0
    )
    return (
        f'<svg viewBox="0 -5 {WIDTH} {HEIGHT + 25}" width="{WIDTH}" '
        f'xmlns="http://www.w3.org/2000/svg">{bars}{limit_lines(stored, low, span)}'
        f'<text x="0" y="{HEIGHT + 15}">{low:.4g}</text>'
        f'<text x="{WIDTH}" y="{HEIGHT + 15}" text-anchor="end">{high:.4g}</text></svg>'
    )


def limit_lines(stored: Quantization | None, low: float, span: float) -> str:
    """Lines at the smallest and largest number that is stored."""
    if stored is None or stored.axis is not None:
        return ""
    ends = dequantize(np.array(stored.limits), stored)
    return "".join(
        f'<line x1="{(float(end) - low) / span * WIDTH:.1f}" y1="0" '
        f'x2="{(float(end) - low) / span * WIDTH:.1f}" y2="{HEIGHT}" stroke="#c0392b"/>'
        for end in ends
    )
