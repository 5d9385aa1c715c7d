"""Networks compute nothing of what nobody wrote: in the arena, and in pad lanes of blocks.

The arena holds other numbers before each call: results have the same bits, and no arithmetic
has a denormal operand, which is what memory of an earlier call may hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from onnx import ModelProto, TensorProto
from support.kernels.stack_poison import SEES_FLAGS, reads_denormals

import glow
from benchmarks.networks import TINY_NETWORKS, bert, make_inputs
from benchmarks.networks.builder import GraphBuilder
from benchmarks.networks.weights import he, lecun
from glow.runtime.executable import Bytes
from glow.runtime.native_function import NativeFunction


def odd_channels() -> ModelProto:
    """Convolutions, pools, concatenation, groups and a product of no whole blocks."""
    graph = GraphBuilder("odd")
    x = graph.input("x", TensorProto.FLOAT, (1, 3, 19, 19))
    first = graph.weight("w0", he, 13, 3, 3, 3)
    y = graph.node("Conv", "c0", x, first, pads=[1, 1, 1, 1])
    y = graph.node("Sigmoid", "s0", y)
    deep = graph.weight("w1", he, 21, 13, 3, 3)
    left = graph.node("Conv", "c1", y, deep, pads=[1, 1, 1, 1])
    right = graph.node("MaxPool", "p0", y, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    y = graph.node("Concat", "joined", left, right, axis=1)
    depth = graph.weight("w2", he, 34, 1, 3, 3)
    y = graph.node("Conv", "c2", y, depth, group=34, strides=[2, 2])
    y = graph.node("Tanh", "t0", y)
    y = graph.node("GlobalAveragePool", "g0", y)
    y = graph.node("Flatten", "f0", y)
    y = graph.node("Gemm", "d0", y, graph.weight("w3", lecun, 34, 7))
    graph.output(graph.node("Softmax", "z", y, axis=-1), (1, 7))
    return graph.model()


NETWORKS: dict[str, Callable[[], ModelProto]] = {
    **TINY_NETWORKS,
    "odd channels": odd_channels,
    "odd sequence": lambda: bert.build(replace(bert.TINY, sequence=37)),
}


def fill(buffer: Bytes, number: float) -> None:
    """Writes copies of a float into a buffer."""
    buffer[: buffer.size // 4 * 4].view(np.float32)[:] = number


@pytest.mark.parametrize("numerics", ["exact", "default"])
@pytest.mark.parametrize("name", NETWORKS)
def test_content_of_the_arena_does_not_matter(name: str, numerics: str) -> None:
    network = NETWORKS[name]()
    model = glow.compile(network, threads=1, numerics=numerics)
    function = model.function
    assert isinstance(function, NativeFunction)
    inputs = [make_inputs(network)[info.name] for info in model.inputs]
    results: dict[float, tuple[bytes, bool]] = {}
    for number in (0.0, np.nan, 1e-40):
        buffers = function._take_buffers()
        fill(buffers.activations, number)
        for view in buffers.outputs:
            view.fill(number)
        function._idle.append(buffers)
        outputs: list[np.ndarray] = []
        found = reads_denormals(lambda into=outputs: into.extend(function.run(inputs)))
        results[number] = b"".join(array.tobytes() for array in outputs), found
    (zeros, own), (nans, _), (denormals, found) = results.values()
    assert zeros == nans == denormals
    assert not own
    assert not found, "computes with what nobody has written in the arena"


@pytest.mark.parametrize(("number", "expected"), [(1.0, False), (1e-40, True)])
def test_denormal_operands_are_seen(number: float, expected: bool) -> None:
    values = np.full(64, number, np.float32)
    assert reads_denormals(lambda: np.add(values, values, values)) == (
        expected and SEES_FLAGS
    )
