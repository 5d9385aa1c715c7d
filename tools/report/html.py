"""Pages of HTML that are one file: no script, style or picture comes from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
body { font: 14px/1.4 system-ui, sans-serif; margin: 1rem auto; max-width: 1400px;
  padding: 0 1rem; color: #222; background: #fff }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse } th, td { padding: .15rem .6rem; text-align: right }
th { border-bottom: 1px solid #888; position: sticky; top: 0; background: #fff }
th:first-child, td:first-child { text-align: left } td.text { text-align: left }
tr:nth-child(even) { background: #f4f6f8 }
.scroll { max-height: 30rem; overflow: auto; border: 1px solid #ccc }
.note { color: #666 } svg text { font: 11px system-ui, sans-serif }
"""


def page(title: str, sections: Iterable[str], script: str = "") -> str:
    """A whole page; `script` runs at its end."""
    body = "\n".join(sections)
    return (
        "<!DOCTYPE html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f"<style>{STYLE}</style></head>\n<body>\n<h1>{escape(title)}</h1>\n{body}\n"
        f"<script>{script}</script>\n</body></html>\n"
    )


def section(title: str, *parts: str, name: str = "") -> str:
    """A part of a page under a heading; `name` is what links and tests find."""
    content = "\n".join(parts)
    return f'<section id="{escape(name)}">\n<h2>{escape(title)}</h2>\n{content}\n</section>'


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def table(
    head: Sequence[str], rows: Iterable[Sequence[object]], text_columns: int = 1
) -> str:
    """A table whose first columns are text and whose others are numbers."""
    heading = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines: list[str] = []
    for row in rows:
        cells = [
            (' class="text"' if 0 < at < text_columns else "", escape(str(cell)))
            for at, cell in enumerate(row)
        ]
        lines.append(
            "".join(["<tr>", *(f"<td{c}>{text}</td>" for c, text in cells), "</tr>"])
        )
    body = "\n".join(lines)
    return f"<table><thead><tr>{heading}</tr></thead><tbody>\n{body}\n</tbody></table>"


def scrolling(content: str) -> str:
    """A box of limited height."""
    return f'<div class="scroll">{content}</div>'
