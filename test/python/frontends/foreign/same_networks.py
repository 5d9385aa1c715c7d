"""Networks in ONNX whose optimized graphs are compared with those of other tools' texts.

Their weights are what `make_same_jax.py` and `make_same_torch.py` put into the same networks.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Weights(dict):
    """Seeded arrays by name."""

    def __init__(self, seed):
        super().__init__()
        self.rng = np.random.default_rng(seed)

    def add(self, shape, *names):
        """Numbers around 0."""
        for name in names:
            self[name] = (self.rng.standard_normal(shape) * 0.3).astype(np.float32)

    def add_scales(self, shape, *names):
        """Numbers around 1."""
        for name in names:
            self[name] = (self.rng.random(shape) + 0.5).astype(np.float32)


class Layers:
    """An ONNX graph that is written layer by layer."""

    def __init__(self, weights):
        self.nodes = []
        self.arrays = dict(weights)

    def __call__(self, operator, *inputs, **attributes):
        """A node; its output."""
        output = f"v{len(self.nodes)}"
        inputs = [self.constant(one) for one in inputs]
        node = helper.make_node(operator, inputs, [output], **attributes)
        self.nodes.append(node)
        return output

    def constant(self, value):
        """The name of a value: an array or a list becomes a constant."""
        if isinstance(value, str):
            return value
        name = f"c{len(self.arrays)}"
        self.arrays[name] = np.asarray(value)
        return name

    def model(self, inputs, output, shape, element=TensorProto.FLOAT):
        """The model; inputs are (name, element, shape)."""
        infos = [
            helper.make_tensor_value_info(*one)
            for one in (*inputs, (output, element, shape))
        ]
        tensors = [numpy_helper.from_array(a, n) for n, a in self.arrays.items()]
        graph = helper.make_graph(self.nodes, "main", infos[:-1], infos[-1:], tensors)
        opsets = [helper.make_opsetid("", 21)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        onnx.checker.check_model(model)
        return model


IMAGE, CHANNELS, CLASSES = (2, 8, 6, 3), 8, 4
BLOCKS = ("first", "second")


def residual_weights():
    """Of a convolution, two blocks of two with batch normalization, and a dense layer."""
    weights = Weights(11)
    weights.add((CHANNELS, 3, 3, 3), "stem")
    for block in BLOCKS:
        for half in (f"{block}1", f"{block}2"):
            weights.add((CHANNELS, CHANNELS, 3, 3), half)
            weights.add_scales(CHANNELS, f"{half}_scale", f"{half}_variance")
            weights.add(CHANNELS, f"{half}_bias", f"{half}_mean")
    weights.add((CLASSES, CHANNELS), "head")
    weights.add(CLASSES, "head_bias")
    return weights


def residual():
    """A residual network, a mean pool that leaves the border out between its blocks."""
    layer = Layers(residual_weights())

    def normalized(x, name):
        x = layer("Conv", x, name, pads=[1] * 4)
        kinds = ("scale", "bias", "mean", "variance")
        return layer("BatchNormalization", x, *(f"{name}_{kind}" for kind in kinds))

    x = layer("Transpose", "x", perm=[0, 3, 1, 2])
    x = layer("Relu", layer("Conv", x, "stem", pads=[1] * 4))
    for block in BLOCKS:
        y = layer("Relu", normalized(x, f"{block}1"))
        x = layer("Relu", layer("Add", normalized(y, f"{block}2"), x))
        if block == "first":
            x = layer("AveragePool", x, kernel_shape=[3, 3], pads=[1] * 4)
    x = layer("Flatten", layer("GlobalAveragePool", x))
    x = layer("Gemm", x, "head", "head_bias", transB=1)
    x = layer("Softmax", x, axis=-1)
    return layer.model([("x", TensorProto.FLOAT, IMAGE)], x, (IMAGE[0], CLASSES))


PLANE_GROUPS = 4


def grouped_weights():
    """Of two convolutions with a group normalization between, and a dense layer."""
    weights = Weights(17)
    weights.add((CHANNELS, 3, 3, 3), "stem")
    weights.add_scales(CHANNELS, "scale")
    weights.add(CHANNELS, "bias")
    weights.add((CHANNELS, CHANNELS, 3, 3), "second")
    weights.add((CLASSES, CHANNELS), "head")
    weights.add(CLASSES, "head_bias")
    return weights


def grouped():
    """Two convolutions with a group normalization between, and a dense layer."""
    layer = Layers(grouped_weights())
    x = layer("Conv", layer("Transpose", "x", perm=[0, 3, 1, 2]), "stem", pads=[1] * 4)
    groups = {"num_groups": PLANE_GROUPS, "epsilon": 1e-5}
    x = layer("Relu", layer("GroupNormalization", x, "scale", "bias", **groups))
    x = layer("GlobalAveragePool", layer("Conv", x, "second", pads=[1] * 4))
    x = layer("Gemm", layer("Flatten", x), "head", "head_bias", transB=1)
    return layer.model([("x", TensorProto.FLOAT, IMAGE)], x, (IMAGE[0], CLASSES))


BATCH, LENGTH, WIDTH, HEADS, INNER, WORDS = 2, 5, 16, 2, 32, 7
TOKENS = (BATCH, LENGTH, WIDTH)


def encoder_weights():
    """Of attention, of two layers of two products each, and of a product for the words."""
    weights = Weights(12)
    weights.add((WIDTH, WIDTH), "query", "key", "value", "output")
    weights.add((INNER, WIDTH), "up", "second_up")
    weights.add((WIDTH, INNER), "down", "second_down")
    weights.add((WORDS, WIDTH), "head")
    for name, array in list(weights.items()):
        weights.add(len(array), f"{name}_bias")
    weights.add_scales(WIDTH, "first_scale", "second_scale")
    weights.add(WIDTH, "first_shift", "second_shift")
    return weights


def encoder():
    """A transformer's encoder layer with a mask; GELU in both forms; the best word."""
    weights = encoder_weights()
    layer = Layers(weights)

    def dense(x, name):
        product = layer("MatMul", x, weights[name].T.copy())
        return layer("Add", product, f"{name}_bias")

    def normalized(x, name):
        parameters = f"{name}_scale", f"{name}_shift"
        return layer("LayerNormalization", x, *parameters, axis=-1, epsilon=1e-5)

    def heads(x, permutation):
        x = layer("Reshape", x, [BATCH, LENGTH, HEADS, WIDTH // HEADS])
        return layer("Transpose", x, perm=permutation)

    x = normalized("x", "first")
    query = heads(dense(x, "query"), [0, 2, 1, 3])
    key = heads(dense(x, "key"), [0, 2, 3, 1])
    value = heads(dense(x, "value"), [0, 2, 1, 3])
    root = np.float32((WIDTH // HEADS) ** 0.5)
    scores = layer("Div", layer("MatMul", query, key), root)
    mask = layer("Unsqueeze", "mask", [1, 2])
    scores = layer("Where", mask, scores, np.float32(-1e9))
    x = layer("MatMul", layer("Softmax", scores, axis=-1), value)
    x = layer("Transpose", x, perm=[0, 2, 1, 3])
    x = dense(layer("Reshape", x, [BATCH, LENGTH, WIDTH]), "output")
    x = layer("Add", "x", x)
    y = layer("Gelu", dense(normalized(x, "second"), "up"), approximate="tanh")
    x = layer("Add", x, dense(y, "down"))
    y = layer("Gelu", dense(x, "second_up"))
    x = layer("Add", x, dense(y, "second_down"))
    x = layer("ArgMax", dense(x, "head"), axis=-1, keepdims=0)
    inputs = [("x", TensorProto.FLOAT, TOKENS), ("mask", TensorProto.BOOL, TOKENS[:2])]
    return layer.model(inputs, x, TOKENS[:2], TensorProto.INT64)


STEPS, FEATURES, STATES, GROUPS, LABELS = 5, 6, 8, 4, 3
SERIES = (STEPS, BATCH, FEATURES)


def pieces_weights():
    """Of an LSTM with gates in the order of JAX and PyTorch, norms and a dense layer."""
    weights = Weights(13)
    weights.add((4 * STATES, FEATURES), "input")
    weights.add((4 * STATES, STATES), "hidden")
    weights.add(4 * STATES, "bias")
    weights.add_scales(STATES, "rms_scale", "group_scale")
    weights.add(STATES, "group_shift")
    weights.add((LABELS, STATES), "head")
    weights.add(LABELS, "head_bias")
    return weights


def pieces():
    """An LSTM, RMS norm, SiLU, group norm and log-softmax behind each other."""
    weights = pieces_weights()
    layer = Layers(weights)

    def gates(array):
        """In ONNX's order, with an axis for directions."""
        i, f, g, o = np.split(array, 4)
        return np.concatenate([i, o, f, g])[None]

    bias = gates(weights["bias"])
    bias = np.concatenate([bias, np.zeros_like(bias)], axis=1)
    of_gates = gates(weights["input"]), gates(weights["hidden"]), bias
    x = layer("Squeeze", layer("LSTM", "x", *of_gates, hidden_size=STATES), [1])
    mean = layer("ReduceMean", layer("Mul", x, x), [-1], keepdims=1)
    root = layer("Sqrt", layer("Add", mean, np.float32(1e-6)))
    x = layer("Mul", layer("Mul", x, layer("Reciprocal", root)), "rms_scale")
    x = layer("Transpose", layer("Mul", x, layer("Sigmoid", x)), perm=[1, 2, 0])
    parameters = "group_scale", "group_shift"
    x = layer("GroupNormalization", x, *parameters, num_groups=GROUPS, epsilon=1e-5)
    x = layer("MatMul", layer("Transpose", x, perm=[0, 2, 1]), weights["head"].T.copy())
    x = layer("LogSoftmax", layer("Add", x, "head_bias"), axis=-1)
    inputs = [("x", TensorProto.FLOAT, SERIES)]
    return layer.model(inputs, x, (BATCH, STEPS, LABELS))
