"""Buckets of networks that mirror their edges, and of those that compute with a size."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

from glow import compiler
from glow.dialects.errors import GlowError

HEAD = '<ir_version: 9, opset_import: ["" : 18]>'

WEIGHTS = """
    <float[2, 1, 3, 3] w = {0.5, -1, 2, 1, 0.25, -0.5, 1, 3, -2, 1, 0, 1, -1, 2, 0.5, 1, 1, -1},
     int64[8] by_one = {0, 0, 1, 1, 0, 0, 1, 1}, int64[8] by_two = {0, 0, 0, 2, 0, 0, 0, 1},
     int64[8] down = {0, 0, 2, 0, 0, 0, 1, 0}, int64[2] plane = {2, 3}, int64[1] columns = {3},
     int64 three = {3}, float one = {1}>
"""

PLANE = "(float[1, 1, M, N] x) => (float[1, 2, P, Q] y)"
LINE = "(float[1, 1, 4, N] x) => (float[1, 1, 4, P] y)"

SIZE = """
    shape = Shape(x)  n = Gather(shape, three)  count = Cast<to = 1>(n)
    less = Sub(count, one)
"""

MIRRORED = {
    "convolutions": (
        PLANE,
        'p = Pad<mode = "reflect">(x, by_one)  c = Conv(p, w)  y = Relu(c)',
    ),
    "what is mirrored twice": (
        PLANE,
        'p = Pad<mode = "reflect">(x, by_one)  e = Exp(p)'
        '  q = Pad<mode = "reflect">(e, by_two)  d = Conv<strides = [1, 2]>(q, w)'
        "  m = ReduceMean(d, plane)  y = Sub(d, m)",
    ),
    "other edges": (
        PLANE,
        'p = Pad<mode = "reflect">(x, down)  y = Conv<pads = [1, 1, 1, 1]>(p, w)',
    ),
}

COUNTED = {
    "a variance of a sample": (
        LINE,
        SIZE + "m = ReduceMean(x, columns)  d = Sub(x, m)  s = Mul(d, d)"
        "  v = ReduceMean(s, columns)  r = Div(count, less)  u = Mul(v, r)  y = Add(x, u)",
    ),
    "a sum by how many others there are": (
        LINE,
        SIZE + "s = ReduceSum(x, columns)  m = Div(s, less)  y = Sub(x, m)",
    ),
    "times a part": (LINE, SIZE + "r = Reciprocal(count)  y = Mul(x, r)"),
    "by a root": (LINE, SIZE + "r = Sqrt(count)  y = Div(x, r)"),
}


def compiled(network, **options):
    signature, body = network
    model = parser.parse_model(f"{HEAD} test {signature} {WEIGHTS} {{ {body} }}")
    return compiler.compile(model, **options)


def check(model, free, sizes):
    random = np.random.default_rng(1)
    (info,) = model.inputs
    for rows, columns in sizes:
        shape = [{"M": rows, "N": columns}.get(size, size) for size in info.shape]
        x = random.standard_normal(shape).astype(np.float32)
        np.testing.assert_allclose(model(x), free(x), rtol=3e-6, atol=3e-6)


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("name", MIRRORED)
def test_edges_are_those_of_what_is_kept(name: str, backend: str) -> None:
    buckets = {"M": [10], "N": [12]}
    model = compiled(MIRRORED[name], backend=backend, buckets=buckets)
    free = compiled(MIRRORED[name], backend="interpreter")
    sizes = ((10, 12), (9, 12), (10, 7), (5, 6), (6, 11), (8, 5))
    check(model, free, sizes)
    assert len(model.programs()) == 1


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("name", COUNTED)
def test_counts_are_those_of_what_is_kept(name: str, backend: str) -> None:
    model = compiled(COUNTED[name], backend=backend, buckets={"N": [9, 12]})
    free = compiled(COUNTED[name], backend="interpreter")
    check(model, free, [(4, columns) for columns in (12, 11, 10, 9, 8, 5, 4)])
    assert len(model.programs()) == 2


def test_a_number_that_is_no_size_is_refused() -> None:
    network = LINE, SIZE + "square = Mul(count, count)  y = Div(x, square)"
    with pytest.raises(GlowError, match=r"glow\.splat has other contents"):
        compiled(network, buckets={"N": [9, 12]})


def test_more_than_half_of_a_bucket_may_be_needed() -> None:
    """A window as large as two thirds of the bucket."""
    body = "y = MaxPool<kernel_shape = [4, 8]>(x)"
    network = "(float[1, 1, 4, N] x) => (float[1, 1, 1, P] y)", body
    model = compiled(network, backend="interpreter", buckets={"N": [12]})
    free = compiled(network, backend="interpreter")
    check(model, free, [(4, columns) for columns in (12, 11, 10, 9, 8)])
    assert len(model.programs()) == 1
