"""Layers that several networks have, as exporters write them at opset 17."""

from math import sqrt

from benchmarks.networks.builder import GraphBuilder
from benchmarks.networks.weights import he, lecun, near_one, near_zero


def linear(
    graph: GraphBuilder, name: str, value: str, inputs: int, outputs: int
) -> str:
    """Returns x W + b; exporters write two nodes."""
    weight = graph.weight(f"{name}.weight", lecun, inputs, outputs)
    bias = graph.weight(f"{name}.bias", near_zero, outputs)
    return graph.node(
        "Add",
        f"{name}.biased",
        bias,
        graph.node("MatMul", f"{name}.product", value, weight),
    )


def gelu(graph: GraphBuilder, name: str, value: str) -> str:
    """Returns x / 2 * (1 + erf(x / sqrt(2))), in the exporters' order."""
    scaled = graph.node(
        "Div", f"{name}.scaled", value, graph.scalar(f"{name}.root", sqrt(2))
    )
    error = graph.node("Erf", f"{name}.erf", scaled)
    shifted = graph.node(
        "Add", f"{name}.shifted", error, graph.scalar(f"{name}.one", 1.0)
    )
    product = graph.node("Mul", f"{name}.product", value, shifted)
    return graph.node(
        "Mul", f"{name}.halved", product, graph.scalar(f"{name}.half", 0.5)
    )


def layer_norm(
    graph: GraphBuilder, width: int, name: str, value: str, epsilon: float = 1e-12
) -> str:
    """Returns the layer normalised over its last axis, scaled and shifted."""
    scale = graph.weight(f"{name}.scale", near_one, width)
    bias = graph.weight(f"{name}.bias", near_zero, width)
    return graph.node(
        "LayerNormalization", name, value, scale, bias, axis=-1, epsilon=epsilon
    )


def conv(
    graph: GraphBuilder,
    name: str,
    value: str,
    weight: tuple[int, ...],
    **attributes: int | list[int],
) -> str:
    """Returns a convolution by a weight `[outputs, inputs / group, kernel...]`, with a bias."""
    filters = graph.weight(f"{name}.weight", he, *weight)
    bias = graph.weight(f"{name}.bias", near_zero, weight[0])
    return graph.node("Conv", name, value, filters, bias, **attributes)
