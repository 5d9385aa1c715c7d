"""Buckets of networks with tables of positions and of distances: encoders of speech and text."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from glow import compiler
from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.node import shape_of, tensor_type
from glow.frontends.onnx import import_model
from glow.interpreter import run
from glow.passes.graph.padding.relative_shifts import relative_shifts
from glow.signature import main_function

HEAD = '<ir_version: 9, opset_import: ["" : 18]>'


def numbers(count, seed):
    random = np.random.default_rng(seed)
    return ", ".join(f"{one:.3f}" for one in random.standard_normal(count) / 2)


WEIGHTS = f"""
    <float[4, 4] w = {{{numbers(16, 1)}}}, float[4] rates = {{1, 0.3, 0.1, 0.03}},
     float[4, 1, 5] windows = {{{numbers(20, 2)}}}, int64[1] first = {{0}}, int64[1] last = {{-1}},
     int64 zero = {{0}}, int64 one = {{1}}, int64[1] one1 = {{1}}, int64[1] two1 = {{2}}>
"""

SIZES = """
    shape = Shape(x)  n1 = Slice(shape, first, one1)  n = Squeeze(n1)
    twice = Add(n1, n1)  most = Sub(n, one)  least = Neg(n)
"""


def distances(first):
    """Scores of each row of x with the distances from the first one down to 1 - n."""
    return f"""
        minus = Neg(one)
        numbers = Range({first}, least, minus)
        column = Unsqueeze(numbers, last)
        distances = Cast<to = 1>(column)
        angles = Mul(distances, rates)
        table = Sin(angles)
        keys = MatMul(table, w)
        turned = Transpose(keys)
        scores = MatMul(x, turned)
    """


DISTANCES = distances("most")

FRAMES = """
    c = Conv<strides = [3]>(sound, windows)
    frames = Transpose<perm = [0, 2, 1]>(c)
    x = Squeeze(frames, first)
"""

ATTENTION = """
    across = Transpose(x)
    products = MatMul(x, across)
    sums = Add(products, moved)
    shares = Softmax(sums)
    y = MatMul(shares, x)
"""

ROWS_OF_N = "wide = Concat<axis = 0>(twice, n1)  rows = Reshape(padded, wide)"

BACK = """
    cut = Slice(rows, one1, end, first)
    whole = Shape(scores)
    back = Reshape(cut, whole)
    moved = Slice(back, first, n1, one1)
"""

MOVES = {
    "a column before": f"""
        column1 = Constant<value_ints = [0, 1, 0, 0]>()
        padded = Pad(scores, column1)  end = Identity(twice)
        {ROWS_OF_N} {BACK}
    """,
    "zeros joined before": f"""
        tall = Concat<axis = 0>(n1, one1)
        zeros = ConstantOfShape(tall)
        padded = Concat<axis = 1>(zeros, scores)  end = Identity(twice)
        {ROWS_OF_N} {BACK}
    """,
    "one row of all": """
        after = Constant<value_ints = [0, 0, 0, 1]>()
        padded = Pad(scores, after)
        flat = Reshape(padded, last)
        rest = Sub(n1, one1)
        behind = Concat<axis = 0>(first, rest)
        longer = Pad(flat, behind)
        more = Add(n1, one1)
        width = Sub(twice, one1)
        target = Concat<axis = 0>(more, width)
        view = Reshape(longer, target)
        begins = Concat<axis = 0>(first, rest)
        ends = Concat<axis = 0>(n1, width)
        moved = Slice(view, begins, ends)
    """,
}
"""Element [i, j] of `moved` is [i, n - 1 - i + j] of `scores`."""

TWICE = f"""
    {distances("n")}
    wide = Concat<axis = 0>(twice, n1)
    rows = Reshape(scores, wide)
    cut = Slice(rows, one1, twice, first)
    less = Sub(twice, one1)
    target = Concat<axis = 0>(n1, less)
    back = Reshape(cut, target)
    moved = Slice(back, first, n1, one1)
"""
"""XLNet's, with twice as many distances as words."""

NETWORKS = {
    **{
        name: ("float[N, 4] x", SIZES + DISTANCES + move + ATTENTION)
        for name, move in MOVES.items()
    },
    "distances for twice the words": ("float[N, 4] x", SIZES + TWICE + ATTENTION),
    "positions of windows": (
        "float[1, 1, N] sound",
        f"""
        {FRAMES} {SIZES}
        numbers = Range(zero, n, one)
        column = Unsqueeze(numbers, last)
        row = Unsqueeze(numbers, first)
        positions = Cast<to = 1>(column)
        angles = Mul(positions, rates)
        table = Cos(angles)
        far = Sub(row, column)
        bias = Cast<to = 1>(far)
        turned = Transpose(x)
        products = MatMul(x, turned)
        sums = Add(products, bias)
        shares = Softmax(sums)
        seen = MatMul(shares, x)
        y = Mul(seen, table)
        """,
    ),
    "how many windows": (
        "float[1, 1, N] sound",
        f"""
        {FRAMES} {SIZES}
        count = Cast<to = 1>(n)
        y = Div(x, count)
        """,
    ),
}


def model_of(name):
    signature, body = NETWORKS[name]
    return parser.parse_model(
        f"{HEAD} test ({signature}) => (float[M, 4] y) {WEIGHTS} {{ {body} }}"
    )


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("name", NETWORKS)
def test_results_are_those_without_padding(name: str, backend: str) -> None:
    source = model_of(name)
    model = compiler.compile(source, backend=backend, buckets={"N": [18, 30]})
    free = compiler.compile(source, backend="interpreter", specializations=32)
    random = np.random.default_rng(1)
    (info,) = model.inputs
    for count in (30, 29, 24, 19, 18, 15, 10, 9):
        shape = [count if size == "N" else size for size in info.shape]
        x = random.standard_normal(shape).astype(np.float32)
        found, wanted = model(x), free(x)
        np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=2e-6)
    assert len(model.programs()) == 2


@pytest.mark.parametrize("name", [*MOVES, "distances for twice the words"])
def test_moves_are_recognized(name: str) -> None:
    module = import_model(model_of(name), input_shapes={"x": (6, 4)})
    (shift,) = relative_shifts(main_function(module))
    assert shift.start == (6 if "twice" in name else 5)


REFUSED = {
    "the largest score of a distance": (
        SIZES + DISTANCES + MOVES["a column before"],
        "m = ReduceMax(scores, one1)  y = Add(moved, m)",
        "glow.reduce_max is not known to leave padding alone around axis 1",
    ),
    "distances as a result": (
        SIZES + DISTANCES + MOVES["a column before"],
        "m = ReduceSum(moved)  y = Add(table, m)",
        "how much of axis 0 of result 0 is padding is not known",
    ),
    "distances that are moved in two ways": (
        SIZES + DISTANCES + MOVES["a column before"],
        "most1 = Add(n1, one1)  m = Slice(back, one1, most1, one1)  y = Add(moved, m)",
        "glow.constant has other contents for other sizes",
    ),
    "a table of windows as a result": (
        NETWORKS["positions of windows"][1].replace("y = Mul", "z = Mul"),
        "m = ReduceMax<keepdims = 0>(z)  y = Add(table, m)",
        "how much of axis 0 of result 0 is padding is not known",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_ends_elsewhere_is_refused(name: str) -> None:
    network, more, message = REFUSED[name]
    inputs = "float[1, 1, N] sound" if "sound" in network else "float[N, 4] x"
    model = parser.parse_model(
        f"{HEAD} test ({inputs}) => (float[M, K] y) {WEIGHTS} {{ {network} {more} }}"
    )
    with pytest.raises(GlowError) as caught:
        compiler.compile(model, buckets={"N": [18, 30]})
    assert message in caught.value.one_line()


class Moves:
    """A module that moves the elements of its input, and what they are moved to."""

    def __init__(self, shape):
        self.x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        self.block = Block(arg_types=[tensor_type(shape, f32)])
        self.value: SSAValue = self.block.args[0]

    def add(self, op_class, types=None, **attributes):
        op = op_class.build_node([self.value], types, **attributes)
        self.block.add_op(op)
        self.value = op.results[0]

    def reshape(self, *shape):
        self.add(glow.ReshapeOp, [tensor_type(shape, f32)])

    def cut(self, random, rows, columns):
        """A slice of so many rows and columns at most."""
        sizes = shape_of(self.value)
        taken = [sizes[0], min(rows, sizes[1]), min(columns, sizes[2])]
        limits = zip(sizes, taken, strict=True)
        starts = [int(random.integers(0, n - size + 1)) for n, size in limits]
        self.add(glow.SliceOp, starts=starts, sizes=taken, steps=[1, 1, 1])

    def module(self):
        self.block.add_op(ReturnOp(self.value))
        types = [one.type for one in self.block.args], [self.value.type]
        return ModuleOp([FuncOp("main", types, Region(self.block))])


def random_moves(random):
    """Rows that become a little shorter or longer, and what is taken of them."""
    rows, columns = (int(one) for one in random.integers(2, 6, 2))
    moves = Moves((2, rows, columns + rows))
    if random.random() < 0.7:
        sides = [int(one) for one in random.integers(0, 2, 2)]
        moves.add(glow.PadOp, pads=[0, 0, sides[0], 0, 0, sides[1]])
    _, height, width = shape_of(moves.value)
    other = width + int(random.integers(-2, 2))
    moves.reshape(2, height * width, 1)
    moves.cut(random, height * width // other * other, 1)
    moves.reshape(2, shape_of(moves.value)[1] // other, other)
    moves.cut(random, rows, int(random.integers(1, columns + rows)))
    return moves


def test_moves_are_what_they_are_taken_for() -> None:
    """Whatever is taken for a move by distance has the elements that its start tells."""
    random, found = np.random.default_rng(0), 0
    for _ in range(1000):
        moves = random_moves(random)
        module = moves.module()
        for shift in relative_shifts(main_function(module)):
            (result,) = run(module, [moves.x])
            row, column = np.ogrid[: result.shape[1], : result.shape[2]]
            source, pad = moves.x, shift.source.owner
            if isinstance(pad, glow.PadOp):
                before, after = pad.attributes_view().ints("pads")[2::3]
                source = np.pad(source, ((0, 0), (0, 0), (before, after)))
            expected = source[:, row, shift.start - row + column]
            np.testing.assert_array_equal(result, expected)
            found += 1
    assert found > 50
