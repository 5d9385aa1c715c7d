"""Random networks of an image [1, C, H, N] whose last axis is open."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import TensorProto, helper
from padding.networks import Network

MOST_STEPS = 6
LARGE = 9999
"""Beyond the end of any axis."""


class ImageNetwork(Network):
    """A network under construction: each step takes the last value."""

    def __init__(self, random: np.random.Generator) -> None:
        super().__init__(random)
        self.input_shape = 1, int(random.integers(1, 4)), int(random.integers(3, 7))
        self.channels = self.input_shape[1]
        self.value = "x"
        for _ in range(int(random.integers(2, MOST_STEPS + 1))):
            STEPS[int(random.integers(len(STEPS)))](self)

    def model(self) -> bytes:
        """The network as an ONNX model."""
        shape = [*self.input_shape, "N"]
        image = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
        result = helper.make_tensor_value_info(self.value, TensorProto.FLOAT, [*"abcd"])
        graph = helper.make_graph(self.nodes, "image", [image], [result], self.tables)
        opset = helper.make_opsetid("", 18)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=9)
        return model.SerializeToString()


def convolution(net: ImageNetwork) -> None:
    """Any strides, pads and dilations."""
    outputs, kernel = net.below(4, 1), (net.below(4, 1), net.below(5, 1))
    weights = net.weights(outputs, net.channels, *kernel)
    net.value = net.node(
        "Conv",
        net.value,
        weights,
        pads=[net.below(3) for _ in range(4)],
        strides=[1, net.below(4, 1)],
        dilations=[1, net.below(3, 1)],
    )
    net.channels = outputs


def transposed(net: ImageNetwork) -> None:
    """Any stride and pads along the open axis."""
    outputs, stride = net.below(4, 1), net.below(4, 1)
    weights = net.weights(net.channels, outputs, 1, net.below(5, 1))
    net.value = net.node(
        "ConvTranspose",
        net.value,
        weights,
        strides=[1, stride],
        pads=[0, net.below(2), 0, net.below(2)],
        output_padding=[0, net.below(stride)],
    )
    net.channels = outputs


def pooling(net: ImageNetwork) -> None:
    """A maximum or a mean of windows."""
    kind, width = net.one_of("MaxPool", "AveragePool"), net.below(5, 1)
    pads = [0, net.below(min(width, 3)), 0, net.below(min(width, 3))]
    more = {"count_include_pad": 1} if kind == "AveragePool" else {}
    net.value = net.node(
        kind,
        net.value,
        kernel_shape=[1, width],
        strides=[1, net.below(4, 1)],
        pads=pads,
        **more,
    )


def excitation(net: ImageNetwork) -> None:
    """All of a plane says something to each pixel."""
    whole = net.node(net.one_of("GlobalAveragePool", "GlobalMaxPool"), net.value)
    net.value = net.node(net.one_of("Add", "Mul"), net.value, whole)


def activation(net: ImageNetwork) -> None:
    """A function of pixels, which is no zero beyond the end."""
    net.value = net.node(net.one_of("Sigmoid", "Exp", "Neg", "Tanh"), net.value)
    net.value = net.node("Tanh", net.value)


def padding(net: ImageNetwork) -> None:
    """Columns more or fewer."""
    ends = net.ints(0, 0, 0, net.below(3), 0, 0, 0, net.below(3, -1))
    mode = net.one_of("constant", "edge", "reflect")
    number = net.table(np.float32(2 * net.below(2)))
    net.value = net.node("Pad", net.value, ends, number, mode=mode)


def part(net: ImageNetwork) -> None:
    """Columns from somewhere to somewhere."""
    start, end = (0, 1, 2, -2, -3)[net.below(5)], (LARGE, -1, -2)[net.below(3)]
    bounds = (
        net.ints(number) for number in (start, end, 3, (1, 1, 2, 3)[net.below(4)])
    )
    net.value = net.node("Slice", net.value, *bounds)


def enlargement(net: ImageNetwork) -> None:
    """Twice the columns."""
    scales = net.table([1, 1, 1, 2])
    mode = net.one_of("nearest", "linear", "cubic")
    more = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    more = more if mode == "nearest" else {}
    net.value = net.node("Resize", net.value, "", scales, mode=mode, **more)


def reduction(net: ImageNetwork) -> None:
    """A number of the rows, planes or the image, added to each pixel."""
    kinds = ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceSum", "ReduceLogSumExp")
    axes = net.ints(*((3,), (2, 3), (1, 2, 3))[net.below(3)])
    number = net.node("Tanh", net.node(net.one_of(*kinds), net.value, axes))
    net.value = net.node("Add", net.value, number)


def shares(net: ImageNetwork) -> None:
    """Over channels or columns."""
    kind = net.one_of("Softmax", "LogSoftmax")
    net.value = net.node(kind, net.value, axis=(1, 3, 3)[net.below(3)])


def sums(net: ImageNetwork) -> None:
    """Of the columns before, or behind."""
    axis = net.table(np.int64(3), "i8")
    options = {"reverse": net.below(2), "exclusive": net.below(2)}
    net.value = net.node("CumSum", net.node("Tanh", net.value), axis, **options)


def pixels(net: ImageNetwork) -> None:
    """Channels become rows and columns."""
    joined = net.node("Concat", *[net.value] * 4, axis=1)
    mode = net.one_of("DCR", "CRD")
    net.value = net.node("DepthToSpace", joined, blocksize=2, mode=mode)


def last_column(net: ImageNetwork) -> None:
    """Added to each."""
    bounds = (net.ints(number) for number in (-1, LARGE, 3))
    net.value = net.node("Add", net.value, net.node("Slice", net.value, *bounds))


def recurrence(net: ImageNetwork) -> None:
    """Over columns, in any direction; all states, and the last."""
    turned = net.node("Transpose", net.value, perm=[3, 0, 1, 2])
    steps = net.node("ReduceMean", turned, net.ints(3), keepdims=0)
    direction = net.one_of("forward", "reverse", "bidirectional")
    count, kind = 1 + (direction == "bidirectional"), net.one_of("LSTM", "GRU")
    rows = 2 * (4 if kind == "LSTM" else 3)
    weights = net.weights(count, rows, net.channels), net.weights(count, rows, 2)
    states, last = f"{net.new()}s", f"{net.new()}l"
    options = {"hidden_size": 2, "direction": direction}
    node = helper.make_node(kind, [steps, *weights], [states, last], **options)
    net.nodes.append(node)
    image = net.node("Transpose", states, perm=[2, 1, 3, 0])
    flat = net.node("Reshape", last, net.ints(1, 1, 1, -1))
    net.value = net.node("Add", image, net.node("ReduceMax", flat, net.ints(3)))
    net.channels = count


def attention(net: ImageNetwork) -> None:
    """Between columns."""
    queries = net.node("Transpose", net.value, perm=[0, 1, 3, 2])
    scores = net.node("MatMul", queries, net.node("Tanh", net.value))
    mixed = net.node("MatMul", net.node("Softmax", scores, axis=-1), queries)
    net.value = net.node("Transpose", mixed, perm=[0, 1, 3, 2])


def normalization(net: ImageNetwork) -> None:
    """Of each channel."""
    parameters = net.table(np.ones(net.channels)), net.table(np.zeros(net.channels))
    net.value = net.node("InstanceNormalization", net.value, *parameters)


STEPS: tuple[Callable[[ImageNetwork], None], ...] = (
    convolution,
    transposed,
    pooling,
    excitation,
    activation,
    padding,
    part,
    enlargement,
    reduction,
    shares,
    sums,
    pixels,
    last_column,
    recurrence,
    attention,
    normalization,
)
