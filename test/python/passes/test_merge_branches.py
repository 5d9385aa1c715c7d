"""Sums of random branches of one input are what their one convolution computes."""

from __future__ import annotations

import numpy as np
import onnx
from support.onnx_models.onnx_testing import make_model, node

from glow.compiler import load
from glow.interpreter import run
from glow.options import CompileOptions
from glow.passes.graph.merge_branches import MergeBranchesPass
from glow.universe import new_context

CHANNELS = 6
SIZE = 9


class Branches:
    """A model of a sum of random branches."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.stride = int(self.rng.integers(1, 3))
        self.dilation = int(self.rng.integers(1, 3))
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, np.ndarray] = {}

    def numbers(self, name: str, *shape: int) -> str:
        """A weight: its name."""
        self.weights[name] = self.rng.standard_normal(shape).astype(np.float32)
        return name

    def conv(self, name: str, radius: tuple[int, int], group: int) -> str:
        """A filter that reaches so far around each pixel: its result's name."""
        height, width = (2 * reach + 1 for reach in radius)
        inputs = [
            "x",
            self.numbers(f"{name}w", CHANNELS, CHANNELS // group, height, width),
        ]
        if self.rng.integers(2):
            inputs.append(self.numbers(f"{name}b", CHANNELS))
        pads = [reach * self.dilation for reach in radius] * 2
        attributes = {"pads": pads, "group": group, "strides": [self.stride] * 2}
        attributes["dilations"] = [self.dilation] * 2
        self.nodes.append(node("Conv", " ".join(inputs), name, **attributes))
        return name

    def batch_norm(self, name: str) -> str:
        """A normalization of the input: its result's name."""
        parameters = [self.numbers(f"{name}{part}", CHANNELS) for part in "sbmv"]
        self.weights[f"{name}v"] = np.abs(self.weights[f"{name}v"]) + 1
        inputs = " ".join(["x", *parameters])
        self.nodes.append(node("BatchNormalization", inputs, name))
        return name

    def model(self) -> onnx.ModelProto:
        """The sum of a filter, of two smaller ones and, where the result has the input's size,
        of a normalization, in random order.
        """
        group = int(self.rng.choice([1, 2, CHANNELS]))
        rows, columns = map(int, self.rng.integers(0, 3, 2))
        smaller = (
            int(self.rng.integers(0, rows + 1)),
            int(self.rng.integers(0, columns + 1)),
        )
        radii = [(rows, columns), (rows, 0), smaller]
        parts = [
            self.conv(f"c{number}", radius, group)
            for number, radius in enumerate(radii)
        ]
        if self.stride == 1:
            parts.append(self.batch_norm("n"))
        order = [parts[k] for k in self.rng.permutation(len(parts))]
        total = order[0]
        for number, part in enumerate(order[1:]):
            self.nodes.append(node("Add", f"{total} {part}", f"s{number}"))
            total = f"s{number}"
        self.nodes.append(node("Relu", total, "y"))
        return make_model(
            self.nodes, [("x", [2, CHANNELS, SIZE, SIZE])], weights=self.weights
        )


def test_results_stay() -> None:
    merged = 0
    for seed in range(40):
        branches = Branches(seed)
        module = load(branches.model(), CompileOptions())
        x = branches.rng.standard_normal((2, CHANNELS, SIZE, SIZE)).astype(np.float32)
        (before,) = run(module, [x])
        adds = sum(op.name == "glow.add" for op in module.walk())
        MergeBranchesPass().apply(new_context(), module)
        module.verify()
        (after,) = run(module, [x])
        np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-4)
        merged += adds - sum(op.name == "glow.add" for op in module.walk())
    assert merged > 80
