"""An ONNX image network as a TensorFlow function: the same sums, channels last.

TensorFlow reads no ONNX. Values of four dimensions are held as NHWC, which is the layout that
its convolutions on the CPU are made for; inputs are transposed once, and so is what a Reshape
flattens. Only what the image networks of the benchmarks hold is here.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import tensorflow as tf
from graph_walk import Attributes, Emit, GraphWalk

# pyright: basic, reportMissingImports=false


def translate(model: onnx.ModelProto) -> Callable[..., Any]:
    """Returns a function of the network's inputs, NCHW, which returns its output.

    Raises ValueError that names the operators that have no translation.
    """
    walk = GraphWalk(model, EMITTERS)

    def run(*inputs):
        last = [tf.transpose(value, [0, 2, 3, 1]) for value in inputs]
        result = walk.run(walk.weights | dict(zip(walk.inputs, last, strict=True)))
        return tf.transpose(result, [0, 3, 1, 2]) if len(result.shape) == 4 else result

    return run


def conv(operands: list, attributes: Attributes):
    x, weights, *bias = operands
    x = _pad(x, attributes, 0.0)
    y = tf.nn.conv2d(
        x,
        tf.constant(np.ascontiguousarray(weights.transpose(2, 3, 1, 0))),
        attributes.get("strides", [1, 1]),
        "VALID",
        dilations=attributes.get("dilations", [1, 1]),
    )
    return tf.nn.bias_add(y, bias[0]) if bias else y


def batch_normalization(operands: list, attributes: Attributes):
    epsilon = attributes.get("epsilon", 1e-5)
    y, *_ = tf.compat.v1.nn.fused_batch_norm(
        *operands, epsilon=epsilon, is_training=False
    )
    return y


def max_pool(operands: list, attributes: Attributes):
    x = _pad(operands[0], attributes, float("-inf"))
    window = attributes["kernel_shape"], attributes.get("strides", [1, 1])
    return tf.nn.max_pool2d(x, *window, "VALID")


def average_pool(operands: list, attributes: Attributes):
    if any(attributes.get("pads", ())) and not attributes.get("count_include_pad"):
        raise ValueError("no translation to TensorFlow of AveragePool with padding")
    x = _pad(operands[0], attributes, 0.0)
    window = attributes["kernel_shape"], attributes.get("strides", [1, 1])
    return tf.nn.avg_pool2d(x, *window, "VALID")


def _pad(x, attributes: Attributes, value: float):
    top, left, bottom, right = attributes.get("pads", [0] * 4)
    if not any((top, left, bottom, right)):
        return x
    return tf.pad(
        x, [[0, 0], [top, bottom], [left, right], [0, 0]], constant_values=value
    )


def gemm(operands: list, attributes: Attributes):
    x, weights, *bias = operands
    y = tf.matmul(x, weights, transpose_b=bool(attributes.get("transB")))
    return y + bias[0] if bias else y


def reshape(operands: list, _: Attributes):
    x, shape = operands
    if len(x.shape) == 4:
        x = tf.transpose(x, [0, 3, 1, 2])
    return tf.reshape(x, [int(extent) for extent in shape])


def flatten(operands: list, _: Attributes):
    x = operands[0]
    return reshape([x, np.array([x.shape[0], -1])], {})


def unsqueeze(operands: list, _: Attributes):
    """A scale per channel: channels last, it broadcasts as it is."""
    return operands[0]


def concat(operands: list, attributes: Attributes):
    axis = attributes["axis"]
    return tf.concat(operands, -1 if axis == 1 else axis)


def softmax(operands: list, _: Attributes):
    return tf.nn.softmax(operands[0])


def local_response_normalization(operands: list, attributes: Attributes):
    size = attributes["size"]
    alpha, bias = attributes["alpha"] / size, attributes["bias"]
    return tf.nn.lrn(operands[0], (size - 1) // 2, bias, alpha, attributes["beta"])


def clip(operands: list, attributes: Attributes):
    x, *bounds = operands
    low, high = bounds or (attributes["min"], attributes["max"])
    if low == 0 and high == 6:
        return tf.nn.relu6(x)
    return tf.clip_by_value(x, low, high)


EMITTERS: dict[str, Emit] = {
    "AveragePool": average_pool,
    "BatchNormalization": batch_normalization,
    "Clip": clip,
    "Concat": concat,
    "Conv": conv,
    "Flatten": flatten,
    "Gemm": gemm,
    "GlobalAveragePool": lambda operands, _: tf.reduce_mean(
        operands[0], [1, 2], keepdims=True
    ),
    "LRN": local_response_normalization,
    "MaxPool": max_pool,
    "Relu": lambda operands, _: tf.nn.relu(operands[0]),
    "Reshape": reshape,
    "Softmax": softmax,
    "Unsqueeze": unsqueeze,
}
