"""Layers of small networks in plain NumPy: forward, backward, and their ONNX nodes.

Values are `[N, C, H, W]`, 32-bit floats. `forward` keeps what `backward` needs; `backward`
takes the gradient of the loss by the result, stores it by the parameters and returns it by
the operand.
"""

from typing import Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from benchmarks.networks.builder import GraphBuilder

Array = NDArray[np.floating]


class Parameter:
    """A trained array, its gradient and its Adam moments."""

    def __init__(self, value: Array) -> None:
        self.value: Array = value.astype(np.float32)
        self.gradient: Array = np.zeros_like(self.value)
        self.mean: Array = np.zeros_like(self.value)
        self.square: Array = np.zeros_like(self.value)


class Layer(Protocol):
    """What a network is made of."""

    def forward(self, x: Array, *, training: bool) -> Array: ...

    def backward(self, gradient: Array) -> Array: ...

    def parameters(self) -> list[Parameter]: ...

    def export(self, graph: GraphBuilder, name: str, value: str) -> str:
        """Append the layer's nodes to `graph`; returns the result's name."""
        ...


class Convolution:
    """A convolution without bias: a matrix product over the windows (im2col)."""

    def __init__(
        self,
        rng: np.random.Generator,
        inputs: int,
        outputs: int,
        kernel: int,
        stride: int,
    ) -> None:
        shape = outputs, inputs, kernel, kernel
        he = (2 / (inputs * kernel * kernel)) ** 0.5
        self.weight = Parameter(rng.standard_normal(shape) * he)
        self.kernel, self.stride, self.pad = kernel, stride, kernel // 2

    def forward(self, x: Array, *, training: bool) -> Array:
        edges = (self.pad, self.pad)
        padded = np.pad(x, ((0, 0), (0, 0), edges, edges))
        self.padded_shape = padded.shape
        windows = sliding_window_view(padded, (self.kernel, self.kernel), (2, 3))
        self.windows = windows[:, :, :: self.stride, :: self.stride]
        product = np.tensordot(self.windows, self.weight.value, ([1, 4, 5], [1, 2, 3]))
        return product.transpose(0, 3, 1, 2)

    def backward(self, gradient: Array) -> Array:
        self.weight.gradient = np.tensordot(
            gradient, self.windows, ([0, 2, 3], [0, 2, 3])
        )
        by_window = np.tensordot(gradient, self.weight.value, (1, 0))
        result = np.zeros(self.padded_shape, np.float32)
        height, width = (size * self.stride for size in gradient.shape[2:])
        for row in range(self.kernel):
            for column in range(self.kernel):
                rows = slice(row, row + height, self.stride)
                columns = slice(column, column + width, self.stride)
                part = by_window[..., row, column].transpose(0, 3, 1, 2)
                result[:, :, rows, columns] += part
        inside = slice(self.pad, -self.pad or None)
        return result[:, :, inside, inside]

    def parameters(self) -> list[Parameter]:
        return [self.weight]

    def export(self, graph: GraphBuilder, name: str, value: str) -> str:
        weight = graph.stored(f"{name}.weight", self.weight.value)
        return graph.node(
            "Conv",
            name,
            value,
            weight,
            kernel_shape=[self.kernel] * 2,
            pads=[self.pad] * 4,
            strides=[self.stride] * 2,
        )


class BatchNorm:
    """Normalisation of each channel over the batch, over running statistics in use.

    Ioffe and Szegedy 2015, "Batch normalization".
    """

    EPSILON = 1e-5
    MOMENTUM = 0.9

    def __init__(self, channels: int) -> None:
        self.scale = Parameter(np.ones(channels))
        self.bias = Parameter(np.zeros(channels))
        self.mean = np.zeros(channels, np.float32)
        self.variance = np.ones(channels, np.float32)

    def forward(self, x: Array, *, training: bool) -> Array:
        mean, variance = self.mean, self.variance
        if training:
            mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
            self.mean += (1 - self.MOMENTUM) * (mean - self.mean)
            self.variance += (1 - self.MOMENTUM) * (variance - self.variance)
        deviation = np.sqrt(_by_channel(variance) + np.float32(self.EPSILON))
        self.inverse = np.float32(1) / deviation
        self.normal = (x - _by_channel(mean)) * self.inverse
        return self.normal * _by_channel(self.scale.value) + _by_channel(
            self.bias.value
        )

    def backward(self, gradient: Array) -> Array:
        count = np.float32(gradient.size // gradient.shape[1])
        self.scale.gradient = (gradient * self.normal).sum((0, 2, 3))
        self.bias.gradient = gradient.sum((0, 2, 3))
        centred = gradient - _by_channel(self.bias.gradient) / count
        centred -= self.normal * _by_channel(self.scale.gradient) / count
        return centred * _by_channel(self.scale.value) * self.inverse

    def parameters(self) -> list[Parameter]:
        return [self.scale, self.bias]

    def export(self, graph: GraphBuilder, name: str, value: str) -> str:
        arrays = {
            "scale": self.scale.value,
            "bias": self.bias.value,
            "mean": self.mean,
            "variance": self.variance,
        }
        operands = [
            graph.stored(f"{name}.{key}", array) for key, array in arrays.items()
        ]
        return graph.node(
            "BatchNormalization", name, value, *operands, epsilon=self.EPSILON
        )


def _by_channel(values: Array) -> Array:
    return values.reshape(1, -1, 1, 1)


class Relu:
    """max(x, 0)."""

    def forward(self, x: Array, *, training: bool) -> Array:
        self.positive = x > 0
        return x * self.positive

    def backward(self, gradient: Array) -> Array:
        return gradient * self.positive

    def parameters(self) -> list[Parameter]:
        return []

    def export(self, graph: GraphBuilder, name: str, value: str) -> str:
        return graph.node("Relu", name, value)


class Depthwise:
    """A 3 x 3 convolution of each channel by itself, without bias."""

    KERNEL = 3

    def __init__(self, rng: np.random.Generator, channels: int, stride: int) -> None:
        shape = channels, 1, self.KERNEL, self.KERNEL
        he = (2 / self.KERNEL**2) ** 0.5
        self.weight = Parameter(rng.standard_normal(shape) * he)
        self.stride = stride

    def forward(self, x: Array, *, training: bool) -> Array:
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        self.padded_shape = padded.shape
        windows = sliding_window_view(padded, (self.KERNEL, self.KERNEL), (2, 3))
        self.windows = windows[:, :, :: self.stride, :: self.stride]
        return np.einsum("nchwij,cij->nchw", self.windows, self.weight.value[:, 0])

    def backward(self, gradient: Array) -> Array:
        taps = np.einsum("nchw,nchwij->cij", gradient, self.windows)
        self.weight.gradient = taps[:, None]
        result = np.zeros(self.padded_shape, np.float32)
        height, width = (size * self.stride for size in gradient.shape[2:])
        for row, column in np.ndindex(self.KERNEL, self.KERNEL):
            rows = slice(row, row + height, self.stride)
            columns = slice(column, column + width, self.stride)
            tap = _by_channel(self.weight.value[:, 0, row, column])
            result[:, :, rows, columns] += gradient * tap
        return result[:, :, 1:-1, 1:-1]

    def parameters(self) -> list[Parameter]:
        return [self.weight]

    def export(self, graph: GraphBuilder, name: str, value: str) -> str:
        weight = graph.stored(f"{name}.weight", self.weight.value)
        return graph.node(
            "Conv",
            name,
            value,
            weight,
            group=len(self.weight.value),
            kernel_shape=[self.KERNEL] * 2,
            pads=[1] * 4,
            strides=[self.stride] * 2,
        )


class Flatten:
    """All but the first axis as one."""

    def forward(self, x: Array, *, training: bool) -> Array:
        self.shape = x.shape
        return x.reshape(len(x), -1)

    def backward(self, gradient: Array) -> Array:
        return gradient.reshape(self.shape)

    def parameters(self) -> list[Parameter]:
        return []

    def export(self, graph: GraphBuilder, name: str, value: str) -> str:
        return graph.node("Flatten", name, value, axis=1)


class Linear:
    """A linear layer from `[N, inputs]` to `[N, outputs]`."""

    def __init__(self, rng: np.random.Generator, inputs: int, outputs: int) -> None:
        shape = outputs, inputs
        self.weight = Parameter(rng.standard_normal(shape) * inputs**-0.5)
        self.bias = Parameter(np.zeros(outputs))

    def forward(self, x: Array, *, training: bool) -> Array:
        self.x = x
        return x @ self.weight.value.T + self.bias.value

    def backward(self, gradient: Array) -> Array:
        self.weight.gradient = gradient.T @ self.x
        self.bias.gradient = gradient.sum(0)
        return gradient @ self.weight.value

    def parameters(self) -> list[Parameter]:
        return [self.weight, self.bias]

    def export(self, graph: GraphBuilder, name: str, value: str) -> str:
        weight = graph.stored(f"{name}.weight", self.weight.value)
        bias = graph.stored(f"{name}.bias", self.bias.value)
        return graph.node("Gemm", name, value, weight, bias, transB=1)


class Classifier:
    """The mean over the image, then a linear layer to `[N, classes]`."""

    def __init__(self, rng: np.random.Generator, channels: int, classes: int) -> None:
        self.linear = Linear(rng, channels, classes)

    def forward(self, x: Array, *, training: bool) -> Array:
        self.shape = x.shape
        return self.linear.forward(x.mean((2, 3)), training=training)

    def backward(self, gradient: Array) -> Array:
        height, width = self.shape[2:]
        spread = self.linear.backward(gradient)[:, :, None, None]
        return np.broadcast_to(spread / np.float32(height * width), self.shape)

    def parameters(self) -> list[Parameter]:
        return self.linear.parameters()

    def export(self, graph: GraphBuilder, name: str, value: str) -> str:
        value = graph.node("GlobalAveragePool", f"{name}.pool", value)
        value = graph.node("Flatten", f"{name}.features", value, axis=1)
        return self.linear.export(graph, "logits", value)


class Sequence:
    """Layers one after the other."""

    def __init__(self, *layers: Layer) -> None:
        self.layers = layers

    def forward(self, x: Array, *, training: bool) -> Array:
        for layer in self.layers:
            x = layer.forward(x, training=training)
        return x

    def backward(self, gradient: Array) -> Array:
        for layer in reversed(self.layers):
            gradient = layer.backward(gradient)
        return gradient

    def parameters(self) -> list[Parameter]:
        return [parameter for layer in self.layers for parameter in layer.parameters()]

    def export(self, graph: GraphBuilder, name: str, value: str) -> str:
        for index, layer in enumerate(self.layers):
            kind = type(layer).__name__.lower()
            value = layer.export(graph, f"{name}.{index}.{kind}", value)
        return value


class Residual:
    """The sum of a body and a shortcut.

    He et al. 2016, "Deep residual learning". An empty shortcut passes the operand on.
    """

    def __init__(self, body: Sequence, shortcut: Sequence) -> None:
        self.body, self.shortcut = body, shortcut

    def forward(self, x: Array, *, training: bool) -> Array:
        body = self.body.forward(x, training=training)
        return body + self.shortcut.forward(x, training=training)

    def backward(self, gradient: Array) -> Array:
        return self.body.backward(gradient) + self.shortcut.backward(gradient)

    def parameters(self) -> list[Parameter]:
        return self.body.parameters() + self.shortcut.parameters()

    def export(self, graph: GraphBuilder, name: str, value: str) -> str:
        body = self.body.export(graph, f"{name}.body", value)
        shortcut = self.shortcut.export(graph, f"{name}.shortcut", value)
        return graph.node("Add", f"{name}.sum", body, shortcut)
