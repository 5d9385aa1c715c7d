"""Random graphs of smooth nodes in f64, for gradient checks of whole graphs.

Values are read several times and by nodes that broadcast them, parts of the graph lead nowhere,
and others depend on integers: what the reverse walk has to get right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of, tensor_type

ARGUMENTS, STEPS = 3, 9
SIZES = (1, 2, 3)
UNARY = (
    glow.TanhOp, glow.SigmoidOp, glow.SinOp, glow.SoftplusOp, glow.GeluOp, glow.NegOp,
)  # fmt: skip
BINARY = (glow.AddOp, glow.SubOp, glow.MulOp)


class GradientGraph:
    """A function under construction."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        shape = self.shape(3)
        shapes = [
            [1 if self.chance(0.3) else size for size in shape][self.integer(0, 2) :]
            for _ in range(ARGUMENTS)
        ]
        self.block = Block(arg_types=[tensor_type(each, f64) for each in shapes])
        self.values: list[SSAValue] = [*self.block.args]

    def integer(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return int(self.random.integers(low, high + 1))

    def chance(self, probability: float) -> bool:
        """True now and then."""
        return self.random.random() < probability

    def shape(self, rank: int) -> list[int]:
        """A small shape."""
        return [SIZES[self.integer(0, len(SIZES) - 1)] for _ in range(rank)]

    def value(self) -> SSAValue:
        """One of the values."""
        return self.values[self.integer(0, len(self.values) - 1)]

    def node(
        self,
        op_class: type[NodeOp],
        *operands: SSAValue,
        shape: Sequence[int] | None = None,
        **attributes: object,
    ) -> None:
        """Add a node."""
        types = None if shape is None else [tensor_type(shape, f64)]
        op = op_class.build_node(operands, types, **attributes)  # pyright: ignore[reportArgumentType]
        self.block.add_op(op)
        self.values += op.results

    def beside(self, x: SSAValue) -> SSAValue:
        """A value that broadcasts with another one."""

        def fits(value: SSAValue) -> bool:
            pairs = zip(reversed(shape_of(value)), reversed(shape_of(x)), strict=False)
            return all(a == b or 1 in (a, b) for a, b in pairs)

        fitting = [value for value in self.values if fits(value)]
        return fitting[self.integer(0, len(fitting) - 1)]


def unary(g: GradientGraph) -> None:
    """A function of one number."""
    g.node(UNARY[g.integer(0, len(UNARY) - 1)], g.value())


def binary(g: GradientGraph) -> None:
    """A function of two values, that may be one and the same."""
    x = g.value()
    g.node(BINARY[g.integer(0, len(BINARY) - 1)], x, g.beside(x))


def select(g: GradientGraph) -> None:
    """A choice that depends on values, which get no gradient by it."""
    x = g.value()
    y = g.beside(x)
    test = glow.LessOp.build_node([x, y])
    g.block.add_op(test)
    g.node(glow.SelectOp, test.results[0], y, x)


def reduce(g: GradientGraph) -> None:
    """A sum or a mean over some axes."""
    x = g.value()
    axes = [axis for axis in range(len(shape_of(x))) if g.chance(0.5)]
    node = glow.ReduceSumOp if g.chance(0.5) else glow.ReduceMeanOp
    g.node(node, x, axes=axes, keepdims=g.chance(0.5))


def product(g: GradientGraph) -> None:
    """The product of a value's matrices with their transposes."""
    x = g.value()
    if len(shape_of(x)) > 1:
        g.node(glow.MatmulOp, x, x, transpose_rhs=True)


def softmax(g: GradientGraph) -> None:
    """A softmax along the last axis."""
    x = g.value()
    if shape_of(x):
        g.node(glow.SoftmaxOp, x, axis=len(shape_of(x)) - 1)


def move(g: GradientGraph) -> None:
    """A transposed value, twice."""
    x = g.value()
    shape = shape_of(x)
    if shape:
        g.node(glow.TransposeOp, x, permutation=[*reversed(range(len(shape)))])
        moved = g.values[-1]
        g.node(glow.ConcatOp, moved, moved, axis=0)


def broadcast(g: GradientGraph) -> None:
    """A repeated value."""
    x = g.value()
    g.node(glow.BroadcastOp, x, shape=(*g.shape(1), *shape_of(x))[-4:])


NODES: Sequence[Callable[[GradientGraph], None]] = (
    *(unary, binary) * 3, select, reduce, product, softmax, move, broadcast,
)  # fmt: skip


def gradient_graph(seed: int) -> ModuleOp:
    """A random function `main` of three arguments, which returns what depends on all."""
    g = GradientGraph(seed)
    for _ in range(STEPS):
        NODES[g.integer(0, len(NODES) - 1)](g)
    results = g.values[-3:]
    for argument in g.block.args:
        g.node(glow.TanhOp, argument)
        results.append(g.values[-1])
    g.block.add_op(ReturnOp(*results))
    types = [value.type for value in g.block.args], [value.type for value in results]
    return ModuleOp([FuncOp("main", types, Region(g.block))])
