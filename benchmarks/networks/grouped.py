"""Residual networks of convolutions in narrow groups: RegNetX, ResNeXt.

Radosavovic et al. 2020, "Designing network design spaces"; Xie et al. 2017, "Aggregated residual
transformations". Batch normalizations are folded, as PyTorch's exporter leaves them.
"""

from dataclasses import dataclass

from onnx import ModelProto, TensorProto

from benchmarks.networks.builder import GraphBuilder
from benchmarks.networks.layers import conv, linear

Stage = tuple[int, int, int]
"""Blocks, channels of the convolution in groups, channels of the block."""


@dataclass(frozen=True)
class Grouped:
    """The size of a network."""

    name: str
    stages: tuple[Stage, ...]
    group_width: int = 0
    groups: int = 0
    """One of the two says how channels are divided."""
    stem: int = 32
    stem_kernel: int = 3
    pooled: bool = False
    image_size: int = 224
    classes: int = 1000


REGNET = Grouped(
    "regnet", ((1, 24, 24), (1, 56, 56), (4, 152, 152), (7, 368, 368)), group_width=8
)
RESNEXT = Grouped(
    "resnext",
    ((3, 128, 256), (4, 256, 512), (6, 512, 1024), (3, 1024, 2048)),
    groups=32,
    stem=64,
    stem_kernel=7,
    pooled=True,
)
TINY = Grouped(
    "regnet_tiny", ((1, 24, 24), (2, 40, 40)), group_width=8, image_size=20, classes=7
)


def build(size: Grouped) -> ModelProto:
    """Returns a network from an image `[1, 3, H, W]` to logits `[1, classes]`."""
    graph = GraphBuilder(size.name)
    shape = (1, 3, size.image_size, size.image_size)
    value = graph.input("image", TensorProto.FLOAT, shape)
    kernel = size.stem_kernel
    weight = (size.stem, 3, kernel, kernel)
    pads = [kernel // 2] * 4
    value = conv(graph, "stem", value, weight, strides=[2, 2], pads=pads)
    value = graph.node("Relu", "stem.relu", value)
    if size.pooled:
        window = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}
        value = graph.node("MaxPool", "stem.pool", value, **window)
    channels = size.stem
    for number, (blocks, inner, outer) in enumerate(size.stages):
        for block in range(blocks):
            first = number == 0 and size.pooled
            stride = 1 if block or first else 2
            widths = (channels, inner, outer)
            value = _block(graph, size, f"stage{number}.{block}", value, widths, stride)
            channels = outer
    value = graph.node("GlobalAveragePool", "pool", value)
    value = graph.node("Flatten", "features", value, axis=1)
    value = linear(graph, "logits", value, channels, size.classes)
    graph.output(value, (1, size.classes))
    return graph.model()


def _block(
    graph: GraphBuilder,
    size: Grouped,
    name: str,
    value: str,
    widths: tuple[int, int, int],
    stride: int,
) -> str:
    """Returns 1 x 1, 3 x 3 in groups, 1 x 1, and the shortcut, behind a ReLU."""
    inputs, inner, outer = widths
    groups = size.groups or inner // size.group_width
    branch = conv(graph, f"{name}.reduce", value, (inner, inputs, 1, 1))
    branch = graph.node("Relu", f"{name}.reduce.relu", branch)
    branch = conv(
        graph,
        f"{name}.groups",
        branch,
        (inner, inner // groups, 3, 3),
        group=groups,
        strides=[stride, stride],
        pads=[1] * 4,
    )
    branch = graph.node("Relu", f"{name}.groups.relu", branch)
    branch = conv(graph, f"{name}.expand", branch, (outer, inner, 1, 1))
    if stride != 1 or inputs != outer:
        weight, strides = (outer, inputs, 1, 1), [stride, stride]
        value = conv(graph, f"{name}.shortcut", value, weight, strides=strides)
    total = graph.node("Add", f"{name}.sum", branch, value)
    return graph.node("Relu", f"{name}.relu", total)
