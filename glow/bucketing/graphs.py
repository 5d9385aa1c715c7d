"""The graphs of a model for numbers of its open sizes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.transforms.canonicalize import CanonicalizePass

from glow.dialects.errors import GlowError
from glow.dialects.weights import clone_module
from glow.open_sizes import InputShapes, OpenSignature, filled_shapes
from glow.passes.graph.fold_constants import STORAGE, fold_tables
from glow.passes.graph.padding.separate_rows import SeparateRowsPass
from glow.signature import main_function

Sizes = dict[str, int]
"""Numbers for the open sizes of a model."""

Import = Callable[[InputShapes], ModuleOp]
"""The graph of a model for shapes of its inputs."""

KEPT_GRAPHS = 4
"""A size and a larger one, which are compared, and the next two: each graph may hold weights of
its own."""


class Graphs:
    """The graphs of a model for numbers of its open sizes; the last ones are kept."""

    def __init__(self, signature: OpenSignature, imported: Import) -> None:
        self.signature = signature
        self.imported = imported
        names = [size for info in signature.inputs for size in info.open_sizes]
        self.names = tuple(dict.fromkeys(names))
        self._kept: OrderedDict[tuple[int, ...], ModuleOp] = OrderedDict()
        self._refused: dict[tuple[int, ...], GlowError] = {}

    def at(self, sizes: Sizes) -> ModuleOp:
        """The graph for some sizes; raises GlowError where the model does not take them."""
        key = tuple(sizes[name] for name in self.names)
        if key in self._refused:
            raise self._refused[key]
        if key not in self._kept:
            try:
                self._kept[key] = self._import(sizes)
            except GlowError as error:
                self._refused[key] = error
                raise
        self._kept.move_to_end(key)
        while len(self._kept) > KEPT_GRAPHS:
            self._kept.popitem(last=False)
        return self._kept[key]

    def takes(self, sizes: Sizes) -> bool:
        """Whether the model takes some sizes."""
        try:
            return bool(self.at(sizes))
        except GlowError:
            return False

    def _import(self, sizes: Sizes) -> ModuleOp:
        shapes: dict[str, Sequence[int] | int] = {}
        for info in self.signature.inputs:
            assert info.shape is not None
            known = [s if isinstance(s, int) else sizes[s] for s in info.shape]
            shapes[info.name] = known
        filled = filled_shapes(self.signature.inputs, shapes)
        return self.imported(dict(zip(shapes, filled, strict=True)))


def canonical(module: ModuleOp) -> ModuleOp:
    """A graph without what comes to nothing, and without numbers of elements in all rows."""
    found = clone_module(module)
    SeparateRowsPass().apply(Context(), found)
    CanonicalizePass().apply(Context(), found)
    return found


def folded(module: ModuleOp) -> ModuleOp:
    """A copy with tables folded that are too large for importing to do it."""
    found = clone_module(module)
    fold_tables(found)
    _sink_constants(main_function(found))
    return found


def _sink_constants(function: FuncOp) -> None:
    """Put each constant in front of the first node that reads it, whoever made it."""
    placed: set[Operation] = set()
    for op in list(function.body.block.ops):
        for inner in op.walk():
            for operand in inner.operands:
                owner = operand.owner
                if isinstance(owner, STORAGE) and owner not in placed:
                    placed.add(owner)
                    owner.detach()
                    function.body.block.insert_op_before(owner, op)
