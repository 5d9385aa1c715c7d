r"""A program of any level as a picture in Graphviz's language.

    digraph "main" {
      n0 [label="image\ntensor<1x3x8x8xf32>", shape=ellipse];
      n1 [label="glow.conv2d\ntensor<1x8x8x8xf32>"];
      n0 -> n1 [label="0"];
    }

Operations are boxes with the types of their results, arguments ellipses, values arrows with the
number of the operand; a region is a frame around its operations.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from glow.dialects.locations import node_name


def dot_text(module: ModuleOp) -> str:
    """The graph of a module."""
    lines = ["digraph {", "  node [shape=box, fontname=monospace];"]
    lines += Picture().frame(module, "  ")
    return "\n".join([*lines, "}", ""])


class Picture:
    """Names what it draws, and knows which value comes from where."""

    def __init__(self) -> None:
        self._names: dict[SSAValue, str] = {}
        self._count = 0

    def _fresh(self) -> str:
        self._count += 1
        return f"n{self._count - 1}"

    def frame(self, op: Operation, indent: str) -> Iterator[str]:
        """What is inside the regions of an operation."""
        for region in op.regions:
            for block in region.blocks:
                yield from self._block(block, indent)

    def _block(self, block: Block, indent: str) -> Iterator[str]:
        for argument in block.args:
            name = self._names[argument] = self._fresh()
            label = quoted(argument.name_hint or "argument", str(argument.type))
            yield f"{indent}{name} [label={label}, shape=ellipse];"
        for op in block.ops:
            yield from self._operation(op, indent)

    def _operation(self, op: Operation, indent: str) -> Iterator[str]:
        name = self._fresh()
        title = [op.name, *filter(None, [node_name(op)])]
        label = quoted(" ".join(title), *(str(result.type) for result in op.results))
        if op.regions:
            yield f"{indent}subgraph cluster_{name} {{"
            yield f"{indent}  label={quoted(op.name)};"
            yield from self.frame(op, indent + "  ")
        yield f"{indent}{'  ' if op.regions else ''}{name} [label={label}];"
        if op.regions:
            yield f"{indent}}}"
        for number, operand in enumerate(op.operands):
            yield f'{indent}{self._names[operand]} -> {name} [label="{number}"];'
        for result in op.results:
            self._names[result] = name


def quoted(*lines: str) -> str:
    """Lines as a string of Graphviz."""
    text = "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return f'"{text}"'
