"""Layers of networks in training, and the random numbers of dropout."""

from __future__ import annotations

import math

import numpy as np
from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.glow.training.layers import counter_grid
from glow.dialects.node import GlowOp
from glow.interpreter.arrays import Array, widen
from glow.interpreter.normalization import per_channel
from glow.interpreter.scalar_functions import Function
from glow.interpreter.shape import result_shape


def run_batch_norm_training(
    op: GlowOp, x: Array, scale: Array, bias: Array, mean: Array, variance: Array
) -> tuple[Array, Array, Array]:
    """`glow.batch_norm_training`."""
    attributes, axes = op.attributes_view(), (0, *range(2, x.ndim))
    momentum, image = attributes.float("momentum"), widen(x)
    batch_mean = np.mean(image, axis=axes)
    centred = image - per_channel(batch_mean, x.ndim)
    batch_variance = np.mean(centred**2, axis=axes)
    deviation = np.sqrt(batch_variance + attributes.float("epsilon"))
    scaled = centred * per_channel(widen(scale) / deviation, x.ndim)
    count = image.size / max(image.shape[1], 1)
    unbiased = batch_variance * count / (count - 1)
    return (
        scaled + per_channel(bias, x.ndim),
        (1 - momentum) * widen(mean) + momentum * batch_mean,
        (1 - momentum) * widen(variance) + momentum * unbiased,
    )


def philox(counter: Array, key: Array) -> Array:
    """The words [4, n] of counters [4, n] with a key [2], all of uint64 below 2^32."""
    word, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    multipliers = np.array([[0xD2511F53], [0xCD9E8D57]], np.uint64)
    steps = np.array([0x9E3779B9, 0xBB67AE85], np.uint64)
    for number in range(10):
        left, right = (key + np.uint64(number) * steps) & word
        products = counter[::2] * multipliers
        (high0, high1), (low0, low1) = products >> shift, products & word
        counter = np.stack(
            [high1 ^ counter[1] ^ left, low1, high0 ^ counter[3] ^ right, low0]
        )
    return counter


def uniform(seed: Array, stream: int, shape: tuple[int, ...]) -> Array:
    """Numbers in [0, 1): the first words of all counters, then the second ones, ..."""
    size = math.prod(shape)
    count = math.prod(counter_grid(size))
    key, call = seed.astype(np.uint64).tolist()
    counter = np.zeros((4, count), np.uint64)
    counter[0], counter[1] = np.arange(count), stream
    counter[2], counter[3] = call & 0xFFFFFFFF, call >> 32
    words = philox(counter, np.array([key & 0xFFFFFFFF, key >> 32], np.uint64))
    numbers = (words >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24)
    return numbers.reshape(-1)[:size].reshape(shape)


def run_random_uniform(op: GlowOp, seed: Array) -> Array:
    """`glow.random_uniform`."""
    return uniform(seed, op.attributes_view().int("stream"), result_shape(op))


def run_dropout(op: GlowOp, x: Array, seed: Array) -> Array:
    """`glow.dropout`."""
    attributes = op.attributes_view()
    ratio = np.float32(attributes.float("ratio"))
    dropped = uniform(seed, attributes.int("stream"), x.shape) < ratio
    kept = widen(x) / (1 - float(ratio)) if ratio < 1 else widen(x)
    return np.where(dropped, 0.0, kept)


NODES: dict[type[Operation], Function] = {
    glow.BatchNormTrainingOp: run_batch_norm_training,
    glow.RandomUniformOp: run_random_uniform,
    glow.DropoutOp: run_dropout,
}
