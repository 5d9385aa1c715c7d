"""The graph of a program that masks what its inputs are padded with.

What of it is padding a graph for a smaller size tells. With masks for two sizes the smaller graph
of the second has the masks of the first:

    h, w masked = mask w in (h masked at 48 x 320), by (h masked at 48 x 160)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from xdsl.dialects.builtin import ModuleOp

from glow.bucketing.compare_graphs import Pair, ResultAxis, mask_graph
from glow.bucketing.graphs import Import
from glow.bucketing.search import compared
from glow.dialects.weights import clone_module
from glow.open_sizes import InputShapes
from glow.options import CompileOptions
from glow.padded_sizes import ShorterShapes, padding_name


def masked_program(
    options: CompileOptions, load: Callable[[CompileOptions], ModuleOp]
) -> ModuleOp:
    """The graph for options that tell what of it is padding; `load` imports one without."""

    def imported(shapes: InputShapes) -> ModuleOp:
        return load(replace(options, input_shapes=shapes, shorter_shapes=None))

    shapes = cast("Mapping[str, Sequence[int]]", options.input_shapes)
    return masked_graph(shapes, options.shorter_shapes or {}, imported)


def masked_graph(
    shapes: Mapping[str, Sequence[int]], shorter: ShorterShapes, imported: Import
) -> ModuleOp:
    """The graph for shapes by the name of an input, which takes the padding of some sizes.

    `shorter` has the shapes with less of each such size, by its name.
    """
    if not shorter:
        return imported(shapes)
    *others, name = shorter
    rest = {one: shorter[one] for one in others}
    less, *sizes = shorter[name]
    of_both = {
        one: each._replace(shapes=_less_of_both(shapes, less, each.shapes))
        for one, each in rest.items()
    }
    short = masked_graph(less, of_both, imported)
    long = masked_graph(shapes, rest, imported)
    return _masked(short, long, Pair(*sizes, at_front=False), padding_name(name))


def _masked(short: ModuleOp, long: ModuleOp, pair: Pair, name: str) -> ModuleOp:
    """The larger graph with masks."""
    masked: list[ModuleOp] = []

    def mask(first: ModuleOp, second: ModuleOp) -> Sequence[ResultAxis]:
        masked.append(clone_module(second))
        return mask_graph(first, masked[-1], pair, name)

    compared(short, long, mask)
    return masked[-1]


def _less_of_both(
    shapes: Mapping[str, Sequence[int]],
    first: Mapping[str, Sequence[int]],
    second: Mapping[str, Sequence[int]],
) -> dict[str, tuple[int, ...]]:
    """The shapes that are smaller by what each of two are smaller by."""
    return {
        name: tuple(
            a + b - size
            for a, b, size in zip(first[name], second[name], shape, strict=True)
        )
        for name, shape in shapes.items()
    }
