"""What examples of layers, losses and optimizers must give: loops over samples and elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from support.nodes.differential import Array, Example

from glow.dialects import glow
from glow.dialects.node import NodeOp


def _mse(_: dict[str, Any], x: float, target: float) -> float:
    return (x - target) ** 2


def _l1(_: dict[str, Any], x: float, target: float) -> float:
    return abs(x - target)


def _huber(given: dict[str, Any], x: float, target: float) -> float:
    delta, distance = given["delta"], abs(x - target)
    return distance**2 / 2 if distance < delta else delta * distance - delta**2 / 2


def _bce(_: dict[str, Any], x: float, target: float, weight: float = 1.0) -> float:
    hit = -math.log1p(math.exp(-x)) if x > 0 else x - math.log1p(math.exp(x))
    missed = hit - x
    return -weight * target * hit - (1 - target) * missed


def _kl_div(given: dict[str, Any], x: float, target: float) -> float:
    if given.get("log_target"):
        return math.exp(target) * (target - x)
    return target * (math.log(target) - x) if target else 0.0


def elements(loss: Callable[..., float]) -> Callable[[Example], Array]:
    """A loss of each element, reduced."""

    def expect(example: Example) -> Array:
        given = example.attributes
        operands = np.broadcast_arrays(*example.inputs)
        wide = zip(*(array.ravel().tolist() for array in operands), strict=True)
        losses = [loss(given, *numbers) for numbers in wide]
        kind, shape = given.get("reduction", "mean"), operands[0].shape
        if kind == "none":
            return np.reshape(losses, shape).astype(np.float32)
        counts = {"mean": len(losses), "sum": 1, "batchmean": (*shape, 1)[0]}
        return np.float32(math.fsum(losses) / counts[kind])

    return expect


def classes(example: Example) -> Array:
    """Sample by sample."""
    given, (x, labels, *weights) = example.attributes, example.inputs
    rows = np.moveaxis(x, min(1, x.ndim - 1), -1).astype(np.float64)
    if example.node is glow.CrossEntropyOp:
        rows = rows - np.log(np.sum(np.exp(rows), axis=-1, keepdims=True))
    count, smooth = rows.shape[-1], given.get("label_smoothing", 0.0)
    factors = weights[0].tolist() if weights else [1.0] * count
    losses, total = [], 0.0
    for row, label in zip(rows.reshape(-1, count), labels.ravel(), strict=True):
        if label == given.get("ignore_index", -100):
            losses.append(0.0)
            continue
        every = math.fsum(-factors[c] * row[c] for c in range(count))
        own = -factors[label] * row[label]
        losses.append((1 - smooth) * own + smooth / count * every)
        total += factors[label]
    kind = given.get("reduction", "mean")
    if kind == "none":
        return np.reshape(losses, labels.shape).astype(np.float32)
    if kind == "mean" and not total:
        return np.float32(np.nan)
    return np.float32(math.fsum(losses) / (total if kind == "mean" else 1))


Numbers = Sequence[float]


def _sgd(given, rate, step, x, slope, *m):
    decay, kept = given.get("weight_decay", 0.0), 1.0
    slope += given.get("l1", 0.0) * (x > 0) - given.get("l1", 0.0) * (x < 0)
    if given.get("decoupled"):
        kept = 1 - rate * decay
    else:
        slope += decay * x
    if not m:
        return [kept * x - rate * slope]
    damped = slope * (1 - given.get("dampening", 0.0) if step > 1 else 1)
    velocity = given["momentum"] * m[0] + damped
    used = slope + given["momentum"] * velocity if given.get("nesterov") else velocity
    return [kept * x - rate * used, velocity]


def _adam(given, rate, step, x, slope, *m):
    decay = given.get("weight_decay", 0.0)
    if given.get("decoupled"):
        x -= rate * decay * x
    else:
        slope += decay * x
    first, second = 0.9 * m[0] + 0.1 * slope, 0.999 * m[1] + 0.001 * slope**2
    largest = max(second, *m[2:]) if given.get("amsgrad") else second
    size = math.sqrt(largest / (1 - 0.999**step)) + 1e-8
    if given.get("epsilon_hat"):
        root = math.sqrt(1 - 0.999**step)
        size = (math.sqrt(second) + given["epsilon"]) / root
    x -= rate * first / (1 - 0.9**step) / size
    return [x, first, second, largest][: 1 + len(m)]


def _rmsprop(given, rate, step, x, slope, *m):
    slope += given.get("weight_decay", 0.0) * x
    square = 0.99 * m[0] + 0.01 * slope**2
    average = 0.99 * m[-1] + 0.01 * slope if given.get("centered") else 0.0
    used = slope / (math.sqrt(square - average**2) + 1e-8)
    if not given.get("momentum"):
        return [x - rate * used, square]
    used += given["momentum"] * m[1]
    return [x - rate * used, square, used, average]


def _adagrad(given, rate, step, x, slope, *m):
    slope += given["weight_decay"] * x
    total = m[0] + slope**2
    rate /= 1 + given["rate_decay"] * (step - 1)
    return [x - rate * slope / (math.sqrt(total) + 1e-10), total]


def lamb(example: Example) -> list[Array]:
    """A parameter at a time: Adam's direction without a rate, then the norms."""
    rate, _, *tensors = example.inputs
    directions = optimizer(_lamb)(example)
    for k in range(3):
        x, direction = tensors[k].astype(np.float64), directions[k]
        ratio = np.linalg.norm(x.ravel()) / np.linalg.norm(direction.ravel())
        directions[k] = (x - float(rate) * ratio * direction).astype(np.float32)
    return directions


def _lamb(given, rate, step, x, slope, *m):
    first, second = 0.9 * m[0] + 0.1 * slope, 0.999 * m[1] + 0.001 * slope**2
    size = math.sqrt(second / (1 - 0.999**step)) + 1e-6
    decay = given["weight_decay"] * x
    return [first / (1 - 0.9**step) / size + decay, first, second]


def optimizer(update: Callable[..., Numbers]) -> Callable[[Example], list[Array]]:
    """Element by element."""

    def expect(example: Example) -> list[Array]:
        rate, step, *tensors = example.inputs
        count = sum(
            tensor.shape == tensors[0].shape for tensor in tensors
        )  # shapes differ, and each parameter's comes once a kind
        parameters = len(tensors) // count
        results: list[list[Array]] = []
        for k in range(parameters):
            own = tensors[k::parameters]
            rows = zip(*(array.ravel().tolist() for array in own), strict=True)
            new = [update(example.attributes, float(rate), int(step), *r) for r in rows]
            columns = np.transpose(new).astype(np.float32)
            results.append([column.reshape(own[0].shape) for column in columns])
        return [array for kind in zip(*results, strict=True) for array in kind]

    return expect


def batch_norm(example: Example) -> list[Array]:
    """Channel by channel."""
    epsilon = example.attributes.get("epsilon", 1e-5)
    momentum = example.attributes.get("momentum", 0.1)
    x, scale, bias, *averages = example.inputs
    result, means, variances = np.empty_like(x), *map(np.copy, averages)
    for c in range(x.shape[1]):
        elements = x[:, c].astype(np.float64)
        size = math.sqrt(np.var(elements) + epsilon)
        result[:, c] = (elements - np.mean(elements)) / size * scale[c] + bias[c]
        drawn = np.mean(elements), np.var(elements, ddof=1)
        for average, new in zip((means, variances), drawn, strict=True):
            average[c] += momentum * (new - average[c])
    return [result, means, variances]


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Philox 4x32-10, in Python's integers."""
    for number in range(10):
        left, right = (
            (key[0] + number * 0x9E3779B9) % 2**32,
            (key[1] + number * 0xBB67AE85) % 2**32,
        )
        one, other = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
        counter = [
            (other >> 32) ^ counter[1] ^ left,
            other % 2**32,
            (one >> 32) ^ counter[3] ^ right,
            one % 2**32,
        ]
    return counter


def drawn(seed: Array, stream: int, shape: Sequence[int]) -> Array:
    """Random numbers of a shape; element i is a word of the counter that it falls on."""
    size = math.prod(shape)
    blocks = max(-(-size // 4), 1)
    blocks = blocks if blocks <= 1024 else -(-blocks // 1024) * 1024
    key, call = (int(number) % 2**64 for number in seed)
    words = {}
    numbers = []
    for element in range(size):
        word, block = divmod(element, blocks)
        if block not in words:
            counter = [block, stream, call % 2**32, call >> 32]
            words[block] = philox(counter, [key % 2**32, key >> 32])
        numbers.append((words[block][word] >> 8) / 2**24)
    return np.reshape(numbers, shape).astype(np.float32)


def random_uniform(example: Example) -> Array:
    """Numbers by the definition of the generator."""
    assert example.result is not None
    stream = example.attributes.get("stream", 0)
    return drawn(example.inputs[0], stream, example.result.get_shape())


def dropout(example: Example) -> Array:
    """What remains is as much larger."""
    x, seed = example.inputs
    ratio = example.attributes["ratio"]
    kept = drawn(seed, example.attributes.get("stream", 0), x.shape) >= ratio
    return np.where(kept, x / max(1 - ratio, 1e-9), 0).astype(x.dtype)


TRAINING: dict[type[NodeOp], Callable[[Example], Any]] = {
    glow.MseLossOp: elements(_mse),
    glow.L1LossOp: elements(_l1),
    glow.HuberLossOp: elements(_huber),
    glow.BceWithLogitsOp: elements(_bce),
    glow.KlDivOp: elements(_kl_div),
    glow.NllLossOp: classes,
    glow.CrossEntropyOp: classes,
    glow.BatchNormTrainingOp: batch_norm,
    glow.RandomUniformOp: random_uniform,
    glow.DropoutOp: dropout,
    glow.SgdOp: optimizer(_sgd),
    glow.AdamOp: optimizer(_adam),
    glow.RmspropOp: optimizer(_rmsprop),
    glow.AdagradOp: optimizer(_adagrad),
    glow.LambOp: lamb,
}
