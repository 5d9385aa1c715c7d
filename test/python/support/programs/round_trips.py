"""Graphs that go out in another dialect and come in again."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from math import prod

from support.nodes.differential import Example
from support.nodes.node_examples import nodes_under_test
from xdsl.dialects.builtin import ModuleOp

from glow.dialects import glow
from glow.dialects.node import NodeOp
from glow.exporters.linalg import LINALG
from glow.exporters.programs import export_program
from glow.exporters.programs.text import print_program
from glow.exporters.stablehlo import STABLEHLO
from glow.exporters.tosa import TOSA
from glow.frontends.linalg.convert_linalg_to_glow import ConvertLinalgToGlowPass
from glow.frontends.mlir import parse_text
from glow.frontends.stablehlo.convert_stablehlo_to_glow import (
    ConvertStablehloToGlowPass,
)
from glow.frontends.tosa.convert_tosa_to_glow import ConvertTosaToGlowPass
from glow.universe import new_context

FORMATS = {
    "stablehlo": (STABLEHLO, ConvertStablehloToGlowPass),
    "linalg": (LINALG, ConvertLinalgToGlowPass),
    "tosa": (TOSA, ConvertTosaToGlowPass),
}
MOST_NODES = 1.1
"""What a graph that comes back may have more."""

MOST_ELEMENTS = 150
CONTEXT = new_context()


def again(module: ModuleOp, name: str) -> ModuleOp:
    """The graph that comes in from the text of a module; GlowError where it has no form."""
    target, convert = FORMATS[name]
    text = StringIO()
    print_program(export_program(module, target, "resource"), text)
    assert "glow." not in text.getvalue()
    found = parse_text(CONTEXT, text.getvalue(), "program.mlir")
    convert().apply(CONTEXT, found)
    found.verify()
    return found


def node_count(module: ModuleOp) -> int:
    """The nodes that compute something."""
    constants = glow.ConstantOp, glow.SplatOp
    ops = [op for op in module.walk() if not isinstance(op, constants)]
    return sum(isinstance(op, NodeOp) for op in ops)


def some_examples() -> Iterator[Example]:
    """For each node and the types of its inputs the largest example of moderate size."""
    found: dict[object, Example] = {}
    for example in nodes_under_test():
        sizes = [prod(array.shape) for array in example.inputs]
        if not all(sizes) or sum(sizes) > MOST_ELEMENTS:
            continue
        key = example.node, tuple(str(array.dtype) for array in example.inputs)
        known = found.get(key)
        if known is None or sum(sizes) > sum(prod(a.shape) for a in known.inputs):
            found[key] = example
    yield from found.values()
