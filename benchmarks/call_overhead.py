"""How long a call takes that computes next to nothing, beside ONNX Runtime's.

python -m benchmarks.call_overhead     (from the root of the repository; ten seconds)

The network is one Relu of 16 numbers. Both run in this process and take turns; what is
printed is the least of many rounds, which other programs disturb least.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import onnxruntime
from onnx import ModelProto, TensorProto, helper

import glow

CALLS = 1000
ROUNDS = 200
SIZE = 16


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


def main() -> None:
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


if __name__ == "__main__":
    main()
