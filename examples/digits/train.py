"""Trains the networks of this folder on scikit-learn's bundled digits, in plain NumPy.

python -m examples.digits.train     (from the root of the repository; a minute)

Images are 8 x 8 of 16 grey levels, of ten classes. `digits.onnx` is a small residual
network, `mlp.onnx` has linear layers only, `depthwise.onnx` depthwise-separable
convolutions and an inverted residual block. 540 images are held back, and stored beside
the networks with some of the others to calibrate by, so that to use them needs no
scikit-learn.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto
from sklearn.datasets import load_digits

from benchmarks.networks.builder import GraphBuilder
from examples.digits.layers import (
    Array,
    BatchNorm,
    Classifier,
    Convolution,
    Depthwise,
    Flatten,
    Layer,
    Linear,
    Parameter,
    Relu,
    Residual,
    Sequence,
)

FOLDER = Path(__file__).parent
SEED = 1797
EPOCHS = 30
BATCH = 50
LEARNING_RATE = 3e-3
GREY_LEVELS = 16
CLASSES = 10
HELD_BACK = 540
CALIBRATION = 256

Images = NDArray[np.uint8]
"""Grey levels 0 to 16, `[N, 8, 8]`."""
Labels = NDArray[np.int64]


def main() -> int:
    images, labels = load(np.random.default_rng(SEED))
    held_back = images[:HELD_BACK], labels[:HELD_BACK]
    for name, make in NETWORKS.items():
        rng = np.random.default_rng(SEED)
        network = make(rng)
        train(network, normalise(images[HELD_BACK:]), labels[HELD_BACK:], rng)
        share = accuracy(network, *held_back)
        print(f"{name}: {share:.4f} of {HELD_BACK} held-back digits right")
        model = export(network).SerializeToString()
        (FOLDER / f"{name}.onnx").write_bytes(model)
    store("held_back.npz", *held_back)
    end = HELD_BACK + CALIBRATION
    calibration = images[HELD_BACK:end]
    inputs = normalise(calibration)[:, None]
    store("calibration.npz", calibration, labels[HELD_BACK:end], image=inputs)
    return 0


def store(name: str, images: Images, labels: Labels, **inputs: Array) -> None:
    """Write images and their labels, and inputs by their names in the networks."""
    digits = labels.astype(np.uint8)
    np.savez_compressed(FOLDER / name, images=images, labels=digits, **inputs)


def load(rng: np.random.Generator) -> tuple[Images, Labels]:
    """Returns all images and their labels in random order."""
    pixels, digits = load_digits(return_X_y=True)  # pyright: ignore[reportUnknownVariableType]
    images = np.asarray(pixels, np.uint8).reshape(-1, 8, 8)
    labels = np.asarray(digits, np.int64)
    order = rng.permutation(len(labels))
    return images[order], labels[order]


def make_residual(rng: np.random.Generator) -> Sequence:
    """Returns an untrained residual network of about twenty thousand weights."""
    return Sequence(
        *_normalised(rng, 1, 16),
        Relu(),
        *_block(rng, 16, 16, stride=1),
        *_block(rng, 16, 32, stride=2),
        Classifier(rng, 32, CLASSES),
    )


def make_mlp(rng: np.random.Generator) -> Sequence:
    """Returns an untrained network of three linear layers."""
    return Sequence(
        Flatten(),
        Linear(rng, 64, 128),
        Relu(),
        Linear(rng, 128, 64),
        Relu(),
        Linear(rng, 64, CLASSES),
    )


def make_depthwise(rng: np.random.Generator) -> Sequence:
    """Returns an untrained network of the kind that mobile phones run.

    Sandler et al. 2018, "MobileNetV2": the body of the residual block is wide inside, and
    its last convolution has no activation.
    """
    inverted = Sequence(
        *_normalised(rng, 32, 96, kernel=1),
        Relu(),
        *_separated(rng, 96),
        Relu(),
        *_normalised(rng, 96, 32, kernel=1),
    )
    return Sequence(
        *_normalised(rng, 1, 16),
        Relu(),
        *_separated(rng, 16),
        Relu(),
        *_normalised(rng, 16, 32, kernel=1),
        Relu(),
        *_separated(rng, 32, stride=2),
        Relu(),
        *_normalised(rng, 32, 32, kernel=1),
        Residual(inverted, Sequence()),
        *_normalised(rng, 32, 64, kernel=1),
        Relu(),
        Classifier(rng, 64, CLASSES),
    )


def _normalised(
    rng: np.random.Generator,
    inputs: int,
    outputs: int,
    kernel: int = 3,
    stride: int = 1,
) -> tuple[Layer, Layer]:
    return Convolution(rng, inputs, outputs, kernel, stride), BatchNorm(outputs)


def _separated(
    rng: np.random.Generator, channels: int, stride: int = 1
) -> tuple[Layer, Layer]:
    return Depthwise(rng, channels, stride), BatchNorm(channels)


def _block(
    rng: np.random.Generator, inputs: int, outputs: int, stride: int
) -> tuple[Layer, Layer]:
    body = Sequence(
        *_normalised(rng, inputs, outputs, stride=stride),
        Relu(),
        *_normalised(rng, outputs, outputs),
    )
    same = stride == 1 and inputs == outputs
    shortcut = (
        () if same else _normalised(rng, inputs, outputs, kernel=1, stride=stride)
    )
    return Residual(body, Sequence(*shortcut)), Relu()


NETWORKS: dict[str, Callable[[np.random.Generator], Sequence]] = {
    "digits": make_residual,
    "mlp": make_mlp,
    "depthwise": make_depthwise,
}


def normalise(images: Images) -> Array:
    """Returns images `[N, 8, 8]` of grey levels as `[N, 1, 8, 8]` in [0, 1]."""
    return images[:, None].astype(np.float32) / np.float32(GREY_LEVELS)


def train(
    network: Sequence, images: Array, labels: Labels, rng: np.random.Generator
) -> None:
    """Minimise the cross entropy by Adam; the learning rate falls as a cosine."""
    batches = len(labels) // BATCH
    total = EPOCHS * batches
    for epoch in range(EPOCHS):
        order = rng.permutation(len(labels))
        losses: list[float] = []
        for batch in range(batches):
            chosen = order[batch * BATCH : (batch + 1) * BATCH]
            losses.append(_backpropagate(network, images[chosen], labels[chosen]))
            step = epoch * batches + batch + 1
            rate = LEARNING_RATE * (1 + np.cos(np.pi * step / total)) / 2
            for parameter in network.parameters():
                _adam(parameter, rate, step)
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}", file=sys.stderr)


def _backpropagate(network: Sequence, images: Array, labels: Labels) -> float:
    """Returns the mean cross entropy, its gradients left with the parameters."""
    logits = network.forward(images, training=True)
    shares = np.exp(logits - logits.max(1, keepdims=True))
    shares /= shares.sum(1, keepdims=True)
    rows = np.arange(len(labels))
    loss = -np.log(shares[rows, labels]).mean()
    shares[rows, labels] -= 1
    network.backward(shares / np.float32(len(labels)))
    return float(loss)


def _adam(parameter: Parameter, rate: float, step: int) -> None:
    """Take a step. Kingma and Ba 2015, "Adam", algorithm 1."""
    gradient = parameter.gradient
    parameter.mean += np.float32(0.1) * (gradient - parameter.mean)
    parameter.square += np.float32(0.001) * (gradient**2 - parameter.square)
    mean = parameter.mean / (1 - 0.9**step)
    square = parameter.square / (1 - 0.999**step)
    parameter.value -= (rate * mean / (np.sqrt(square) + 1e-8)).astype(np.float32)


def accuracy(network: Sequence, images: Images, labels: Labels) -> float:
    """Returns the share of `images` that the trained network labels right."""
    logits = network.forward(normalise(images), training=False)
    return float((logits.argmax(1) == labels).mean())


def export(network: Sequence) -> ModelProto:
    """Returns the network for one image, `image` `[1, 1, 8, 8]` to `[1, 10]`."""
    graph = GraphBuilder("digits")
    image = graph.input("image", TensorProto.FLOAT, (1, 1, 8, 8))
    graph.output(network.export(graph, "layer", image), (1, CLASSES))
    return graph.model()


if __name__ == "__main__":
    sys.exit(main())
