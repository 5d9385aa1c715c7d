"""How long a call takes that computes next to nothing, beside ONNX Runtime's.

python -m benchmarks.micro.call_overhead     (from the root of the repository; ten seconds)
python -m benchmarks.micro.call_overhead --fallback squeezenet minilm

The network is one Relu of 16 numbers. Both run in this process and take turns; what is
printed is the least of many rounds, which other programs disturb least.

With `--fallback` it is what it costs to name a backend in front of the CPU. One that takes nothing,
beside the CPU alone, on one thread; and a border between parts, by a chain of small nodes that are
in a part of their own each, beside the same chain in one part. The parts are the CPU's own, so
that nothing but borders differs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np
import onnxruntime
from onnx import ModelProto, TensorProto, helper
from xdsl.ir import Operation

import glow
from benchmarks.networks import NETWORKS
from benchmarks.rounds import fastest
from glow.backends import backend as backends
from glow.backends.cpu import CpuBackend
from glow.compiled_model import CompiledModel
from glow.dialects.glow import AbsOp

CALLS = 1000
ROUNDS = 200
SIZE = 16
NODES = 20
NETWORK_ROUNDS = 12


def network() -> ModelProto:
    """`y = Relu(x)` on float32[1, 16]."""
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, SIZE])
        for name in "xy"
    )
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "", [x], [y])
    opset = helper.make_opsetid("", 20)
    return helper.make_model(graph, opset_imports=[opset], ir_version=10)


def seconds(function: Callable[[], object]) -> float:
    """The mean time of a call, of as many as take a millisecond or more."""
    started = time.perf_counter()
    for _ in range(CALLS):
        function()
    return (time.perf_counter() - started) / CALLS


class NoBackend(CpuBackend):
    """Takes nothing."""

    name = "none"

    def version(self) -> str:
        return self.name

    def refuses(self, op: Operation) -> str | None:
        return "it takes nothing"


class AbsBackend(NoBackend):
    """Takes one kind of node."""

    name = "abs"

    def refuses(self, op: Operation) -> str | None:
        return None if isinstance(op, AbsOp) else "it is no glow.abs"


def chain() -> ModelProto:
    """Abs and Neg in turns on float32[1, 16]."""
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, SIZE])
        for name in ("x0", f"x{NODES}")
    )
    nodes = [
        helper.make_node(
            "Neg" if number % 2 else "Abs", [f"x{number}"], [f"x{number + 1}"]
        )
        for number in range(NODES)
    ]
    graph = helper.make_graph(nodes, "", [x], [y])
    opset = helper.make_opsetid("", 20)
    return helper.make_model(graph, opset_imports=[opset], ir_version=10)


def inputs_of(model: CompiledModel) -> Sequence[np.ndarray]:
    """Random floats, and ones of other types."""
    random = np.random.default_rng(0)
    return [
        random.standard_normal(info.shape).astype(info.dtype)
        if info.dtype.kind == "f"
        else np.ones(info.shape, info.dtype)
        for info in model.inputs
    ]


def compiled(data: bytes, backend: str) -> CompiledModel:
    """A network on one thread."""
    model = glow.compile(data, backend=backend, threads=1)
    assert isinstance(model, CompiledModel)
    return model


def compare(name: str) -> None:
    """Print the times of a network alone, and behind a backend that takes nothing."""
    data = NETWORKS[name]().SerializeToString()
    alone, behind = compiled(data, "cpu"), compiled(data, "none,cpu")
    inputs = inputs_of(alone)
    one, other = fastest(
        [lambda: alone(*inputs), lambda: behind(*inputs)], NETWORK_ROUNDS
    )
    print(f"{name:<16}{1e3 * one:9.2f} ms{1e3 * other:9.2f} ms{other / one:8.3f}")


def measure_fallback(names: Sequence[str]) -> None:
    """Print what it costs to name a backend in front of the CPU."""
    for kind in (NoBackend, AbsBackend):
        backends._loaded[kind.name] = kind()
    print(f"{'network':<16}{'cpu':>12}{'none,cpu':>12}{'ratio':>8}")
    for name in names:
        compare(name)
    data = chain().SerializeToString()
    whole, parts = compiled(data, "cpu"), compiled(data, "abs,cpu")
    x = np.ones((1, SIZE), np.float32)
    one, other = fastest([lambda: whole(x), lambda: parts(x)], CALLS)
    print(f"a border: {1e6 * (other - one) / (NODES - 1):.1f} us")


def measure_calls() -> None:
    """Print what a call costs, of each kind."""
    data = network().SerializeToString()
    model = glow.compile(data)
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    x, y = np.ones((1, SIZE), np.float32), np.empty((1, SIZE), np.float32)
    feed = {"x": x}
    calls: dict[str, Callable[[], object]] = {
        "model(x)": lambda: model(x),
        "model.run({'x': x})": lambda: model.run({"x": x}),
        "model.run_into([x], [y])": lambda: model.run_into([x], [y]),
        "ONNX Runtime: session.run(None, {'x': x})": lambda: session.run(None, feed),
    }
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, function in calls.items():
            least[name] = min(least[name], seconds(function))
    for name, value in least.items():
        print(f"{name:<44}{1e6 * value:6.2f} us")


def main() -> None:
    parser = argparse.ArgumentParser(prog="call_overhead", description=__doc__)
    parser.add_argument("--fallback", nargs="*", choices=NETWORKS, metavar="NETWORK")
    names = parser.parse_args().fallback
    if names is None:
        measure_calls()
    else:
        measure_fallback(names)


if __name__ == "__main__":
    main()
