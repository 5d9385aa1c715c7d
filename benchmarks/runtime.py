"""What the host costs, and what it gains: calls, hops between devices, callers, pipelines.

python -m benchmarks.runtime                          (from the root of the repository)
python -m benchmarks.runtime throughput pipeline --network mobilenet_v2 --seconds 2

`overhead`: microseconds of a call that computes next to nothing (one Relu of 16 numbers), by
ways that lead to it; `beyond` is the difference to the way that it adds to. `throughput`:
inferences a second of a network, one request at a time on all cores, and as many callers as
there are cores with a core each. `pipeline`: the same of the network in two stages on two
cores, and in one piece on one of them.

All take turns in one process; figures are medians over the rounds, of each of which a way has
one turn. Compare within a table.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import onnxruntime
from onnx import ModelProto, TensorProto, helper

import glow
from benchmarks.micro.call_overhead import network as one_operator
from benchmarks.networks import NETWORKS, make_inputs
from glow.diagnostics import run_reporting
from glow.host.tracing import Tracer
from glow.runtime.threads.cores import available_cores

CALLS = 300
"""Of a turn of `overhead`."""

Call = Callable[[], object]


def main() -> int:
    parser = argparse.ArgumentParser(prog="runtime", description=__doc__)
    parser.add_argument("tables", nargs="*", help=f"of {', '.join(TABLES)}; all")
    parser.add_argument("--network", choices=NETWORKS, default="resnet50")
    parser.add_argument("--rounds", type=int, default=9, help="default: 9")
    parser.add_argument("--seconds", type=float, default=1.5, help="default: 1.5")
    options = parser.parse_args()
    unknown = set(options.tables) - set(TABLES)
    if unknown:
        parser.error(f"no table {unknown.pop()}")
    for name in options.tables or TABLES:
        TABLES[name](options)
    return 0


# Overhead


def overhead(options: argparse.Namespace) -> None:
    """Prints the microseconds of a call."""
    with ExitStack() as stack:
        calls = overhead_calls(stack)
        turns: dict[str, list[float]] = {name: [] for name in calls}
        for call in calls.values():
            seconds(call)
        gc.collect()
        for _ in range(10 * options.rounds):
            for name, call in calls.items():
                turns[name].append(seconds(call))
    least = {
        name: 1e6 * median(sorted(all_)[: len(all_) // 2])
        for name, all_ in turns.items()
    }
    print(f"{'one operator':42} {'us':>8} {'beyond':>8}")
    for name, value in least.items():
        beyond = value - least[ADDS_TO[name]] if name in ADDS_TO else None
        print(f"{name:42} {value:8.1f}" + ("" if beyond is None else f" {beyond:8.1f}"))


MODEL, SESSION = "CompiledModel.run", "ONNX Runtime session.run"
HOST, TRACED = "Host.run, device cpu", "Host.run, traced"
PROCESS = "Host.run, device process"
ONE, TWO = "Host.run, one operator more", "Host.run, that in two parts on two devices"
ADDS_TO = {HOST: MODEL, TRACED: HOST, PROCESS: HOST, TWO: ONE}


def overhead_calls(stack: ExitStack) -> Mapping[str, Call]:
    """The ways to call; what they need ends with the stack."""
    data = one_operator().SerializeToString()
    x = np.ones((1, 16), np.float32)
    feed = {"x": x}
    model = glow.compile(data)
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    hosts = {
        HOST: (glow.Host(), data, {}),
        TRACED: (glow.Host(tracer=Tracer(10_000)), data, {}),
        PROCESS: (glow.Host("process"), data, {}),
        ONE: (glow.Host(), two_operators(), {}),
        TWO: (glow.Host(["cpu", "cpu"]), two_operators(), {"partition": HALVES}),
    }
    calls: dict[str, Call] = {
        SESSION: lambda: session.run(None, feed),
        MODEL: lambda: model.run(feed),
    }
    for name, (host, content, options) in hosts.items():
        stack.enter_context(host)
        host.add("net", content, **options)
        calls[name] = caller(host, x)
    return calls


HALVES = "strategy=user map=second=cpu:1"


def two_operators() -> bytes:
    """`y = Tanh(Relu(x))` on float32[1, 16]."""
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 16]) for name in "xy"
    )
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="first"),
        helper.make_node("Tanh", ["a"], ["y"], name="second"),
    ]
    opset = helper.make_opsetid("", 20)
    model: ModelProto = helper.make_model(
        helper.make_graph(nodes, "", [x], [y]), opset_imports=[opset], ir_version=10
    )
    return model.SerializeToString()


def caller(host: glow.Host, x: np.ndarray) -> Call:
    """A request, and the wait for its result."""
    return lambda: host.run("net", x).result()


def seconds(call: Call) -> float:
    """The mean time of some calls."""
    started = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - started) / CALLS


# Throughput


def throughput(options: argparse.Namespace) -> None:
    """Prints inferences a second, one at a time and with a caller a core."""
    model = NETWORKS[options.network]()
    inputs = make_inputs(model)
    cores = available_cores()
    with glow.Host() as host:
        host.add("net", model.SerializeToString(), batching="off")
        one = f"one at a time on {cores} cores"
        many = f"{cores} callers, a core each"
        rates = turns_of(
            {
                one: lambda: rate(host, inputs, 1, options.seconds),
                many: lambda: rate(host, inputs, cores, options.seconds),
            },
            options.rounds,
        )
    show(options.network, rates, one)


def rate(host: glow.Host, inputs: Mapping[str, np.ndarray], callers: int, span: float):
    """Inferences a second by so many callers that each wait for their results."""
    end = time.perf_counter() + span

    def call() -> int:
        count = 0
        while time.perf_counter() < end:
            host.run("net", inputs).result()
            count += 1
        return count

    started = time.perf_counter()
    with ThreadPoolExecutor(callers) as pool:
        futures = [pool.submit(call) for _ in range(callers)]
        count = sum(future.result() for future in futures)
    return count / (time.perf_counter() - started)


# Pipeline


def pipeline(options: argparse.Namespace) -> None:
    """Prints inferences a second on one core, and in two stages on two."""
    model = NETWORKS[options.network]()
    inputs = make_inputs(model)
    data = model.SerializeToString()
    with glow.Host("cpu@0") as one, glow.Host(["cpu@0", "cpu@1"]) as two:
        one.add("net", data, batching="off")
        two.add("net", data, partition="strategy=pipeline")
        whole, stages = "in one piece on one core", "in two stages on two cores"
        rates = turns_of(
            {
                whole: lambda: stream(one, inputs, options.seconds),
                stages: lambda: stream(two, inputs, options.seconds),
            },
            options.rounds,
        )
    show(options.network, rates, whole)


def stream(host: glow.Host, inputs: Mapping[str, np.ndarray], span: float) -> float:
    """Inferences a second by a caller that is some requests ahead."""
    ahead, count = 4, 0
    started = time.perf_counter()
    futures = deque(host.run("net", inputs) for _ in range(ahead))
    while futures:
        futures.popleft().result()
        count += 1
        if time.perf_counter() - started < span:
            futures.append(host.run("net", inputs))
    return count / (time.perf_counter() - started)


def turns_of(
    ways: Mapping[str, Callable[[], float]], rounds: int
) -> Mapping[str, Sequence[float]]:
    """The rates of each way, which take turns after one that warms them up."""
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, way in ways.items():
            value = way()
            if number:
                rates[name].append(value)
    return rates


def show(network: str, rates: Mapping[str, Sequence[float]], base: str) -> None:
    """Prints medians and the median of the ratios of each round, and the same of the best turns.

    Other programs disturb those least.
    """
    print(f"{network:42} {'a second':>8} {'ratio':>6} {'best':>8} {'ratio':>6}")
    for name, all_ in rates.items():
        ratio = median(a / b for a, b in zip(all_, rates[base], strict=True))
        best = max(all_)
        print(
            f"{name:42} {median(all_):8.2f} {ratio:6.2f} "
            f"{best:8.2f} {best / max(rates[base]):6.2f}"
        )


TABLES: Mapping[str, Callable[[argparse.Namespace], None]] = {
    "overhead": overhead,
    "throughput": throughput,
    "pipeline": pipeline,
}

if __name__ == "__main__":
    sys.exit(run_reporting("runtime", main, debug=False))
