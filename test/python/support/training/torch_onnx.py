"""ONNX models on PyTorch, node by node: values and gradients to compare with."""

from __future__ import annotations

import onnx
import torch
from onnx import helper, numpy_helper
from torch.nn import functional as F

DTYPE = torch.float32
"""Of the floats that a model has as constants."""


def constant(tensor):
    """A stored tensor."""
    value = torch.from_numpy(numpy_helper.to_array(tensor).copy())
    return value.to(DTYPE) if value.is_floating_point() else value


def window(a):
    pads = a.get("pads", [0, 0, 0, 0])
    assert pads[:2] == pads[2:]
    return {"stride": a.get("strides", 1), "padding": tuple(pads[:2])}


def batch_norm(x, scale, bias, mean, variance, **a):
    """By the statistics of the batch, as in training."""
    statistics = mean.detach().clone(), variance.detach().clone()
    return F.batch_norm(x, *statistics, scale, bias, True, 0.1, a.get("epsilon", 1e-5))


def gemm(x, weight, bias, **a):
    return x @ (weight.T if a.get("transB") else weight) + bias


def lstm(x, w, r, b, *_, **a):
    """Layer-recurrent state over time; gates are in the order i, o, f, c."""
    h = c = x.new_zeros(x.shape[1], a["hidden_size"])
    results = []
    for step in x:
        gates = step @ w[0].T + h @ r[0].T + b[0].view(2, -1).sum(0)
        i, o, f, g = gates.chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        results.append(h)
    return torch.stack(results)[:, None], h[None], c[None]


def gru(x, w, r, b, *_, **a):
    """Gates are in the order z, r, h; `linear_before_reset` is PyTorch's form."""
    h = x.new_zeros(x.shape[1], a["hidden_size"])
    results = []
    bw, br = b[0].view(2, -1)
    assert a["linear_before_reset"] == 1
    for step in x:
        zi, ri, hi = (step @ w[0].T + bw).chunk(3, 1)
        zh, rh, hh = (h @ r[0].T + br).chunk(3, 1)
        z, reset = (zi + zh).sigmoid(), (ri + rh).sigmoid()
        h = (1 - z) * (hi + reset * hh).tanh() + z * h
        results.append(h)
    return torch.stack(results)[:, None], h[None]


def layer_norm(x, scale, bias, **a):
    return F.layer_norm(x, x.shape[-1:], scale, bias, a.get("epsilon", 1e-5))


OPERATORS = {
    "Add": lambda x, y: x + y,
    "BatchNormalization": batch_norm,
    "Clip": lambda x, low, high: x.clamp(low, high),
    "Constant": lambda *, value: constant(value),
    "Conv": lambda x, w, *b, group=1, **a: F.conv2d(
        x, w, *b, **window(a), groups=group
    ),
    "Erf": torch.erf,
    "Flatten": lambda x, axis=1: x.flatten(axis),
    "GRU": gru,
    "Gather": lambda x, i, axis=0: F.embedding(i, x),
    "Gemm": gemm,
    "GlobalAveragePool": lambda x: x.mean((2, 3), keepdim=True),
    "Identity": lambda x: x,
    "LSTM": lstm,
    "LayerNormalization": layer_norm,
    "MatMul": lambda x, y: x @ y,
    "MaxPool": lambda x, kernel_shape, **a: F.max_pool2d(x, kernel_shape, **window(a)),
    "Mul": lambda x, y: x * y,
    "Relu": torch.relu,
    "Reshape": lambda x, shape: x.reshape(
        [x.shape[k] if size == 0 else size for k, size in enumerate(shape.tolist())]
    ),
    "Softmax": lambda x, axis=-1: x.softmax(axis),
    "Split": lambda x, sizes, axis: x.split(sizes.tolist(), axis),
    "Squeeze": lambda x, axes: x.squeeze(axes.tolist()),
    "Transpose": lambda x, perm: x.permute(perm),
}


def run(model: onnx.ModelProto, inputs, parameters):
    """The first output; parameters are tensors by their names in the model."""
    values = dict(parameters)
    for tensor in model.graph.initializer:
        if tensor.name not in values:
            values[tensor.name] = constant(tensor)
    values |= inputs
    for node in model.graph.node:
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        operands = [values.get(name) for name in node.input]
        results = OPERATORS[node.op_type](*operands, **attributes)
        results = results if isinstance(results, tuple) else (results,)
        values |= dict(zip(node.output, results, strict=False))
    return values[model.graph.output[0].name]


def parameters_of(model: onnx.ModelProto, dtype=torch.float64):
    """The floats with an axis that a model stores, as leaves."""
    return {
        tensor.name: torch.tensor(
            numpy_helper.to_array(tensor), dtype=dtype, requires_grad=True
        )
        for tensor in model.graph.initializer
        if tensor.data_type == onnx.TensorProto.FLOAT and tensor.dims
    }
