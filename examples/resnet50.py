"""Compiles a full-size ResNet-50, runs it on an image and checks it against the ONNX reference.

python examples/resnet50.py

The weights are random, seeded; the image is drawn, not photographed. What counts is that both
sides compute the same thousand scores from the same 25 million weights.
"""

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto

import glow

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.networks import NETWORKS, evaluate_reference

SIZE = 224
REPEATS = 10
TOLERANCE = 1e-4
# The mean and the standard deviation of ImageNet's red, green and blue.
MEAN = np.array([0.485, 0.456, 0.406]).reshape(3, 1, 1)
DEVIATION = np.array([0.229, 0.224, 0.225]).reshape(3, 1, 1)

Array = NDArray[np.float32]


def main() -> int:
    with progress("building ResNet-50"):
        network = NETWORKS["resnet50"]()
    with progress("compiling"):
        model = glow.compile(network)
    image = normalise(draw_image())
    scores = np.asarray(model(image)).reshape(-1)
    with progress(f"running it {REPEATS} times"):
        milliseconds = median(timed(lambda: model(image)) for _ in range(REPEATS))
    print_top(scores, 5)
    print(f"time per inference: {milliseconds:.1f} ms")
    with progress("running the ONNX reference"):
        expected = evaluate(network, image)
    agree = report("the ONNX reference", scores, expected)
    if find_spec("onnxruntime"):
        with progress("running ONNX Runtime"):
            expected = evaluate_with_onnxruntime(network, image)
        agree = report("ONNX Runtime", scores, expected) and agree
    return 0 if agree else 1


@contextmanager
def progress(what: str) -> Generator[None]:
    """Tell on stderr what is being done, and then how long it took."""
    print(f"{what} ... ", end="", file=sys.stderr, flush=True)
    start = time.perf_counter()
    yield
    print(f"{time.perf_counter() - start:.1f} s", file=sys.stderr)


def timed(run: Callable[[], object]) -> float:
    """Returns the milliseconds that `run` takes."""
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e3


def draw_image() -> Array:
    """Returns a disc with a hole on a colour gradient, `[3, SIZE, SIZE]` in [0, 1]."""
    y, x = np.mgrid[0:SIZE, 0:SIZE] / np.float32(SIZE)
    radius = np.hypot(x - 0.5, y - 0.45)
    ring = (radius > 0.15) & (radius < 0.35)
    colours = np.stack([x, y, 1 - x * y])
    return np.where(ring, 1 - colours, 0.8 * colours).astype(np.float32)


def normalise(image: Array) -> Array:
    """Returns `image` as networks trained on ImageNet expect it, `[1, 3, SIZE, SIZE]`."""
    return ((image - MEAN) / DEVIATION).astype(np.float32)[None]


def evaluate(network: ModelProto, image: Array) -> Array:
    """Returns the scores by the `onnx` package's own evaluator."""
    (scores,) = evaluate_reference(network, {network.graph.input[0].name: image})
    return scores.reshape(-1)


def evaluate_with_onnxruntime(network: ModelProto, image: Array) -> Array:
    """Returns the scores by ONNX Runtime, where it is installed."""
    import onnxruntime

    session = onnxruntime.InferenceSession(network.SerializeToString())
    feed = {network.graph.input[0].name: image}
    scores = session.run(None, feed)[0]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return np.asarray(scores).reshape(-1)


def print_top(scores: Array, count: int) -> None:
    """Print the classes of the highest scores."""
    print(f"top {count} of {len(scores)} classes:")
    for index in np.argsort(-scores)[:count]:
        print(f"  class {index:4}  {scores[index]:.6f}")


def report(peer: str, scores: Array, expected: Array) -> bool:
    """Print how far `scores` are from the peer's; returns whether that is close enough."""
    error = float(np.abs(scores - expected).max() / np.abs(expected).max())
    agree = error <= TOLERANCE and bool(np.isfinite(scores).all())
    verdict = "agrees with" if agree else "DISAGREES with"
    print(f"{verdict} {peer}: largest error {error:.1e} of the largest score")
    return agree


if __name__ == "__main__":
    sys.exit(main())
