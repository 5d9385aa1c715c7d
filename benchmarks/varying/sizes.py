"""Times calls of many sizes, as lines of text have, beside ONNX Runtime and OpenVINO.

    python -m benchmarks.varying.sizes rec.onnx --shape 1x3x48xwidth --buckets 64,128

The model has one input; the size that the shape names is drawn anew for each call. Ours has a
program for each bucket, the others take any size. Each is called once with all sizes before it
is timed; they take turns of all calls. Results that differ by more of the largest than `--budget`
end with exit status 1.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median

import numpy as np
import onnxruntime as ort

import glow

Array = np.ndarray
Run = Callable[[Array], Sequence[Array]]


def of_glow(path: str, shape: Sequence[int | str], args: argparse.Namespace) -> Run:
    """Returns our model, which has a program for each bucket."""
    name = next(size for size in shape if isinstance(size, str))
    buckets = {name: [int(size) for size in args.buckets.split(",")]}
    shapes = {glow_input(path): shape}
    model = glow.compile(
        path, threads=args.threads, input_shapes=shapes, buckets=buckets
    )
    return lambda x: model.run_in_order([x])


def glow_input(path: str) -> str:
    """Returns the name of the input."""
    (only,) = glow.compile(path).inputs
    return only.name


def of_onnxruntime(path: str, threads: int) -> Run:
    """Returns ONNX Runtime's call."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(path, options, ["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda x: session.run(None, {name: x})


def of_openvino(path: str, threads: int) -> Run:
    """Returns OpenVINO's call, in f32."""
    import openvino

    options = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",
    }
    request = openvino.Core().compile_model(path, "CPU", options).create_infer_request()

    def run(x: Array) -> Sequence[Array]:
        found = request.infer([x], share_inputs=True)
        return [np.array(value) for value in found.values()]

    return run


def options() -> argparse.Namespace:
    """Returns what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--shape", required=True, help="with a name for the size")
    parser.add_argument(
        "--sizes", default="64:640", help="the smallest and the largest"
    )
    parser.add_argument("--buckets", required=True)
    parser.add_argument("--calls", type=int, default=40)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--budget", type=float, default=1e-3)
    return parser.parse_args()


def inputs(shape: Sequence[int | str], args: argparse.Namespace) -> list[Array]:
    """Returns inputs of random sizes."""
    random = np.random.default_rng(0)
    ends = args.sizes.split(":") if args.sizes else args.buckets.split(",")
    low, high = int(ends[0]), int(ends[-1])
    sizes = random.integers(low, high + 1, args.calls)
    shapes = [[s if isinstance(s, int) else size for s in shape] for size in sizes]
    return [random.standard_normal(one, np.float32) for one in shapes]


def alternating_seconds(
    runs: dict[str, Run], calls: Sequence[Array], rounds: int
) -> dict[str, list[float]]:
    """Returns the seconds of all calls, of each round."""
    seconds: dict[str, list[float]] = {who: [] for who in runs}
    for _ in range(rounds):
        for who, run in runs.items():
            started = time.perf_counter()
            for x in calls:
                run(x)
            seconds[who].append(time.perf_counter() - started)
    return seconds


def largest_difference(
    results: Sequence[Sequence[Array]], others: Sequence[Sequence[Array]]
) -> float:
    """Returns the largest difference of results, of the largest of each."""
    return max(
        float(np.abs(one - other).max() / max(np.abs(other).max(), 1e-9))
        for found, wanted in zip(results, others, strict=True)
        for one, other in zip(found, wanted, strict=True)
    )


def main() -> None:
    """Print the milliseconds of a call, and exit with 1 where results differ."""
    args = options()
    parts = args.shape.split("x")
    shape = tuple(int(part) if part.isdigit() else part for part in parts)
    calls = inputs(shape, args)
    runs = {
        "glow": of_glow(args.model, shape, args),
        "onnxruntime": of_onnxruntime(args.model, args.threads),
        "openvino": of_openvino(args.model, args.threads),
    }
    results = {who: [run(x) for x in calls] for who, run in runs.items()}
    seconds = alternating_seconds(runs, calls, args.rounds)
    ours = median(seconds["glow"])
    for who, each in seconds.items():
        milliseconds = 1e3 * median(each) / len(calls)
        print(f"{who:12} {milliseconds:8.2f} ms a call  {median(each) / ours:5.2f}")
    worst = largest_difference(results["glow"], results["onnxruntime"])
    print(f"largest difference {worst:.1e}")
    if worst > args.budget:
        sys.exit(1)


if __name__ == "__main__":
    main()
