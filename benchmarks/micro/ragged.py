"""Prints what attention takes of sequences that fill no whole registers, beside whole ones.

python -m benchmarks.micro.ragged     (from the root of the repository; a quarter of a minute)

Lanes behind the end of a sequence are computed and thrown away, so a ragged sequence takes as long
as the next whole one; far longer where such lanes hold denormal numbers, on which a multiply-add
takes 150 cycles. Each row is one layer of softmax(q k^T) v on one thread, for a ragged number of
words and for that number rounded up to whole registers, in turns in this process. `times` is the
ragged time over the whole one, the bar 1.1; `ort` is the time of ONNX Runtime for the ragged
sequence. Results are compared with it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import numpy as np
import onnxruntime
from onnx import ModelProto, TensorProto

import glow
from benchmarks.networks.builder import GraphBuilder
from benchmarks.rounds import fastest

REGISTER = 16
"""The lanes of the widest vectors, of which shorter ones are a part."""
ROUNDS = 60
TOLERANCE = 1e-5
BAR = 1.1
SHAPES = ((192, 49, 32), (12, 197, 64), (12, 50, 64), (8, 77, 64), (6, 257, 64))
"""Heads, words and depth: windows of Swin, ViT, CLIP's images and text, DINO's images."""


def attention(heads: int, words: int, depth: int) -> ModelProto:
    """softmax(q k^T) v of float32[1, heads, words, depth]."""
    graph = GraphBuilder("attention")
    shape = (1, heads, words, depth)
    q, k, v = (graph.input(name, TensorProto.FLOAT, shape) for name in "qkv")
    turned = graph.node("Transpose", "turned", k, perm=[0, 1, 3, 2])
    scaled = graph.node("Mul", "scaled", q, graph.scalar("scale", depth**-0.5))
    scores = graph.node("MatMul", "scores", scaled, turned)
    shares = graph.node("Softmax", "shares", scores, axis=-1)
    graph.output(graph.node("MatMul", "result", shares, v), shape)
    return graph.model()


def measured(heads: int, words: int, depth: int) -> tuple[float, float, float]:
    """Seconds of the ragged sequence, of the whole one, and of ONNX Runtime for the former."""
    random = np.random.default_rng(0)
    whole = -(-words // REGISTER) * REGISTER
    calls: list[Callable[[], object]] = []
    for count in (words, whole):
        shape = (1, heads, count, depth)
        inputs = {name: random.standard_normal(shape, np.float32) for name in "qkv"}
        network = attention(heads, count, depth)
        model = glow.compile(network, threads=1)
        calls.append(partial(model.run, inputs))
        if count == words:
            peer = session(network)
            calls.append(partial(peer.run, None, inputs))
            expected = np.asarray(peer.run(None, inputs)[0])
            np.testing.assert_allclose(
                model(*inputs.values()), expected, atol=TOLERANCE
            )
    ragged, ort, full = fastest(calls, ROUNDS)
    return ragged, full, ort


def session(network: ModelProto) -> onnxruntime.InferenceSession:
    """ONNX Runtime with all of its optimizations, on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        network.SerializeToString(), options, ["CPUExecutionProvider"]
    )


def main() -> int:
    """Print the table; 1 where a ragged sequence takes longer than the bar allows."""
    print("heads words depth  ragged ms  whole ms  times   ort ms")
    worst = 0.0
    for heads, words, depth in SHAPES:
        ragged, whole, ort = (1e3 * each for each in measured(heads, words, depth))
        worst = max(worst, ragged / whole)
        print(
            f"{heads:5} {words:5} {depth:5} {ragged:10.3f} {whole:9.3f} "
            f"{ragged / whole:6.2f} {ort:8.3f}",
            flush=True,
        )
    return int(worst > BAR)


if __name__ == "__main__":
    sys.exit(main())
