"""Swin: attention inside of windows of an image, which every other layer shifts.

Liu et al. 2021, "Swin transformer: hierarchical vision transformer using shifted windows", as
PyTorch's exporter leaves torchvision's.
"""

from dataclasses import dataclass

import numpy as np
from onnx import ModelProto, TensorProto

from benchmarks.networks.builder import GraphBuilder
from benchmarks.networks.layers import conv, gelu, layer_norm, linear
from benchmarks.networks.weights import Shape, Weights, lecun, normal

PATCH = 4
MASKED = -100.0
"""Added to the scores of words that were no neighbours before the image was rolled."""


@dataclass(frozen=True)
class Windowed:
    """The size of a network; stage k has channels `hidden * 2**k`."""

    name: str
    hidden: int
    depths: tuple[int, ...]
    heads: tuple[int, ...]
    window: int
    image_size: int
    classes: int = 1000


SWIN = Windowed("swin", 96, (2, 2, 6, 2), (3, 6, 12, 24), 7, 224)
TINY = Windowed("swin_tiny", 8, (2, 1), (2, 4), 3, 48, classes=7)


def build(size: Windowed = SWIN) -> ModelProto:
    """Returns a network from an image `[1, 3, H, W]` to logits `[1, classes]`."""
    graph, channels = GraphBuilder(size.name), size.hidden
    plane = (size.image_size, size.image_size)
    image = graph.input("image", TensorProto.FLOAT, (1, 3, *plane))
    weight, strides = (channels, 3, PATCH, PATCH), [PATCH, PATCH]
    value = conv(graph, "patches", image, weight, strides=strides)
    value = graph.node("Transpose", "patches.last", value, perm=[0, 2, 3, 1])
    value = layer_norm(graph, channels, "patches.norm", value, 1e-5)
    side = size.image_size // PATCH
    for number, (depth, heads) in enumerate(zip(size.depths, size.heads, strict=True)):
        if number:
            value = _merge(graph, f"merge{number}", value, channels)
            side, channels = side // 2, 2 * channels
        for layer in range(depth):
            stage = Stage(graph, size.window, side, channels, heads, layer % 2 == 1)
            value = stage.layer(f"stage{number}.{layer}", value)
    value = layer_norm(graph, channels, "norm", value, 1e-5)
    value = graph.node("Transpose", "channels", value, perm=[0, 3, 1, 2])
    value = graph.node("GlobalAveragePool", "pool", value)
    value = graph.node("Flatten", "features", value, axis=1)
    graph.output(
        linear(graph, "logits", value, channels, size.classes), (1, size.classes)
    )
    return graph.model()


def _merge(graph: GraphBuilder, name: str, value: str, channels: int) -> str:
    """Returns each square of four words as one of twice the channels."""
    axes, steps = (
        graph.stored(f"{name}.axes", [1, 2]),
        graph.stored(f"{name}.steps", [2, 2]),
    )
    ends = graph.stored(f"{name}.ends", [2**31 - 1, 2**31 - 1])
    parts = [
        graph.node(
            "Slice", f"{name}.part{row}{column}", value,
            graph.stored(f"{name}.from{row}{column}", [row, column]), ends, axes, steps,
        )
        for column in (0, 1)
        for row in (0, 1)
    ]  # fmt: skip
    value = graph.node("Concat", f"{name}.parts", *parts, axis=-1)
    value = layer_norm(graph, 4 * channels, f"{name}.norm", value, 1e-5)
    return graph.product(f"{name}.reduced", value, lecun, 4 * channels, 2 * channels)


def _bias(name: str, shape: Shape) -> Weights:
    return normal(name, shape, 0.02)


@dataclass(frozen=True)
class Stage:
    """Layers on a square image of words, `[1, side, side, channels]`."""

    graph: GraphBuilder
    window: int
    side: int
    channels: int
    heads: int
    shifted: bool

    @property
    def shift(self) -> int:
        """How far the windows of a layer lie from those of the one before."""
        return self.window // 2 if self.shifted and self.side > self.window else 0

    def layer(self, name: str, value: str) -> str:
        """Returns attention and two linear layers, each behind a norm, added to what comes in."""
        graph, channels = self.graph, self.channels
        branch = layer_norm(graph, channels, f"{name}.norm1", value, 1e-5)
        branch = self._rolled(f"{name}.roll", branch, self.shift)
        branch = self._attention(f"{name}.attention", branch)
        branch = self._rolled(f"{name}.unroll", branch, self.side - self.shift)
        value = graph.node("Add", f"{name}.sum1", value, branch)
        branch = layer_norm(graph, channels, f"{name}.norm2", value, 1e-5)
        branch = linear(graph, f"{name}.inner", branch, channels, 4 * channels)
        branch = gelu(graph, f"{name}.gelu", branch)
        branch = linear(graph, f"{name}.outer", branch, 4 * channels, channels)
        return graph.node("Add", f"{name}.sum2", value, branch)

    def _rolled(self, name: str, value: str, by: int) -> str:
        """Returns the image rolled up and to the left: `torch.roll` of two axes."""
        if by in (0, self.side):
            return value
        for axis in (1, 2):
            along = self.graph.stored(f"{name}{axis}.axis", [axis])
            first, last = (
                self._part(f"{name}{axis}.{low}", value, along, (low, high))
                for low, high in ((0, by), (by, self.side))
            )
            value = self.graph.node("Concat", f"{name}{axis}", last, first, axis=axis)
        return value

    def _part(self, name: str, value: str, along: str, bounds: tuple[int, int]) -> str:
        """Returns what lies between two places of an axis."""
        low, high = (
            self.graph.stored(f"{name}.{what}", [place])
            for what, place in zip(("low", "high"), bounds, strict=True)
        )
        return self.graph.node("Slice", name, value, low, high, along)

    def _attention(self, name: str, value: str) -> str:
        """Returns attention inside of windows."""
        graph, size, channels = self.graph, self.window, self.channels
        count, words = self.side // size, size * size
        value = self._moved(name, "cut", value, [1, count, size, count, size, channels])
        rows = graph.stored(f"{name}.rows", [count * count, words, channels])
        value = graph.node("Reshape", f"{name}.windows", value, rows)
        scores, values = self._scores(name, value, count * count, words)
        if self.shift:
            scores = self._masked(name, scores, count, words)
        value = self._context(name, scores, values, rows)
        value = self._moved(
            name, "back", value, [1, count, count, size, size, channels]
        )
        whole = graph.stored(f"{name}.whole", [1, self.side, self.side, channels])
        return graph.node("Reshape", f"{name}.image", value, whole)

    def _context(self, name: str, scores: str, values: str, rows: str) -> str:
        """Returns the values by their shares, heads side by side, projected."""
        graph, channels = self.graph, self.channels
        shares = graph.node("Softmax", f"{name}.shares", scores, axis=-1)
        context = graph.node("MatMul", f"{name}.context", shares, values)
        context = graph.node("Transpose", f"{name}.swap", context, perm=[0, 2, 1, 3])
        context = graph.node("Reshape", f"{name}.merged", context, rows)
        return linear(graph, f"{name}.output", context, channels, channels)

    def _moved(self, name: str, what: str, value: str, shape: list[int]) -> str:
        """Returns a value in a shape of six axes whose middle ones change places."""
        graph = self.graph
        sizes = graph.stored(f"{name}.{what}.sizes", shape)
        value = graph.node("Reshape", f"{name}.{what}", value, sizes)
        return graph.node(
            "Transpose", f"{name}.{what}.moved", value, perm=[0, 1, 3, 2, 4, 5]
        )

    def _scores(
        self, name: str, value: str, windows: int, words: int
    ) -> tuple[str, str]:
        """Returns the scores of each window's words, with a bias for each pair; values."""
        graph, depth = self.graph, self.channels // self.heads
        value = linear(graph, f"{name}.qkv", value, self.channels, 3 * self.channels)
        split = graph.stored(f"{name}.sizes", [windows, words, 3, self.heads, depth])
        value = graph.node("Reshape", f"{name}.split", value, split)
        value = graph.node("Transpose", f"{name}.kinds", value, perm=[2, 0, 3, 1, 4])
        query, keys, values = (
            graph.node("Gather", f"{name}.{kind}", value, number, axis=0)
            for kind in ("query", "key", "value")
            for number in [self._index(name, kind)]
        )
        query = self._scaled(name, query, depth)
        keys = graph.node("Transpose", f"{name}.keys", keys, perm=[0, 1, 3, 2])
        scores = graph.node("MatMul", f"{name}.scores", query, keys)
        bias = graph.weight(f"{name}.bias", _bias, 1, self.heads, words, words)
        return graph.node("Add", f"{name}.biased", scores, bias), values

    def _scaled(self, name: str, query: str, depth: int) -> str:
        root = self.graph.scalar(f"{name}.scale", depth**-0.5)
        return self.graph.node("Mul", f"{name}.scaled", query, root)

    def _index(self, name: str, kind: str) -> str:
        number = np.array(("query", "key", "value").index(kind), np.int64)
        return self.graph.stored(f"{name}.{kind}.index", number)

    def _masked(self, name: str, scores: str, count: int, words: int) -> str:
        """Returns the scores `[windows, heads, words, words]` with those of others lowered."""
        graph, windows = self.graph, count * count
        apart = graph.stored(f"{name}.a", [1, windows, self.heads, words, words])
        scores = graph.node("Reshape", f"{name}.apart", scores, apart)
        mask = graph.stored(f"{name}.mask", self._mask()[None, :, None])
        scores = graph.node("Add", f"{name}.masked", scores, mask)
        together = graph.stored(f"{name}.t", [-1, self.heads, words, words])
        return graph.node("Reshape", f"{name}.together", scores, together)

    def _mask(self) -> Weights:
        """Returns what is added to the scores of each window, `[windows, words, words]`."""
        size, count = self.window, self.side // self.window
        place = np.arange(self.side)
        part = (place >= self.side - size).astype(int) + (
            place >= self.side - self.shift
        )
        region = 3 * part[:, None] + part[None, :]
        region = region.reshape(count, size, count, size).transpose(0, 2, 1, 3)
        region = region.reshape(count * count, size * size)
        apart = region[:, :, None] != region[:, None, :]
        return np.where(apart, np.float32(MASKED), np.float32(0))
