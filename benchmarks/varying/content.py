"""Times images of different content, in which a detector finds another number of objects each.

    python -m benchmarks.varying.content maskrcnn.onnx --shape 3x320x320

Beside ONNX Runtime and, where it takes the model, OpenVINO. The model has one input; its pixels
are noise around an image, from 0 to 1. All are called with as many other images before they
are timed, and take turns of all calls. What is found is printed with how much of it ONNX Runtime
finds too, since objects of equal scores have no order: rows that are as near as `--near`.
"""

import argparse
from collections.abc import Callable, Sequence
from statistics import median

import numpy as np

import glow
from benchmarks.varying.sizes import (
    Array,
    Run,
    alternating_seconds,
    glow_input,
    of_onnxruntime,
    of_openvino,
)


def images(shape: Sequence[int], count: int, seed: int) -> list[Array]:
    """Returns images of different content."""
    common = np.random.default_rng(0).random(shape, np.float32)
    random = np.random.default_rng(seed)
    noise = (random.standard_normal(shape, np.float32) for _ in range(count))
    return [np.clip(common + 0.3 * one, 0, 1) for one in noise]


def of_glow(path: str, shape: Sequence[int], threads: int) -> Run:
    """Returns our model."""
    shapes = {glow_input(path): tuple(shape)}
    model = glow.compile(path, threads=threads, input_shapes=shapes)
    return lambda x: model.run_in_order([x])


def matching(found: Sequence[Array], wanted: Sequence[Array], near: float) -> str:
    """Returns how many rows of the first result are rows of the other's."""
    counts = [len(one[0]) for one in (found, wanted)]
    if not all(counts):
        return f"{counts[0]} rows, {counts[1]} wanted"
    rows, others = (one[0].reshape(len(one[0]), -1) for one in (found, wanted))
    distances = [np.abs(rows - row).max(axis=1).min() for row in others]
    hits = sum(bool(distance <= near) for distance in distances)
    return f"{len(rows)} rows, {hits} of {len(others)} wanted"


def main() -> None:
    """Print the milliseconds of a call, and what is found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--shape", required=True)
    parser.add_argument("--calls", type=int, default=8)
    parser.add_argument("--warm", type=int, default=16)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--near", type=float, default=0.5)
    args = parser.parse_args()
    shape = [int(size) for size in args.shape.split("x")]
    makers: dict[str, Callable[[], Run]] = {
        "glow": lambda: of_glow(args.model, shape, args.threads),
        "onnxruntime": lambda: of_onnxruntime(args.model, args.threads),
        "openvino": lambda: of_openvino(args.model, args.threads),
    }
    calls = images(shape, args.calls, 1)
    runs: dict[str, Run] = {}
    for who, make in makers.items():
        try:
            runs[who] = make()
            for x in images(shape, args.warm, 2):
                runs[who](x)
        except (ImportError, RuntimeError) as error:
            print(f"{who:12} refuses: {str(error).strip().splitlines()[-1]}")
            runs.pop(who, None)
    for x in calls:
        found, wanted = runs["glow"](x), runs["onnxruntime"](x)
        print(matching(found, wanted, args.near))
    seconds = alternating_seconds(runs, calls, args.rounds)
    ours = median(seconds["glow"])
    for who, each in seconds.items():
        milliseconds = 1e3 * median(each) / len(calls)
        print(f"{who:12} {milliseconds:8.1f} ms a call  {median(each) / ours:5.2f}")


if __name__ == "__main__":
    main()
