"""Gradients of branches and loops against central differences, and on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from support.nodes.differential import assert_close, random_array
from support.training.gradients import check_gradients

import glow
from glow.dialects.errors import GlowError
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.passes.graph.differentiate.differentiate import DifferentiatePass
from glow.universe import new_context

COUNTED = """
func.func @main(%x: tensor<5x2x3xf64>, %w: tensor<3x3xf64>, %h: tensor<2x3xf64>{more})
    -> (tensor<5x2x3xf64>, tensor<2x3xf64>) {{
  {bounds}
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %all = glow.splat 0.0 : tensor<5x2x3xf64>
  %ys, %last = scf.for %i = {first} to %end step {step}
      iter_args(%a = %all, %s = %h) -> (tensor<5x2x3xf64>, tensor<2x3xf64>) {{
    %row = glow.dynamic_slice %x, %i : tensor<2x3xf64>
    %p = glow.matmul %s, %w : tensor<2x3xf64>
    %sum = glow.add %p, %row : tensor<2x3xf64>
    %next = glow.mul %sum, %sum : tensor<2x3xf64>
    %b = glow.dynamic_update %a, %next, %i : tensor<5x2x3xf64>
    scf.yield %b, %next : tensor<5x2x3xf64>, tensor<2x3xf64>
  }}
  func.return %ys, %last : tensor<5x2x3xf64>, tensor<2x3xf64>
}}
"""

KNOWN = COUNTED.format(
    more="",
    bounds="%end = arith.constant 5 : index",
    first="%first",
    step="%step",
)
EVERY_OTHER = COUNTED.format(
    more="",
    bounds="""%end = arith.constant 5 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index""",
    first="%one",
    step="%two",
)
BY_DATA = COUNTED.format(
    more=", %n: tensor<i64>",
    bounds="""%count = tensor.extract %n[] : tensor<i64>
  %end = arith.index_cast %count : i64 to index""",
    first="%first",
    step="%step",
)

UNBOUNDED = """
func.func @main(%x: tensor<2x3xf64>, %w: tensor<3x3xf64>, %n: tensor<i64>)
    -> tensor<2x3xf64> {
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %count = tensor.extract %n[] : tensor<i64>
  %end = arith.index_cast %count : i64 to index
  %y = scf.for %i = %first to %end step %step iter_args(%s = %x) -> (tensor<2x3xf64>) {
    %p = glow.matmul %s, %w : tensor<2x3xf64>
    %next = glow.mul %p, %x : tensor<2x3xf64>
    scf.yield %next : tensor<2x3xf64>
  }
  func.return %y : tensor<2x3xf64>
}
"""

BRANCH = """
func.func @main(%x: tensor<2x3xf64>, %w: tensor<3x3xf64>, %c: tensor<i1>)
    -> (tensor<2x3xf64>, tensor<3xf64>) {
  %u = glow.mul %x, %x : tensor<2x3xf64>
  %go = tensor.extract %c[] : tensor<i1>
  %y, %z = scf.if %go -> (tensor<2x3xf64>, tensor<3xf64>) {
    %p = glow.matmul %u, %w : tensor<2x3xf64>
    %s = glow.reduce_sum %x axes [0] : tensor<3xf64>
    scf.yield %p, %s : tensor<2x3xf64>, tensor<3xf64>
  } else {
    %q = glow.add %u, %x : tensor<2x3xf64>
    %s = glow.reduce_sum %w axes [1] : tensor<3xf64>
    scf.yield %q, %s : tensor<2x3xf64>, tensor<3xf64>
  }
  func.return %y, %z : tensor<2x3xf64>, tensor<3xf64>
}
"""

WHILE = """
func.func @main(%x: tensor<2x3xf64>, %w: tensor<3x3xf64>, %m: tensor<i64>)
    -> (tensor<2x3xf64>, tensor<2x3xf64>) {
  %zero = glow.splat 0 : tensor<i64>
  %one = glow.splat 1 : tensor<i64>
  %k, %p, %q = scf.while (%i = %zero, %a = %x, %b = %x)
      : (tensor<i64>, tensor<2x3xf64>, tensor<2x3xf64>)
      -> (tensor<i64>, tensor<2x3xf64>, tensor<2x3xf64>) {
    %left = glow.less %i, %m : tensor<i1>
    %e = glow.mul %a, %b : tensor<2x3xf64>
    %go = tensor.extract %left[] : tensor<i1>
    scf.condition(%go) %i, %e, %a : tensor<i64>, tensor<2x3xf64>, tensor<2x3xf64>
  } do {
  ^bb0(%i: tensor<i64>, %e: tensor<2x3xf64>, %a: tensor<2x3xf64>):
    %j = glow.add %i, %one : tensor<i64>
    %f = glow.matmul %e, %w : tensor<2x3xf64>
    %odd = glow.equal %i, %one : tensor<i1>
    %is_odd = tensor.extract %odd[] : tensor<i1>
    %c = scf.if %is_odd -> (tensor<2x3xf64>) {
      %mixed = glow.mul %a, %f : tensor<2x3xf64>
      scf.yield %mixed : tensor<2x3xf64>
    } else {
      scf.yield %f : tensor<2x3xf64>
    }
    %g = glow.add %c, %x : tensor<2x3xf64>
    scf.yield %j, %g, %a : tensor<i64>, tensor<2x3xf64>, tensor<2x3xf64>
  }
  func.return %p, %q : tensor<2x3xf64>, tensor<2x3xf64>
}
"""

ROWS = [random_array((5, 2, 3), np.float64) / 2, random_array((3, 3), np.float64) / 2]
STATE = random_array((2, 3), np.float64, seed=3) / 2
MATRIX = random_array((3, 3), np.float64, seed=4)

CASES = {
    "counted": (KNOWN, [*ROWS, STATE], [()]),
    "every_other": (EVERY_OTHER, [*ROWS, STATE], [()]),
    "by_data": (BY_DATA, [*ROWS, STATE], [(np.array(n),) for n in (0, 1, 4)]),
    "unbounded": (UNBOUNDED, [STATE, MATRIX], [(np.array(n),) for n in (0, 3)]),
    "branch": (BRANCH, [STATE, MATRIX], [(np.array(c),) for c in (True, False)]),
    "while": (WHILE, [STATE, MATRIX], [(np.array(n),) for n in (0, 1, 3)]),
}


@pytest.mark.parametrize("name", CASES)
def test_gradient_is_the_slope(name):
    """Whatever way is taken, on the interpreter and on the CPU."""
    text, inputs, ways = CASES[name]
    for way in ways:
        backward = check_gradients(text, [*inputs, *way])
    wide = [*inputs, *ways[-1]]
    narrow = [
        array.astype(np.float32) if array.dtype == np.float64 else array
        for array in wide
    ]
    compiled = glow.compile(
        parse_text(new_context(), str(backward).replace("f64", "f32"), "cpu.mlir")
    )
    expected = run(backward, wide)
    for found, gradient in zip(compiled(*narrow), expected, strict=True):
        assert_close(found, gradient.astype(np.float32), 1e-5)


def test_second_derivative_of_a_loop():
    """The backward loop has a gradient."""
    module = parse_text(new_context(), KNOWN, "loop.mlir")
    backward = check_gradients(module, [*ROWS, STATE])
    text = str(backward)
    start, end = text.index("func.return"), text.rindex("\n  }")
    last = text[start:end]
    assert "%w.grad" in last
    text = text[:start] + "func.return %w.grad : tensor<3x3xf64>" + text[end:]
    signature = text[text.index("->") : text.index("{\n    ")]
    text = text.replace(signature, "-> tensor<3x3xf64> ", 1)
    check_gradients(text.replace("%loss", "%first_loss"), [*ROWS, STATE])


def test_a_loop_that_cannot_go_back_says_so():
    """Steps of another size, to an end that is data."""
    text = BY_DATA.replace("arith.constant 1 : index", "arith.constant 2 : index")
    module = parse_text(new_context(), text, "loop.mlir")
    function = module.body.block.first_op
    function.body.block.last_op.operands = function.body.block.last_op.operands[1:]
    with pytest.raises(GlowError, match="only if it counts in steps of 1"):
        check_gradients(text, [*ROWS, STATE, np.array(4)])
    assert DifferentiatePass.name == "differentiate"
