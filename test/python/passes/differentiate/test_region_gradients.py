"""Gradients against central differences: nodes that read and write at indices, and others."""

from __future__ import annotations

import numpy as np
import pytest
from support.nodes.differential import Example, random_array
from support.training.gradients import check_example, check_gradients

from glow.dialects import glow
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.passes.graph.differentiate.differentiate import DifferentiatePass
from glow.universe import new_context

RNG = np.random.default_rng(14)


def x(*shape, seed=0):
    """Random numbers."""
    return random_array(shape, np.float64, seed=seed)


def distinct(*shape):
    """Numbers that no step of a difference brings into another order."""
    return RNG.permutation(np.prod(shape)).reshape(shape) / 7.0 - 2


def indices(low, high, *shape):
    """Random indices, some of them repeated."""
    return RNG.integers(low, high, shape)


ROWS = indices(-4, 4, 6, 1)
TABLE = indices(-1, 6, 5, 3).astype(np.int32)


def layer(node, directions=1, **attributes):
    """A recurrent layer of 3 units over 4 steps of batch 2 with 5 inputs."""
    gates, count = node.GATES, directions
    inputs = [
        x(4, 2, 5),
        x(count, gates * 3, 5, seed=1),
        x(count, gates * 3, 3, seed=2),
        x(count, 2 * gates * 3, seed=3),
        *(x(count, 2, 3, seed=4 + number) for number in range(node.STATES)),
    ]
    return node, inputs, attributes


CASES = {
    "lstm": layer(glow.LstmOp),
    "lstm_both": layer(glow.LstmOp, 2, direction="bidirectional"),
    "gru": layer(glow.GruOp),
    "gru_reverse": layer(glow.GruOp, direction="reverse"),
    "gru_linear": layer(
        glow.GruOp, 2, direction="bidirectional", linear_before_reset=True
    ),
    "rnn": layer(glow.RnnOp, 2, direction="bidirectional"),
    "rnn_sigmoid": layer(glow.RnnOp, direction="reverse", activation="sigmoid"),
    "rnn_relu": layer(glow.RnnOp, activation="relu"),
    "gather": (glow.GatherOp, [x(4, 3), indices(-4, 4, 7)], {"axis": 0}),
    "gather_axis": (glow.GatherOp, [x(2, 5, 3), indices(0, 5, 4, 2)], {"axis": 1}),
    "gather_scalar": (glow.GatherOp, [x(2, 5, 3), np.array(3)], {"axis": 1}),
    "gather_elements": (
        glow.GatherElementsOp, [x(3, 4, 2), indices(-4, 4, 2, 6, 2)], {"axis": 1},
    ),
    "gather_nd": (
        glow.GatherNDOp, [x(2, 3, 4, 5), indices(0, 3, 2, 6, 2)], {"batch_dims": 1},
    ),
    "gather_nd_rows": (glow.GatherNDOp, [x(4, 5), ROWS], {}),
    "scatter": (
        glow.ScatterOp, [x(4, 3), ROWS, x(6, 3, seed=1)], {"coordinates": [-1, 1]},
    ),
    "scatter_elements": (
        glow.ScatterOp, [x(3, 4), indices(0, 4, 3, 5, 1), x(3, 5, seed=1)],
        {"coordinates": [0, -1]},
    ),
    **{
        f"scatter_{reduction}": (
            glow.ScatterOp, [x(4, 3), ROWS, x(6, 2, seed=1)],
            {"coordinates": [-1, 1], "reduction": reduction},
        )
        for reduction in ("add", "mul", "max", "min")
    },
    "top_k": (glow.TopKOp, [distinct(3, 5)], {"k": 2}),
    "top_k_smallest": (glow.TopKOp, [distinct(7)], {"k": 7, "smallest": True}),
    "lu": (glow.LuOp, [x(2, 5, 5)], {}),
    "lu_of_numbers": (glow.LuOp, [x(3, 1, 1)], {}),
    "max_pool2d": (
        glow.MaxPool2dOp, [distinct(2, 3, 7, 6)],
        {"kernel": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]},
    ),
    "max_pool2d_ceil": (
        glow.MaxPool2dOp, [distinct(1, 2, 7, 8)],
        {"kernel": [2, 2], "strides": [2, 3], "dilations": [2, 1], "ceil_mode": True},
    ),
    "sample": (glow.SampleOp, [x(2, 5, 3), TABLE, x(5, 3, seed=1)], {"axis": 1}),
    "sample_batch": (
        glow.SampleOp,
        [x(2, 3, 4, 2), indices(-1, 5, 2, 3, 5, 2), x(2, 3, 5, 2, seed=1)],
        {"axis": 2},
    ),
    "sample_largest": (
        glow.SampleOp, [x(2, 5, 3), TABLE, x(5, 3, seed=1)],
        {"axis": 1, "largest": True},
    ),
    "attention": (
        glow.AttentionOp,
        [x(2, 2, 3, 4), x(2, 2, 5, 4, seed=1), x(2, 2, 5, 6, seed=2)],
        {"scale": 0.5},
    ),
    "attention_mask": (
        glow.AttentionOp,
        [x(2, 1, 3, 4), x(1, 2, 5, 4, seed=1), x(3, 1, 1, 5, 2, seed=2),
         x(3, 5, seed=3)],
        {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_gradient_is_the_slope(name):
    """Each rule gives the slope of the function."""
    node, inputs, attributes = CASES[name]
    check_example(Example(name, node, tuple(inputs), attributes))


def test_resizing_samples_back_by_the_transposed_table():
    """A constant table makes the gradient a sample too."""
    backward = check_gradients("""
      func.func @main(%x: tensor<2x3x2xf64>) -> tensor<2x5x2xf64> {
        %p = glow.constant
          dense<[[0, 1], [-1, 0], [1, 2], [2, 3], [0, 2]]> : tensor<5x2xi64>
        %w = glow.constant
          dense<[[0.5, 0.2], [2.0, -1.0], [0.7, 0.5], [1.0, 3.0], [0.0, 1.5]]> : tensor<5x2xf64>
        %y = glow.sample %x, %p, %w axis 1 : tensor<2x5x2xf64>
        func.return %y : tensor<2x5x2xf64>
      }
    """)
    assert "glow.scatter" not in str(backward)


def test_fused_functions_stay_fused():
    """One node backwards, with the derivatives of its scalar operations."""
    backward = check_gradients("""
      func.func @main(%x: tensor<3x4xf64>, %y: tensor<4xf64>, %n: tensor<3x1xi64>)
          -> (tensor<3x4xf64>, tensor<3x4xf64>) {
        %p, %q = glow.fused %x, %y, %n {
        ^bb0(%a: f64, %b: f64, %c: i64):
          %zero = arith.constant 0.0 : f64
          %e = math.exp %b : f64
          %t = math.tanh %a : f64
          %m = math.fma %e, %t, %a : f64
          %k = arith.sitofp %c : i64 to f64
          %s = arith.mulf %m, %k : f64
          %less = arith.cmpf olt, %a, %zero : f64
          %u = arith.select %less, %s, %b : f64
          %d = arith.divf %a, %e : f64
          glow.yield %u, %d
        } : tensor<3x4xf64>, tensor<3x4xf64>
        func.return %p, %q : tensor<3x4xf64>, tensor<3x4xf64>
      }
    """)
    assert str(backward).count("glow.fused") == 2
    assert "math.tanh" in str(backward).split("glow.fused")[2]


@pytest.mark.parametrize("kind", ["sum", "max"])
def test_rows_get_what_their_bag_has(kind):
    """Empty bags have no rows; of equal rows the first counts."""
    module = parse_text(
        new_context(),
        f"""
        func.func @main(%rows: tensor<7x2xf32>, %n: tensor<6xi32>, %g: tensor<6x2xf32>)
            -> tensor<f32> {{
          %y = glow.lengths_{kind} %rows, %n : tensor<6x2xf32>
          %p = glow.mul %y, %g : tensor<6x2xf32>
          %loss = glow.reduce_sum %p axes [0, 1] : tensor<f32>
          func.return %loss : tensor<f32>
        }}
        """,
        "bags.mlir",
    )
    DifferentiatePass(wrt=("rows",)).apply(new_context(), module)
    rows = np.array([[1, 5], [1, 4], [3, 0], [2, 0], [3, 0], [0, 0], [9, 8]], "f")
    gradient = random_array((6, 2))
    _, found = run(module, [rows, np.array([2, 0, 4, 0, 1, 0], "i4"), gradient])
    bags = np.array([0, 0, 2, 2, 2, 2, 4])
    wins = np.array([[1, 1], [0, 0], [1, 1], [0, 0], [0, 0], [0, 0], [1, 1]])
    expected = gradient[bags] * (wins if kind == "max" else 1)
    np.testing.assert_array_equal(found, expected)
