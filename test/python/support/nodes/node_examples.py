"""Examples of every node: the one list that executors are compared on.

The interpreter is tested on it against ONNX's reference implementation, and each backend
against the interpreter. Here stand normalizations, fake quantization, reductions, movement,
recurrence, and what is given as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from ml_dtypes import bfloat16
from support.nodes.differential import (
    EDGES,
    Array,
    Example,
    example,
    random_array,
    rows_with_nan,
)
from support.nodes.elementwise_examples import elementwise_examples
from support.nodes.indexing_examples import indexing_examples
from support.nodes.node_aspects import check_aspects
from support.nodes.product_examples import product_examples
from support.training.training_examples import training_examples

from glow.dialects import glow
from glow.dialects.node import NodeOp


def _normalization_examples() -> Iterator[Example]:
    for shape in ((1, 1, 1, 1), (2, 16, 5, 3), (3, 7)):
        channels = shape[1:2]
        scale, bias, mean = (random_array(channels, seed=seed) for seed in (1, 2, 3))
        variance = np.abs(random_array(channels, seed=4))
        for settings in ({}, {"epsilon": 0.01}):
            operands = random_array(shape), scale, bias, mean, variance
            yield example(glow.BatchNormOp, *operands, **settings)
    for shape, axis in (((2, 5, 16), 2), ((3, 7, 5), 1), ((1, 1), 1), ((4, 33), 0)):
        scale, bias = (random_array(shape[axis:], seed=seed) for seed in (1, 2))
        yield example(glow.LayerNormOp, random_array(shape), scale, axis=axis)
        operands = random_array(shape), scale, bias
        yield example(glow.LayerNormOp, *operands, axis=axis, epsilon=0.001)
    for size in (1, 3, 4, 5):
        settings = {"size": size, "alpha": 0.5, "beta": 0.6, "offset": 2.0}
        yield example(glow.LocalResponseNormOp, random_array((1, 7, 3, 2)), **settings)


def _fake_quantization_examples() -> Iterator[Example]:
    steps = np.arange(-9, 10, dtype=np.float32) / np.float32(4)
    tensor, byte = np.array(0.1, np.float32), {"low": 0, "high": 255}
    for shape, point in (((2, 3, 5), ()), ((2, 3, 5), (128.0,)), ((3, 7), (3.4,))):
        zero = [np.array(number, np.float32) for number in point]
        yield example(glow.FakeQuantizeOp, random_array(shape), tensor, *zero, **byte)
    for numbers in (steps, EDGES[EDGES == EDGES]):
        half = np.array(0.5, np.float32)
        yield example(glow.FakeQuantizeOp, numbers, half, low=-127, high=127)
    for axis, dtype in ((0, np.float32), (1, np.float32), (1, np.float64)):
        x = random_array((3, 5, 2, 2), dtype)
        parameters = np.array([[0.01, 0.5, 0.03, 0.1, 2.0], [1, 0, -3, 128, 2]], dtype)
        each = parameters[:, : x.shape[axis]]
        yield example(glow.FakeQuantizeOp, x, *each, axis=axis, low=-8, high=7)
        yield example(glow.FakeQuantizeOp, x, each[0], axis=axis, low=-8, high=7)


def _reduction_examples() -> Iterator[Example]:
    for node in (glow.SoftmaxOp, glow.LogSoftmaxOp):
        for shape, axis in (((1,), 0), ((3, 5), 1), ((2, 33, 4), 1), ((4, 7), 0)):
            yield example(node, random_array(shape), axis=axis)
        yield example(node, random_array((2, 1000)) * np.float32(100), axis=1)
    reductions = (
        glow.ReduceSumOp, glow.ReduceMeanOp, glow.ReduceMaxOp, glow.ReduceMinOp,
        glow.ReduceProdOp,
    )  # fmt: skip
    cases = (((1,), [0]), ((3, 5), [1]), ((3, 5), [0]), ((2, 9, 7, 4), [2, 3]),
             ((2, 3, 4), [0, 2]), ((2, 3), []), ((2, 3), [0, 1]))  # fmt: skip
    for node in reductions:
        for shape, axes in cases:
            yield example(node, random_array(shape), axes=axes)
            yield example(node, random_array(shape), axes=axes, keepdims=True)
        yield example(node, random_array((3, 5), np.int32), axes=[1])
        yield example(node, EDGES.reshape(-1, 1), axes=[1])
    for node in (glow.ArgMaxOp, glow.ArgMinOp):
        for shape, axis in (((1,), 0), ((3, 5), 1), ((2, 17, 3), 1)):
            yield example(node, random_array(shape), axis=axis)
            ties = random_array(shape, np.int32) // 5
            yield example(node, ties, axis=axis, select_last=True, keepdims=True)
            yield example(node, ties, axis=axis)
        for dtype in (np.float32, np.float16, bfloat16, np.float64):
            numbers = rows_with_nan(17).astype(dtype)
            yield example(node, numbers, axis=1)
            yield example(node, numbers.T.copy(), axis=0, select_last=True)
        yield example(node, rows_with_nan(17), axis=1, select_last=True)
        yield example(node, rows_with_nan(1), axis=1)


def _movement_examples() -> Iterator[Example]:
    x = random_array((2, 3, 4))
    for shape in ((24,), (4, 6), (1, 2, 3, 4)):
        yield example(glow.ReshapeOp, x, result=(shape, np.float32))
    for permutation in ([0, 1, 2], [2, 0, 1], [0, 2, 1]):
        yield example(glow.TransposeOp, x, permutation=permutation)
    yield example(
        glow.TransposeOp, random_array((2, 33, 5, 7)), permutation=[0, 2, 3, 1]
    )
    yield example(glow.TransposeOp, random_array((33, 17), np.int8), permutation=[1, 0])
    for axis, sizes in ((0, (2, 1, 5)), (1, (3,)), (2, (4, 0, 4))):
        shapes = [[*x.shape[:axis], size, *x.shape[axis + 1 :]] for size in sizes]
        parts = [random_array(shape, seed=seed) for seed, shape in enumerate(shapes)]
        yield example(glow.ConcatOp, *parts, axis=axis)
    for starts, sizes, steps in (
        ([0, 0, 0], [2, 3, 4], [1, 1, 1]), ([1, 0, 3], [1, 2, 4], [1, 2, -1]),
        ([1, 2, 1], [2, 3, 2], [-1, -1, 2]), ([0, 0, 0], [2, 0, 4], [1, 1, 1]),
    ):  # fmt: skip
        yield example(glow.SliceOp, x, starts=starts, sizes=sizes, steps=steps)
    for rows in (1, 5):
        table, row = random_array((rows, 3, 4)), random_array((3, 4), seed=1)
        position = np.array(rows - 1, np.int64)
        yield example(glow.DynamicSliceOp, table, position)
        yield example(glow.DynamicUpdateOp, table, row, position)
    for mode in ("constant", "edge", "reflect", "wrap"):
        yield example(glow.PadOp, x, pads=[0, 1, 2, 0, 2, 1], mode=mode)
    yield example(glow.PadOp, x, pads=[0, -1, 2, 1, 0, -2], value=-1.5)
    for source, target in (
        ((3, 1), (3, 4)),
        ((4,), (2, 3, 4)),
        ((), (2,)),
        ((1, 5), (0, 5)),
    ):
        yield example(
            glow.BroadcastOp, random_array(source), result=(target, np.float32)
        )
    for repeats in ([1, 1, 1], [2, 1, 3], [0, 1, 1]):
        yield example(glow.TileOp, x, repeats=repeats)
    yield from _gather_examples(x)
    yield from _sample_examples()
    yield from _bag_examples()


def _bag_examples() -> Iterator[Example]:
    for op_class in (glow.LengthsSumOp, glow.LengthsMaxOp):
        for lengths in ([2, 0, 3], [5], [0, 0, 5, 0]):
            for inner in ((), (1,), (37,), (2, 3)):
                rows = random_array((5, *inner))
                yield example(op_class, rows, np.array(lengths, np.int64))
        empty = np.array([0, 0], np.uint8)
        yield example(op_class, random_array((0, 4)), empty)


def _gather_examples(x: Array) -> Iterator[Example]:
    for axis, shape in ((0, (5,)), (1, (2, 2)), (2, ()), (1, (0,))):
        indices = random_array(shape, np.int64) % x.shape[axis]
        yield example(glow.GatherOp, x, indices, axis=axis)
    negative = np.array([-1, 0, -2], np.int32)
    yield example(glow.GatherOp, x, negative, axis=1)
    for axis, shape in ((0, (5, 3, 4)), (1, (2, 7, 4)), (2, (2, 3, 9)), (1, (2, 0, 4))):
        size = x.shape[axis]
        indices = random_array(shape, np.int64) % (2 * size) - size
        yield example(glow.GatherElementsOp, x, indices, axis=axis)
    yield example(glow.GatherElementsOp, random_array((3,)), negative)


def _sample_examples() -> Iterator[Example]:
    for shape, axis, table in (
        ((2, 5, 18), 1, (7, 3)),
        ((2, 5, 18), 2, (4, 1)),
        ((70, 6), 1, (5, 2)),
        ((3, 4, 5), 0, (1, 11)),
        ((2, 3, 5, 1), 2, (2, 3, 4, 2)),
        ((3, 6, 19), 1, (3, 2, 9)),
        ((2, 0, 3), 1, (4, 2)),
        ((2, 3), 1, (0, 2)),
    ):
        places = random_array(table, np.int64) % (shape[axis] + 2) - 1
        weights = random_array(table, seed=1)
        for settings in ({}, {"largest": True}):
            operands = random_array(shape), places, weights
            yield example(glow.SampleOp, *operands, axis=axis, **settings)
    narrow = random_array((3, 4), np.float16), places[:0].astype(np.int32)
    yield example(glow.SampleOp, *narrow, weights[:0], axis=1)
    places = np.array([[0, 1], [-1, 5]], np.int32)
    wide = random_array((5, 3), np.float64), places, np.ones((2, 2))
    yield example(glow.SampleOp, *wide, axis=0)


def _recurrent_examples() -> Iterator[Example]:
    layers: tuple[tuple[type[glow.RecurrentOp], dict[str, Any]], ...] = (
        (glow.LstmOp, {}),
        (glow.GruOp, {}),
        (glow.GruOp, {"linear_before_reset": True}),
        (glow.RnnOp, {}),
        (glow.RnnOp, {"activation": "relu"}),
        (glow.RnnOp, {"activation": "sigmoid"}),
    )
    directions = (("forward", 1), ("reverse", 1), ("bidirectional", 2))
    sizes = ((1, 1, 1, 1), (5, 2, 3, 4))
    for (layer, attributes), (direction, count), (
        steps,
        batch,
        size,
        hidden,
    ) in product(layers, directions, sizes):
        shapes = (
            (steps, batch, size), (count, layer.GATES * hidden, size),
            (count, layer.GATES * hidden, hidden), (count, 2 * layer.GATES * hidden),
            *[(count, batch, hidden)] * layer.STATES,
        )  # fmt: skip
        operands = [random_array(shape, seed=n) for n, shape in enumerate(shapes)]
        yield example(layer, *operands, direction=direction, **attributes)


FUSED = """
func.func @main(%x: tensor<3x5xf32>, %y: tensor<5xf32>) -> (tensor<3x5xf32>) {
  %0 = glow.fused %x, %y {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    %zero = arith.constant 0.0 : f32
    %max = arith.maximumf %sum, %zero : f32
    %power = math.exp %a : f32
    %greater = arith.cmpf ogt, %a, %b : f32
    %result = arith.select %greater, %power, %max : f32
    glow.yield %result
  } : tensor<3x5xf32>
  func.return %0 : tensor<3x5xf32>
}
"""
CONSTANTS = """
func.func @main(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %0 = glow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %1 = glow.splat -2.5 : tensor<2x2xf32>
  %2 = glow.add %x, %0 : tensor<2x2xf32>
  %3 = glow.mul %x, %1 : tensor<2x2xf32>
  func.return %2, %3 : tensor<2x2xf32>, tensor<2x2xf32>
}
"""
LOOP = """
func.func @main(%x: tensor<4x3xf32>, %out: tensor<4x3xf32>, %h: tensor<3xf32>)
    -> (tensor<4x3xf32>, tensor<3xf32>) {
  %first = arith.constant 0 : index
  %last = arith.constant 3 : index
  %end = arith.constant 4 : index
  %step = arith.constant 1 : index
  %states, %state = scf.for %i = %first to %end step %step
      iter_args(%all = %out, %s = %h) -> (tensor<4x3xf32>, tensor<3xf32>) {
    %reverse = arith.subi %last, %i : index
    %row = glow.dynamic_slice %x, %reverse : tensor<3xf32>
    %sum = glow.add %row, %s : tensor<3xf32>
    %next = glow.tanh %sum : tensor<3xf32>
    %updated = glow.dynamic_update %all, %next, %i : tensor<4x3xf32>
    scf.yield %updated, %next : tensor<4x3xf32>, tensor<3xf32>
  }
  func.return %states, %state : tensor<4x3xf32>, tensor<3xf32>
}
"""


def _text_examples() -> Iterator[Example]:
    texts: tuple[tuple[str, type[NodeOp], str, Sequence[Sequence[int]]], ...] = (
        ("fused", glow.FusedOp, FUSED, [(3, 5), (5,)]),
        ("constant", glow.ConstantOp, CONSTANTS, [(2, 2)]),
        ("splat", glow.SplatOp, CONSTANTS, [(2, 2)]),
        ("loop", glow.DynamicUpdateOp, LOOP, [(4, 3), (4, 3), (3,)]),
    )
    for name, node, text, shapes in texts:
        inputs = tuple(random_array(shape, seed=n) for n, shape in enumerate(shapes))
        yield Example(name, node, inputs, {}, text=text)


def nodes_under_test() -> list[Example]:
    """Examples of every node class, edge shapes and values included."""
    examples = [
        *elementwise_examples(),
        *product_examples(),
        *_normalization_examples(),
        *_fake_quantization_examples(),
        *_reduction_examples(),
        *_movement_examples(),
        *indexing_examples(),
        *_recurrent_examples(),
        *_text_examples(),
        *training_examples(),
    ]
    check_aspects({example.node for example in examples})
    return examples
