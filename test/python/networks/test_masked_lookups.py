"""Networks on graphs, whose nodes and edges are padded: rows are looked up, and added up."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import parser

import glow
from glow.dialects.errors import GlowError

HEAD = '<ir_version: 9, opset_import: ["" : 18]>'
SIGNATURE = "(float[N, 3] x, int64[2, E] e) => ({outputs})"
WEIGHTS = (
    " <float[3, 4] w = {1, -2, 3, 0, 2, 1, -1, 1, 0, 1, 2, -3}, int64 zero = {0},"
    " int64 one = {1}, int64[1] last = {-1}, int64[1] first = {0}, float[1] nothing = {0},"
    " float[1] single = {1}>"
)
EDGES = """
    from = Gather<axis = 0>(e, zero)  to = Gather<axis = 0>(e, one)
    h = MatMul(x, w)  m = Gather<axis = 0>(h, from)
    rows = Unsqueeze(to, last)  size = Shape(m)  places = Expand(rows, size)
    shape = Shape(h)  none = ConstantOfShape(shape)
"""
GRAPHS = {
    "sum": "y = ScatterElements<axis = 0, reduction = 'add'>(none, places, m)",
    "largest": """g = Sigmoid(m)
        y = ScatterElements<axis = 0, reduction = 'max'>(none, places, g)""",
    "smallest": """
        y = ScatterElements<axis = 0, reduction = 'min'>(h, places, m)""",
    "product": """k = Sigmoid(m)
        y = ScatterElements<axis = 0, reduction = 'mul'>(h, places, k)""",
    "mean": """
        ones = Shape(to)  each = ConstantOfShape<value = float[1] {1}>(ones)
        nodes = Slice(shape, first, one_more)  one_more = Identity(single_i)
        single_i = Constant<value = int64[1] {1}>()
        counts0 = ConstantOfShape(nodes)
        counts = ScatterElements<axis = 0, reduction = 'add'>(counts0, to, each)
        sums = ScatterElements<axis = 0, reduction = 'add'>(none, places, m)
        some = Max(counts, single)  column = Unsqueeze(some, last)
        y = Div(sums, column)""",
    "tuples": "y = ScatterND<reduction = 'add'>(none, rows, m)",
    "attention": """
        s0 = ReduceSum<keepdims = 1>(m, last)  s = Exp(s0)
        total0 = ReduceSum<keepdims = 1>(none, last)
        total = ScatterElements<axis = 0, reduction = 'add'>(total0, rows, s)
        ours = Gather<axis = 0>(total, to)  part = Div(s, ours)  v = Mul(m, part)
        y = ScatterElements<axis = 0, reduction = 'add'>(none, places, v)""",
}
BUCKETS = {"N": [6, 12], "E": [8, 16]}


def model_of(body, outputs="float[N, 4] y"):
    signature = SIGNATURE.format(outputs=outputs)
    body = body.replace("'", '"')
    text = f"{HEAD} graph {signature}{WEIGHTS} {{ {EDGES} {body} }}"
    return parser.parse_model(text).SerializeToString()


def graph_of(nodes, edges, seed=0):
    random = np.random.default_rng(seed)
    x = random.standard_normal((nodes, 3)).astype(np.float32)
    return {"x": x, "e": random.integers(-nodes, nodes, (2, edges))}


@pytest.mark.parametrize("order", ["NE", "EN"])
@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_of_all_sizes(name, order):
    model = model_of(GRAPHS[name])
    buckets = {size: BUCKETS[size] for size in order}
    ours = glow.compile(model, threads=1, buckets=buckets)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    sizes = ((2, 2), (5, 7), (6, 8), (7, 9), (3, 16), (12, 3), (11, 13), (1, 4))
    for seed, (nodes, edges) in enumerate(sizes):
        inputs = graph_of(nodes, edges, seed)
        (expected,) = session.run(None, inputs)
        np.testing.assert_allclose(ours.run(inputs)["y"], expected, 1e-5, 1e-5)


WORDS = {
    "elements": """
        one_row = Constant<value_ints = [1]>()  minus = Constant<value_ints = [-1]>()
        n = Shape<start = 1, end = 2>(e)  rows = Transpose<perm = [1, 0]>(e)
        table = Cast<to = 1>(e)  y = GatherElements<axis = 1>(table, e)
        t = Transpose<perm = [1, 0]>(table)  z = GatherElements<axis = 1>(t, some)
        some = Mod(rows, two)  two = Constant<value_int = 2>()""",
    "tuples": """
        table = Cast<to = 1>(e)  places = Constant<value = int64[2, 1] {-1, 1}>()
        y = GatherND<batch_dims = 1>(table, places)
        pairs = Constant<value = int64[3, 2] {0, -1, 1, 1, -1, -2}>()
        z = GatherND(table, pairs)""",
    "windows": """
        table = Cast<to = 1>(e)  ends = Constant<value_ints = [0, 1, 0, 1]>()
        padded = Pad(table, ends)
        n = Shape<start = 1, end = 2>(e)  none = Constant<value_int = 0>()
        step = Constant<value_int = 1>()  size = Squeeze(n)
        first = Range(none, size, step)  column = Constant<value = int64[3, 1] {0, 1, 2}>()
        places = Add(column, first)  y = Gather<axis = 1>(padded, places)
        some = ReduceSum<keepdims = 0>(y)  z = Identity(some)""",
    "words with a number": """
        table = Cast<to = 1>(e)  axis = Constant<value_ints = [2]>()
        rows = Unsqueeze(table, axis)  flat = Flatten<axis = 2>(rows)
        place = ArgMax<axis = 1, keepdims = 0>(e)
        n = Shape<start = 1, end = 2>(e)  count = Constant<value_ints = [0, 1]>()
        begin = Mul(count, n)  number = Add(place, begin)
        y = Gather(flat, number)  z = Identity(y)""",
    "hidden rows": """
        words = Cast<to = 1>(e)  key = Constant<value_ints = [1]>()
        query = Constant<value_ints = [2]>()  one_word = Constant<value_float = 1.0>()
        a = Unsqueeze(words, query)  b = Unsqueeze(words, key)  scores = Mul(a, b)
        seen = Greater(words, one_word)  s = Unsqueeze(seen, query)  t = Unsqueeze(seen, key)
        both = And(s, t)  low = Constant<value_float = -3e38>()
        masked = Where(both, scores, low)  y = Softmax<axis = 2>(masked)
        z = MatMul(y, a)""",
}


@pytest.mark.parametrize("name", WORDS)
def test_words_of_any_number(name):
    """Elements of words, tuples from the end, windows, numbers in all rows, hidden rows."""
    text = f"""{HEAD} graph (int64[2, L] e) => (float[A, B, C] y, float[D, E, F] z)
        {{ {WORDS[name]} }}"""
    model = parser.parse_model(text)
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    model = model.SerializeToString()
    ours = glow.compile(model, threads=1, buckets={"L": [6, 12]})
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    for seed, length in enumerate((3, 6, 7, 11, 12, 2)):
        e = np.random.default_rng(seed).integers(-length, length, (2, length))
        for found, expected in zip(ours(e), session.run(None, {"e": e}), strict=True):
            np.testing.assert_allclose(found, expected, 1e-5, 1e-5)


def test_indices_of_32_bits_and_a_single_one():
    body = "y0 = Gather<axis = 0>(h, i) y = Gather<axis = 0>(y0, last)"
    text = f"""{HEAD} graph (float[N, 3] x, int32[4] i) => (float[1, 4] y)
        {WEIGHTS} {{ h = MatMul(x, w) {body} }}"""
    model = parser.parse_model(text).SerializeToString()
    ours = glow.compile(model, threads=1, buckets={"N": [6, 12]})
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    for nodes in (3, 6, 8):
        inputs = graph_of(nodes, 2) | {"i": np.array([0, -1, 2, -nodes], np.int32)}
        del inputs["e"]
        (expected,) = session.run(None, inputs)
        np.testing.assert_allclose(ours.run(inputs)["y"], expected, 1e-5, 1e-5)


@pytest.mark.parametrize("index", [5, -6])
def test_an_index_of_padding_is_an_error(index):
    ours = glow.compile(model_of(GRAPHS["sum"]), threads=1, buckets=BUCKETS)
    for row in (0, 1):
        inputs = graph_of(5, 7)
        inputs["e"][row, 2] = index
        with pytest.raises(GlowError, match="an index is outside of its axis"):
            ours.run(inputs)


def test_updates_that_stay_have_no_mask():
    """Which one stays depends on where padding writes."""
    model = model_of("y = ScatterElements<axis = 0>(none, places, m)")
    glow.compile(model, threads=1, buckets={"N": [6]}, input_shapes={"E": 4})
    with pytest.raises(GlowError, match="writes the updates of axis 0"):
        glow.compile(model, threads=1, buckets={"E": [8]}, input_shapes={"N": 4})
