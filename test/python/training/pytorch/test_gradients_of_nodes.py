"""Gradients against torch.autograd: layers with state, indices and coordinates.

One program of all, on the interpreter and on the CPU.
"""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest
from support.nodes.differential import random_array

import glow
from glow.frontends.mlir import parse_text
from glow.frontends.onnx import import_model
from glow.interpreter import run
from glow.passes.graph.differentiate.differentiate import DifferentiatePass
from glow.universe import new_context

torch = pytest.importorskip("torch")

MODEL = """
<ir_version: 8, opset_import: ["" : 20]>
network (
    float[5, 2, 3] x, float[1, 16, 3] lw, float[1, 16, 4] lr, float[1, 32] lb,
    float[1, 12, 4] gw, float[1, 12, 4] gr, float[1, 24] gb,
    float[1, 2, 4] h0, float[1, 2, 4] c0,
    float[6, 4] table, int64[2, 5] ids,
    float[1, 2, 6, 6] image, float[1, 3, 4, 2] grid,
    float[5, 1, 2, 4] g0, float[2, 5, 4] g1, float[1, 2, 3, 4] g2, float[1, 2, 4, 4] g3,
    float[1, 2, 9, 8] g4, float[1, 2, 3, 4] g5, float[1, 2, 11, 6] g6, float[1, 2, 3, 3] g7
) => (float loss)
{
    empty = Constant<value: tensor = float[0] {}>()
    shape4 = Constant<value: tensor = int64[4] {1, 2, 9, 8}>()
    shape6 = Constant<value: tensor = int64[4] {1, 2, 11, 6}>()
    shape7 = Constant<value: tensor = int64[4] {1, 2, 3, 3}>()
    axis1 = Constant<value: tensor = int64[1] {1}>()
    ys, h1, c1 = LSTM<hidden_size = 4>(x, lw, lr, lb, , h0, c0)
    seq = Squeeze(ys, axis1)
    zs, z1 = GRU<hidden_size = 4, linear_before_reset = 1>(seq, gw, gr, gb, , h1)
    rows = Gather<axis = 0>(table, ids)
    sampled = GridSample<mode = "linear", padding_mode = "border">(image, grid)
    pooled = MaxPool<kernel_shape = [3, 3]>(image)
    bilinear = Resize<mode = "linear", coordinate_transformation_mode = "half_pixel">(
        image, , , shape4)
    bicubic = Resize<mode = "cubic", cubic_coeff_a = -0.75,
        coordinate_transformation_mode = "align_corners">(image, , , shape6)
    nearest = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric",
        nearest_mode = "floor">(image, , , shape7)
    cut = GridSample<mode = "linear", padding_mode = "zeros">(image, grid)
    p0 = Mul(zs, g0)
    p1 = Mul(rows, g1)
    p2 = Mul(sampled, g2)
    p3 = Mul(pooled, g3)
    p4 = Mul(bilinear, g4)
    p5 = Mul(cut, g5)
    p6 = Mul(bicubic, g6)
    p7 = Mul(nearest, g7)
    s0 = ReduceSum<keepdims = 0>(p0)
    s1 = ReduceSum<keepdims = 0>(p1)
    s2 = ReduceSum<keepdims = 0>(p2)
    s3 = ReduceSum<keepdims = 0>(p3)
    s4 = ReduceSum<keepdims = 0>(p4)
    s5 = ReduceSum<keepdims = 0>(p5)
    s6 = ReduceSum<keepdims = 0>(p6)
    s7 = ReduceSum<keepdims = 0>(p7)
    s8 = ReduceSum<keepdims = 0>(c1)
    loss = Sum(s0, s1, s2, s3, s4, s5, s6, s7, s8)
}
"""

LSTM_ORDER, GRU_ORDER = [0, 2, 3, 1], [1, 0, 2]
"""Torch's gates in those of ONNX: i f g o in i o f g, and r z n in z r n."""


def reordered(value, order):
    """A tensor whose first axis holds gates, in torch's order."""
    gates = value.reshape(len(order), -1, *value.shape[1:])
    return gates[order].reshape(value.shape)


def weights(values, prefix, order):
    """The weights of a recurrent layer as torch has them, and its two biases."""
    bias = values[prefix + "b"][0].chunk(2)
    parts = values[prefix + "w"][0], values[prefix + "r"][0], *bias
    return [reordered(part, order) for part in parts]


def torch_loss(values):
    """The loss of the model."""
    functional, image, grid = torch.nn.functional, values["image"], values["grid"]
    lstm = weights(values, "l", LSTM_ORDER)
    states = values["h0"], values["c0"]
    settings = (True, 1, 0.0, True, False, False)
    ys, h1, c1 = torch.lstm(values["x"], states, lstm, *settings)
    zs, _ = torch.gru(ys, h1, weights(values, "g", GRU_ORDER), *settings)

    def resized(size, **how):
        return functional.interpolate(image, size, **how)

    results = [
        zs[:, None],
        functional.embedding(values["ids"], values["table"]),
        functional.grid_sample(image, grid, padding_mode="border", align_corners=False),
        functional.max_pool2d(image, 3, 1),
        resized((9, 8), mode="bilinear", align_corners=False),
        functional.grid_sample(image, grid, padding_mode="zeros", align_corners=False),
        resized((11, 6), mode="bicubic", align_corners=True),
        resized((3, 3), mode="nearest"),
    ]
    terms = (result * values[f"g{k}"] for k, result in enumerate(results))
    return sum(term.sum() for term in terms) + c1.sum()


def test_gradients_are_those_of_torch():
    """Of LSTM, GRU, embedding, max pool, grid sample and resizing, by all operands."""
    model = onnx.parser.parse_model(MODEL)
    module = import_model(model)
    inputs = {
        value.name: random_array(
            [each.dim_value for each in value.type.tensor_type.shape.dim], seed=number
        )
        for number, value in enumerate(model.graph.input)
    }
    inputs["ids"] = np.array([[1, 3, 3, 0, 3], [5, 1, 3, 4, 4]])
    inputs["image"] = np.round(inputs["image"] * 2)  # with equal largest elements
    wanted = [name for name in inputs if name != "ids"]
    DifferentiatePass(wrt=tuple(wanted)).apply(new_context(), module)
    values = {name: torch.from_numpy(array) for name, array in inputs.items()}
    for name in wanted:
        values[name].requires_grad_()
    loss = torch_loss(values)
    loss.backward()
    compiled = glow.compile(module)
    for results in (run(module, [*inputs.values()]), compiled(*inputs.values())):
        found, *gradients = results
        np.testing.assert_allclose(found, loss.detach().numpy(), 1e-5)
        for name, gradient in zip(wanted, gradients, strict=True):
            expected = values[name].grad.numpy()
            allowed = 1e-5 * np.abs(expected).max()
            np.testing.assert_allclose(gradient, expected, 0, allowed, err_msg=name)


def test_attention():
    """Scaled dot-product attention with a mask, by queries, keys, values and mask."""
    shapes = [(2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 6), (4, 5), (2, 3, 4, 6)]
    arrays = [random_array(shape, seed=n) for n, shape in enumerate(shapes)]
    text = """
      func.func @main(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x5x8xf32>,
          %v: tensor<2x3x5x6xf32>, %m: tensor<4x5xf32>, %g: tensor<2x3x4x6xf32>)
          -> tensor<f32> {
        %y = glow.attention %q, %k, %v, %m scale 0.25 : tensor<2x3x4x6xf32>
        %p = glow.mul %y, %g : tensor<2x3x4x6xf32>
        %loss = glow.reduce_sum %p axes [0, 1, 2, 3] : tensor<f32>
        func.return %loss : tensor<f32>
      }
    """
    module = parse_text(new_context(), text, "attention.mlir")
    DifferentiatePass(wrt=("q", "k", "v", "m")).apply(new_context(), module)
    q, k, v, mask, gradient = map(torch.from_numpy, arrays)
    for value in (q, k, v, mask):
        value.requires_grad_()
    attend = torch.nn.functional.scaled_dot_product_attention
    attend(q, k, v, mask, scale=0.25).backward(gradient)
    _, *found = run(module, arrays)
    for ours, value in zip(found, (q, k, v, mask), strict=True):
        expected = value.grad.numpy()
        np.testing.assert_allclose(ours, expected, 0, 1e-5 * np.abs(expected).max())
