"""Linear layers with a ReLU between them, of many rows: LeCun et al. 1998, for digits."""

from dataclasses import dataclass

from onnx import ModelProto, TensorProto

from benchmarks.networks.builder import GraphBuilder
from benchmarks.networks.layers import linear


@dataclass(frozen=True)
class Perceptron:
    """The size of a network."""

    name: str
    batch: int
    widths: tuple[int, ...]


MLP = Perceptron("mlp_batch256", 256, (784, 512, 512, 10))
TINY = Perceptron("mlp_tiny", 5, (9, 20, 3))


def build(size: Perceptron = MLP) -> ModelProto:
    """Returns a network from rows `[batch, first width]` to `[batch, last width]`."""
    graph = GraphBuilder(size.name)
    value = graph.input("rows", TensorProto.FLOAT, (size.batch, size.widths[0]))
    layers = [*zip(size.widths, size.widths[1:], strict=False)]
    for number, (inputs, outputs) in enumerate(layers):
        value = linear(graph, f"layer{number}", value, inputs, outputs)
        if number + 1 < len(layers):
            value = graph.node("Relu", f"layer{number}.relu", value)
    graph.output(value, (size.batch, size.widths[-1]))
    return graph.model()
