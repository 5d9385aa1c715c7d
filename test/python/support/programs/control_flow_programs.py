"""Programs with branches and loops that tempt passes to move work across their borders."""

from __future__ import annotations

import numpy as np
from support.nodes.differential import Array, random_array

BRANCH = """
func.func @main(%x: tensor<1x8x6x6xf32>, %t: tensor<1xf32>)
    -> (tensor<1x6x6x16xf32>, tensor<4x6xf32>) {
  %w = glow.splat 0.05 : tensor<16x8x3x3xf32>
  %scale = glow.splat 2.0 : tensor<16xf32>
  %shift = glow.splat 0.5 : tensor<16xf32>
  %half = glow.splat 0.5 : tensor<16xf32>
  %zero = glow.splat 0.0 : tensor<1xf32>
  %less = glow.less %zero, %t : tensor<1xi1>
  %flag = glow.reshape %less : tensor<i1>
  %conv = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<1x16x6x6xf32>
  %go = tensor.extract %flag[] : tensor<i1>
  %y, %u = scf.if %go -> (tensor<1x6x6x16xf32>, tensor<4x6xf32>) {
    %norm = glow.batch_norm %conv, %scale, %shift, %half, %scale : tensor<1x16x6x6xf32>
    %r = glow.relu %norm : tensor<1x16x6x6xf32>
    %turned = glow.transpose %r permutation [0, 2, 3, 1] : tensor<1x6x6x16xf32>
    %w1 = glow.splat 0.25 : tensor<288x6xf32>
    %flat = glow.reshape %x : tensor<1x288xf32>
    %m = glow.matmul %flat, %w1 : tensor<1x6xf32>
    %b = glow.broadcast %m : tensor<4x6xf32>
    scf.yield %turned, %b : tensor<1x6x6x16xf32>, tensor<4x6xf32>
  } else {
    %again = glow.conv2d %conv, %w2 pads [1, 1, 1, 1] : tensor<1x16x6x6xf32>
    %s = glow.sigmoid %again : tensor<1x16x6x6xf32>
    %sum = glow.add %s, %conv : tensor<1x16x6x6xf32>
    %turned = glow.transpose %sum permutation [0, 2, 3, 1] : tensor<1x6x6x16xf32>
    %c = glow.splat 1.5 : tensor<4x6xf32>
    scf.yield %turned, %c : tensor<1x6x6x16xf32>, tensor<4x6xf32>
  }
  %n = glow.neg %u : tensor<4x6xf32>
  func.return %y, %n : tensor<1x6x6x16xf32>, tensor<4x6xf32>
}
""".replace(
    "  %scale =", "  %w2 = glow.splat 0.02 : tensor<16x16x3x3xf32>\n  %scale =", 1
)
"""A convolution whose normalization stands in one branch, and whose reader in the other."""

COUNTED = """
func.func @main(%x: tensor<5x4x8xf32>, %n: tensor<i64>)
    -> (tensor<5x8x4xf32>, tensor<4x8xf32>) {
  %first = arith.constant 0 : index
  %step = arith.constant 1 : index
  %count = tensor.extract %n[] : tensor<i64>
  %end = arith.index_cast %count : i64 to index
  %all = glow.splat 0.0 : tensor<5x8x4xf32>
  %w = glow.splat 0.1 : tensor<8x8xf32>
  %init = glow.splat 1.0 : tensor<4x8xf32>
  %ys, %last = scf.for %i = %first to %end step %step
      iter_args(%a = %all, %s = %init) -> (tensor<5x8x4xf32>, tensor<4x8xf32>) {
    %row = glow.dynamic_slice %x, %i : tensor<4x8xf32>
    %p = glow.matmul %s, %w : tensor<4x8xf32>
    %sum = glow.add %p, %row : tensor<4x8xf32>
    %next = glow.tanh %sum : tensor<4x8xf32>
    %t = glow.transpose %next permutation [1, 0] : tensor<8x4xf32>
    %b = glow.dynamic_update %a, %t, %i : tensor<5x8x4xf32>
    scf.yield %b, %next : tensor<5x8x4xf32>, tensor<4x8xf32>
  }
  %r = glow.relu %last : tensor<4x8xf32>
  func.return %ys, %r : tensor<5x8x4xf32>, tensor<4x8xf32>
}
"""
"""A loop whose number of iterations is data."""

WHILE = """
func.func @main(%x: tensor<3x4xf32>, %m: tensor<i64>)
    -> (tensor<4x3xf32>, tensor<3x4xf32>, tensor<i64>) {
  %zero = glow.splat 0 : tensor<i64>
  %one = glow.splat 1 : tensor<i64>
  %limit = glow.splat 4.0 : tensor<f32>
  %two = glow.splat 1.5 : tensor<3x4xf32>
  %begin = glow.transpose %x permutation [1, 0] : tensor<4x3xf32>
  %k, %p, %q = scf.while (%i = %zero, %a = %begin, %b = %x)
      : (tensor<i64>, tensor<4x3xf32>, tensor<3x4xf32>)
      -> (tensor<i64>, tensor<4x3xf32>, tensor<3x4xf32>) {
    %top = glow.reduce_max %b axes [0, 1] : tensor<f32>
    %small = glow.less %top, %limit : tensor<i1>
    %left = glow.less %i, %m : tensor<i1>
    %both = glow.and %small, %left : tensor<i1>
    %go = tensor.extract %both[] : tensor<i1>
    scf.condition(%go) %i, %a, %b : tensor<i64>, tensor<4x3xf32>, tensor<3x4xf32>
  } do {
  ^bb0(%i: tensor<i64>, %a: tensor<4x3xf32>, %b: tensor<3x4xf32>):
    %j = glow.add %i, %one : tensor<i64>
    %grown = glow.mul %b, %two : tensor<3x4xf32>
    %odd = glow.less %j, %m : tensor<i1>
    %is_odd = tensor.extract %odd[] : tensor<i1>
    %c = scf.if %is_odd -> (tensor<3x4xf32>) {
      %turned = glow.transpose %a permutation [1, 0] : tensor<3x4xf32>
      %mixed = glow.add %turned, %grown : tensor<3x4xf32>
      scf.yield %mixed : tensor<3x4xf32>
    } else {
      scf.yield %grown : tensor<3x4xf32>
    }
    %back = glow.transpose %b permutation [1, 0] : tensor<4x3xf32>
    scf.yield %j, %back, %c : tensor<i64>, tensor<4x3xf32>, tensor<3x4xf32>
  }
  func.return %p, %q, %k : tensor<4x3xf32>, tensor<3x4xf32>, tensor<i64>
}
"""
"""A loop that ends early, and a branch in it."""

PASSED_ON = """
func.func @main(%x: tensor<6xf32>, %y: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %limit = glow.splat 20.0 : tensor<f32>
  %a, %b = scf.while (%p = %x, %q = %y)
      : (tensor<6xf32>, tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
    %e = glow.add %p, %q : tensor<6xf32>
    %s = glow.reduce_sum %e axes [0] : tensor<f32>
    %less = glow.less %s, %limit : tensor<i1>
    %go = tensor.extract %less[] : tensor<i1>
    scf.condition(%go) %q, %e : tensor<6xf32>, tensor<6xf32>
  } do {
  ^bb0(%q: tensor<6xf32>, %e: tensor<6xf32>):
    %f = glow.exp %e : tensor<6xf32>
    scf.yield %e, %f : tensor<6xf32>, tensor<6xf32>
  }
  func.return %b, %a : tensor<6xf32>, tensor<6xf32>
}
"""
"""A loop whose condition passes on other values than it gets."""


KEPT = """
func.func @main(%i: tensor<2xi64>, %t: tensor<1xf32>) -> (tensor<2x8xf32>, tensor<4x8xf32>) {
  %table = glow.variable @table initial dense<0.5> : tensor<4x8xf32>
  %count = glow.variable @"calls/n" : tensor<1xi64>
  %zero = glow.splat 0.0 : tensor<1xf32>
  %less = glow.less %zero, %t : tensor<1xi1>
  %flag = glow.reshape %less : tensor<i1>
  %go = tensor.extract %flag[] : tensor<i1>
  %rows = glow.gather %table, %i axis 0 : tensor<2x8xf32>
  %mean = glow.reduce_mean %rows axes [0] : tensor<8xf32>
  %new = scf.if %go -> (tensor<4x8xf32>) {
    %0 = glow.add %table, %mean : tensor<4x8xf32>
    %1 = glow.mul %0, %table : tensor<4x8xf32>
    scf.yield %1 : tensor<4x8xf32>
  } else {
    scf.yield %table : tensor<4x8xf32>
  }
  glow.save %new, @table
  %one = glow.splat 1 : tensor<1xi64>
  %next = glow.add %count, %one : tensor<1xi64>
  glow.save %next, @"calls/n"
  %old = glow.neg %table : tensor<4x8xf32>
  func.return %rows, %old : tensor<2x8xf32>, tensor<4x8xf32>
}
"""


def programs() -> dict[str, tuple[str, list[list[Array]]]]:
    """Texts by name, each with inputs that take different ways."""
    image, rows = random_array((1, 8, 6, 6)), random_array((5, 4, 8))
    square, vector = np.abs(random_array((3, 4))), random_array((6,))
    return {
        "branch": (
            BRANCH,
            [[image, np.full(1, number, np.float32)] for number in (1, -1, np.nan)],
        ),
        "counted": (COUNTED, [[rows, np.array(number)] for number in (0, 3, 5)]),
        "while": (WHILE, [[square, np.array(number)] for number in (-1, 0, 1, 9)]),
        "kept": (
            KEPT,
            [[np.array([0, 3]), np.full(1, n, np.float32)] for n in (1, -1)],
        ),
        "passed_on": (PASSED_ON, [[vector, vector / 2], [vector + 9, vector]]),
    }
