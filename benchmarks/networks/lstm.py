"""A stack of LSTM layers over one sequence, as exporters write `torch.nn.LSTM`."""

from dataclasses import dataclass

import numpy as np
from onnx import ModelProto, TensorProto

from benchmarks.networks.builder import GraphBuilder
from benchmarks.networks.weights import Shape, Weights, uniform


@dataclass(frozen=True)
class Lstm:
    """The size of a network."""

    sequence: int = 100
    features: int = 512
    hidden: int = 512
    layers: int = 2
    batch: int = 1


TINY = Lstm(sequence=5, features=8, hidden=12)


def build(size: Lstm | None = None) -> ModelProto:
    """Returns a network from `x`, `[sequence, batch, features]`, to three outputs.

    `output` is the last layer at each step, `[sequence, batch, hidden]`; `hidden` and `cell`
    are the last step of each layer, `[layers, batch, hidden]`.
    """
    size = size or Lstm()
    graph = GraphBuilder("lstm")
    value = graph.input(
        "x", TensorProto.FLOAT, (size.sequence, size.batch, size.features)
    )
    graph.stored("start", np.zeros((1, size.batch, size.hidden), np.float32))
    graph.stored("direction", [1])
    states: list[tuple[str, str]] = []
    for layer in range(size.layers):
        value, hidden, cell = _layer(graph, size, layer, value)
        states.append((hidden, cell))
    graph.output(
        graph.node("Identity", "output", value),
        (size.sequence, size.batch, size.hidden),
    )
    for name, values in zip(("hidden", "cell"), zip(*states, strict=True), strict=True):
        graph.output(
            graph.node("Concat", name, *values, axis=0),
            (size.layers, size.batch, size.hidden),
        )
    return graph.model()


def _layer(
    graph: GraphBuilder, size: Lstm, layer: int, value: str
) -> tuple[str, str, str]:
    """Returns the layer's outputs `[sequence, batch, hidden]` and its last states."""
    gates = 4 * size.hidden
    name = f"layer{layer}"
    features = size.features if layer == 0 else size.hidden

    def fill(seed: str, shape: Shape) -> Weights:
        bound = size.hidden**-0.5
        return uniform(seed, shape, -bound, bound)

    weight = graph.weight(f"{name}.weight", fill, 1, gates, features)
    recurrence = graph.weight(f"{name}.recurrence", fill, 1, gates, size.hidden)
    bias = graph.weight(f"{name}.bias", fill, 1, 2 * gates)
    # The empty operand is the lengths of the sequences: all are full.
    operands = [value, weight, recurrence, bias, "", "start", "start"]
    steps, hidden, cell = graph.results(
        "LSTM", name, operands, 3, hidden_size=size.hidden
    )
    return graph.node("Squeeze", f"{name}.squeezed", steps, "direction"), hidden, cell
