"""Requests a second of a host with batches and without, more waiting than are served.

    python -m benchmarks.batching [--seconds 3] [--rounds 3] [minilm16 minilm128 mlp cnn]

Rounds of both take turns, and the medians count. Inputs differ; results are compared with
those of single calls.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, numpy_helper

import glow
from benchmarks.networks.bert import MINILM, build
from benchmarks.networks.builder import GraphBuilder
from benchmarks.networks.weights import lecun, near_zero

WAITING = 32
"""How many requests are always there."""


def open_batch(model: ModelProto) -> ModelProto:
    """A network on one sample for any number of them: sizes of 1 that lead become open."""
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "N"
    shapes = {node.input[1] for node in model.graph.node if node.op_type == "Reshape"}
    for tensor in model.graph.initializer:
        if tensor.name in shapes:
            sizes = numpy_helper.to_array(tensor).copy()
            sizes[0] = 0  # The size that the input has.
            tensor.CopyFrom(numpy_helper.from_array(sizes, tensor.name))
    return model


def minilm(words: int) -> ModelProto:
    """The sentence encoder for sentences of so many words."""
    return open_batch(build(replace(MINILM, sequence=words)))


def mlp() -> ModelProto:
    """Three layers of 1024 on 784 values."""
    graph = GraphBuilder("mlp")
    value, width = graph.input("x", TensorProto.FLOAT, (1, 784)), 784
    for layer in range(3):
        weight = graph.weight(f"w{layer}", lecun, width, 1024)
        bias = graph.weight(f"b{layer}", near_zero, 1024)
        value = graph.node("MatMul", f"m{layer}", value, weight)
        value = graph.node(
            "Relu", f"r{layer}", graph.node("Add", f"a{layer}", value, bias)
        )
        width = 1024
    graph.output(value, (1, 1024))
    return open_batch(graph.model())


def cnn() -> ModelProto:
    """Eight convolutions of 64 channels on 56 x 56 pixels."""
    graph = GraphBuilder("cnn")
    value = graph.input("x", TensorProto.FLOAT, (1, 64, 56, 56))
    for layer in range(8):
        weight = graph.weight(f"w{layer}", lecun, 64, 64, 3, 3)
        value = graph.node("Conv", f"c{layer}", value, weight, pads=[1, 1, 1, 1])
        value = graph.node("Relu", f"r{layer}", value)
    graph.output(value, (1, 64, 56, 56))
    return open_batch(graph.model())


NETWORKS: dict[str, Callable[[], ModelProto]] = {
    "minilm16": lambda: minilm(16),
    "minilm128": lambda: minilm(128),
    "mlp": mlp,
    "cnn": cnn,
}


def samples(model: ModelProto) -> list[np.ndarray]:
    """Inputs of single requests."""
    random = np.random.default_rng(0)
    value = model.graph.input[0].type.tensor_type
    shape = (1, *[size.dim_value for size in value.shape.dim][1:])
    if value.elem_type == TensorProto.INT64:
        return [random.integers(0, 1000, shape) for _ in range(WAITING)]
    return [random.standard_normal(shape, np.float32) for _ in range(WAITING)]


def throughput(
    host: glow.Host, name: str, inputs: Sequence[np.ndarray], seconds: float
) -> tuple[float, float]:
    """Requests a second while `WAITING` of them are there, and in one of the processor's."""
    futures = [host.run(name, x) for x in inputs]
    count, begin, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - begin < seconds:
        place = count % len(inputs)
        futures[place].result()
        futures[place] = host.run(name, inputs[place])
        count += 1
    taken, worked = time.perf_counter() - begin, time.process_time() - cpu
    for future in futures:
        future.result()
    return count / taken, count / worked


def measure(name: str, path: Path, seconds: float, rounds: int) -> None:
    """Print one network's figures."""
    model = NETWORKS[name]()
    onnx.save(model, path)
    inputs = samples(model)
    with glow.Host("cpu", queue_limit=10 * WAITING) as host:
        for batching in ("off", "auto"):
            host.add(batching, str(path), batching=batching)
        singles = [host.run("off", x).result() for x in inputs]
        joined = [host.run("auto", x) for x in inputs]
        for single, future in zip(singles, joined, strict=True):
            for key, value in future.result().items():
                error = np.abs(value - single[key]).max() / np.abs(single[key]).max()
                assert error < 1e-4, (name, key, error)
        found: dict[str, list[tuple[float, float]]] = {"off": [], "auto": []}
        for _ in range(rounds):
            for batching, rates in found.items():
                rates.append(throughput(host, batching, inputs, seconds))
        figures = host.statistics()["models"]["auto"]
    for number, unit in enumerate(("second", "second of a processor")):
        off, auto = (median(rate[number] for rate in found[one]) for one in found)
        print(f"{name}: off {off:.1f}, auto {auto:.1f} a {unit}, {auto / off:.2f} x")
    print(f"  batches {figures['batches']}, table {figures['batching']}")


def main() -> None:
    """Measure the networks that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "networks", nargs="*", default=list(NETWORKS), metavar="network"
    )
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        for name in options.networks:
            path = Path(folder) / f"{name}.onnx"
            measure(name, path, options.seconds, options.rounds)


if __name__ == "__main__":
    main()
