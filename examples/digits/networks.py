"""The networks of this folder before they are trained, as ONNX models of one image.

Each takes `image` `[1, 1, 8, 8]` to logits `[1, 10]`. Weights are drawn so that they keep the
spread of values (He et al. 2015, "Delving deep into rectifiers").
"""

from collections.abc import Callable

import numpy as np
from onnx import ModelProto, TensorProto

from benchmarks.networks.builder import GraphBuilder

CLASSES = 10


class Layers:
    """Appends layers one after the other; each is named after its place and its kind."""

    def __init__(
        self, graph: GraphBuilder, rng: np.random.Generator, value: str, prefix: str
    ) -> None:
        self.graph, self.rng = graph, rng
        self.value, self.prefix = value, prefix
        self.count = 0

    def _name(self, kind: str) -> str:
        self.count += 1
        return f"{self.prefix}.{self.count - 1}.{kind}"

    def _weight(self, name: str, shape: tuple[int, ...], deviation: float) -> str:
        values = self.rng.standard_normal(shape) * deviation
        return self.graph.stored(name, values.astype(np.float32))

    def convolution(
        self, inputs: int, outputs: int, *, kernel: int = 3, stride: int = 1
    ) -> None:
        """Append a convolution without bias, and batch normalization."""
        name = self._name("convolution")
        shape = outputs, inputs, kernel, kernel
        self._convolve(name, shape, (2 / (inputs * kernel**2)) ** 0.5, stride)
        self._normalize(outputs)

    def depthwise(self, channels: int, *, stride: int = 1) -> None:
        """Append a 3 x 3 convolution of each channel by itself, and batch normalization."""
        name = self._name("depthwise")
        deviation = (2 / 3**2) ** 0.5
        self._convolve(name, (channels, 1, 3, 3), deviation, stride, group=channels)
        self._normalize(channels)

    def _convolve(
        self,
        name: str,
        shape: tuple[int, ...],
        deviation: float,
        stride: int,
        **group: int,
    ) -> None:
        weight = self._weight(f"{name}.weight", shape, deviation)
        kernel = shape[-1]
        self.value = self.graph.node(
            "Conv",
            name,
            self.value,
            weight,
            **group,
            kernel_shape=[kernel] * 2,
            pads=[kernel // 2] * 4,
            strides=[stride] * 2,
        )

    def _normalize(self, channels: int) -> None:
        name = self._name("batchnorm")
        begin = {"scale": 1.0, "bias": 0.0, "mean": 0.0, "variance": 1.0}
        operands = [
            self.graph.stored(f"{name}.{key}", np.full(channels, number, np.float32))
            for key, number in begin.items()
        ]
        self.value = self.graph.node(
            "BatchNormalization", name, self.value, *operands, epsilon=1e-5
        )

    def relu(self) -> None:
        """Append max(x, 0)."""
        self.value = self.graph.node("Relu", self._name("relu"), self.value)

    def flatten(self) -> None:
        """Make one axis of all but the first."""
        name = self._name("flatten")
        self.value = self.graph.node("Flatten", name, self.value, axis=1)

    def linear(self, inputs: int, outputs: int, name: str | None = None) -> None:
        """Append a linear layer, from `[N, inputs]` to `[N, outputs]`."""
        name = name or self._name("linear")
        weight = self._weight(f"{name}.weight", (outputs, inputs), inputs**-0.5)
        bias = self.graph.stored(f"{name}.bias", np.zeros(outputs, np.float32))
        self.value = self.graph.node("Gemm", name, self.value, weight, bias, transB=1)

    def classifier(self, channels: int) -> None:
        """Append the mean over the image, and a linear layer to the classes."""
        name = self._name("classifier")
        pool = self.graph.node("GlobalAveragePool", f"{name}.pool", self.value)
        self.value = self.graph.node("Flatten", f"{name}.features", pool, axis=1)
        self.linear(channels, CLASSES, "logits")

    def residual(
        self,
        body: Callable[["Layers"], None],
        shortcut: Callable[["Layers"], None] | None = None,
    ) -> None:
        """Append the sum of a body and a shortcut, or of the operand where there is none.

        He et al. 2016, "Deep residual learning".
        """
        name, operand = self._name("residual"), self.value
        inner = Layers(self.graph, self.rng, operand, f"{name}.body")
        body(inner)
        if shortcut is not None:
            outer = Layers(self.graph, self.rng, operand, f"{name}.shortcut")
            shortcut(outer)
            operand = outer.value
        self.value = self.graph.node("Add", f"{name}.sum", inner.value, operand)


def residual(layers: Layers) -> None:
    """Append a residual network of about twenty thousand weights."""
    layers.convolution(1, 16)
    layers.relu()
    _block(layers, 16, 16)
    _block(layers, 16, 32, stride=2)
    layers.classifier(32)


def _block(layers: Layers, inputs: int, outputs: int, stride: int = 1) -> None:
    def body(inner: Layers) -> None:
        inner.convolution(inputs, outputs, stride=stride)
        inner.relu()
        inner.convolution(outputs, outputs)

    def shortcut(outer: Layers) -> None:
        outer.convolution(inputs, outputs, kernel=1, stride=stride)

    layers.residual(body, None if stride == 1 and inputs == outputs else shortcut)
    layers.relu()


def mlp(layers: Layers) -> None:
    """Append three linear layers."""
    layers.flatten()
    layers.linear(64, 128)
    layers.relu()
    layers.linear(128, 64)
    layers.relu()
    layers.linear(64, CLASSES)


def depthwise(layers: Layers) -> None:
    """Append a network of the kind that mobile phones run.

    Sandler et al. 2018, "MobileNetV2": the body of the residual block is wide inside, and
    its last convolution has no activation.
    """

    def inverted(inner: Layers) -> None:
        inner.convolution(32, 96, kernel=1)
        inner.relu()
        inner.depthwise(96)
        inner.relu()
        inner.convolution(96, 32, kernel=1)

    layers.convolution(1, 16)
    layers.relu()
    layers.depthwise(16)
    layers.relu()
    layers.convolution(16, 32, kernel=1)
    layers.relu()
    layers.depthwise(32, stride=2)
    layers.relu()
    layers.convolution(32, 32, kernel=1)
    layers.residual(inverted)
    layers.convolution(32, 64, kernel=1)
    layers.relu()
    layers.classifier(64)


NETWORKS: dict[str, Callable[[Layers], None]] = {
    "digits": residual,
    "mlp": mlp,
    "depthwise": depthwise,
}


def untrained(name: str, seed: int) -> ModelProto:
    """Returns a network with random weights."""
    graph = GraphBuilder("digits")
    image = graph.input("image", TensorProto.FLOAT, (1, 1, 8, 8))
    layers = Layers(graph, np.random.default_rng(seed), image, "layer")
    NETWORKS[name](layers)
    graph.output(layers.value, (1, CLASSES))
    return graph.model()
