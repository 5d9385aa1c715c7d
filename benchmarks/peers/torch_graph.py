"""An ONNX image network as a PyTorch module, for `torch.compile`.

PyTorch reads no ONNX. Only what the image networks of the benchmarks hold is here.
"""

import onnx
import torch
from graph_walk import Attributes, Emit, GraphWalk
from torch.nn import functional

# pyright: basic, reportMissingImports=false


class TorchGraph(torch.nn.Module):
    """The network; weights are parameters, so that freezing may fold and pack them.

    Raises ValueError that names the operators that have no translation.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        super().__init__()
        self.walk = GraphWalk(model, EMITTERS)
        # Integers are shapes, which the compiler is to see as numbers.
        self.names: dict[str, str] = {}
        self.shapes: dict[str, list[int]] = {}
        for index, (name, value) in enumerate(self.walk.weights.items()):
            if value.dtype.kind == "i":
                self.shapes[name] = value.tolist()
            else:
                self.names[name] = f"weight_{index}"
                tensor = torch.nn.Parameter(torch.from_numpy(value), False)
                self.register_parameter(f"weight_{index}", tensor)

    def forward(self, *inputs):
        values = {name: getattr(self, own) for name, own in self.names.items()}
        values |= self.shapes | dict(zip(self.walk.inputs, inputs, strict=True))
        return self.walk.run(values)


def conv(operands: list, attributes: Attributes):
    x, weights, *bias = operands
    x, padding = _pad(x, attributes, 0.0)
    strides, dilations = (attributes.get(n, [1, 1]) for n in ("strides", "dilations"))
    groups = attributes.get("group", 1)
    return functional.conv2d(
        x, weights, *(bias or [None]), strides, padding, dilations, groups
    )


def batch_normalization(operands: list, attributes: Attributes):
    x, scale, bias, mean, variance = operands
    epsilon = attributes.get("epsilon", 1e-5)
    return functional.batch_norm(x, mean, variance, scale, bias, eps=epsilon)


def max_pool(operands: list, attributes: Attributes):
    x, padding = _pad(operands[0], attributes, float("-inf"))
    strides = attributes.get("strides", [1, 1])
    return functional.max_pool2d(x, attributes["kernel_shape"], strides, padding)


def average_pool(operands: list, attributes: Attributes):
    included = bool(attributes.get("count_include_pad"))
    pads = attributes.get("pads", [0] * 4)
    if pads[:2] != pads[2:] and not included:
        raise ValueError("no translation of AveragePool with odd padding")
    x, padding = _pad(operands[0], attributes, 0.0)
    strides = attributes.get("strides", [1, 1])
    return functional.avg_pool2d(
        x, attributes["kernel_shape"], strides, padding, count_include_pad=included
    )


def _pad(x, attributes: Attributes, value: float):
    """Returns `x` and the padding that is left to the operator, equal on both sides."""
    top, left, bottom, right = attributes.get("pads", [0] * 4)
    if (top, left) == (bottom, right):
        return x, [top, left]
    return functional.pad(x, [left, right, top, bottom], value=value), [0, 0]


def gemm(operands: list, attributes: Attributes):
    x, weights, *bias = operands
    if not attributes.get("transB"):
        weights = weights.t()
    return functional.linear(x, weights, *bias)


def clip(operands: list, attributes: Attributes):
    x, *bounds = operands
    low, high = bounds or (attributes["min"], attributes["max"])
    return torch.clamp(x, low, high)


def unsqueeze(operands: list, attributes: Attributes):
    x = operands[0]
    for axis in sorted(attributes["axes"]):
        x = x.unsqueeze(axis)
    return x


def local_response_normalization(operands: list, attributes: Attributes):
    names = ("size", "alpha", "beta", "bias")
    return functional.local_response_norm(operands[0], *map(attributes.get, names))


EMITTERS: dict[str, Emit] = {
    "AveragePool": average_pool,
    "BatchNormalization": batch_normalization,
    "Clip": clip,
    "Concat": lambda operands, attributes: torch.cat(operands, attributes["axis"]),
    "Conv": conv,
    "Flatten": lambda operands, _: torch.flatten(operands[0], 1),
    "Gemm": gemm,
    "GlobalAveragePool": lambda operands, _: operands[0].mean((2, 3), True),
    "LRN": local_response_normalization,
    "MaxPool": max_pool,
    "Relu": lambda operands, _: torch.relu(operands[0]),
    "Reshape": lambda operands, _: operands[0].reshape(operands[1]),
    "Softmax": lambda operands, attributes: torch.softmax(
        operands[0], attributes.get("axis", 1)
    ),
    "Transpose": lambda operands, attributes: operands[0].permute(attributes["perm"]),
    "Unsqueeze": unsqueeze,
}
