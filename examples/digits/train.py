"""Trains the networks of this folder on scikit-learn's bundled digits.

python -m examples.digits.train [FOLDER]    (from the root of the repository; a minute)

Images are 8 x 8 of 16 grey levels, of ten classes. `digits.onnx` is a small residual
network, `mlp.onnx` has linear layers only, `depthwise.onnx` depthwise-separable
convolutions and an inverted residual block. 540 images are held back, and stored beside
the networks with some of the others to calibrate by, so that to use them needs no
scikit-learn. All files are written into the folder, by default `build/digits`.
"""

import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

import glow
from examples.digits.networks import NETWORKS, untrained

SEED = 1797
EPOCHS = 30
BATCH = 50
RATE = 3e-3
GREY_LEVELS = 16
HELD_BACK = 540
CALIBRATION = 256

Images = NDArray[np.uint8]
"""Grey levels 0 to 16, `[N, 8, 8]`."""
Labels = NDArray[np.int64]


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/digits")
    folder.mkdir(parents=True, exist_ok=True)
    images, labels = load(np.random.default_rng(SEED))
    held_back = images[:HELD_BACK], labels[:HELD_BACK]
    for name in NETWORKS:
        start = time.perf_counter()
        step = train(name, normalise(images[HELD_BACK:]), labels[HELD_BACK:])
        seconds = time.perf_counter() - start
        step.export(folder / f"{name}.onnx")
        share = accuracy(folder / f"{name}.onnx", *held_back)
        print(
            f"{name}: {share:.2%} of {HELD_BACK} held-back digits right, {seconds:.1f} s"
        )
    store(folder / "held_back.npz", *held_back)
    end = HELD_BACK + CALIBRATION
    calibration = images[HELD_BACK:end]
    inputs = normalise(calibration)
    store(
        folder / "calibration.npz",
        calibration,
        labels[HELD_BACK:end],
        image=inputs[:, None],
    )
    return 0


def train(
    name: str, images: NDArray[np.float32], labels: Labels, epochs: int = EPOCHS
) -> glow.TrainStep:
    """Returns the trained network; the rate falls to zero as a cosine."""
    return glow.train(
        untrained(name, SEED),
        (images, labels),
        loss="cross_entropy",
        optimizer=glow.Adam(RATE),
        schedule="cosine",
        epochs=epochs,
        batch_size=BATCH,
        drop_last=True,
        seed=SEED,
    )


def accuracy(path: Path, images: Images, labels: Labels) -> float:
    """Returns the share of images that a network labels right."""
    model = glow.compile(path)
    logits = [model(image[None]) for image in normalise(images)]
    return float((np.argmax(logits, -1).ravel() == labels).mean())


def load(rng: np.random.Generator) -> tuple[Images, Labels]:
    """Returns all images and their labels in random order."""
    pixels, digits = load_digits(return_X_y=True)  # pyright: ignore[reportUnknownVariableType]
    images = np.asarray(pixels, np.uint8).reshape(-1, 8, 8)
    labels = np.asarray(digits, np.int64)
    order = rng.permutation(len(labels))
    return images[order], labels[order]


def normalise(images: Images) -> NDArray[np.float32]:
    """Returns images `[N, 8, 8]` of grey levels as `[N, 1, 8, 8]` in [0, 1]."""
    return images[:, None].astype(np.float32) / np.float32(GREY_LEVELS)


def store(
    path: Path, images: Images, labels: Labels, **inputs: NDArray[np.float32]
) -> None:
    """Write images and their labels, and inputs by their names in the networks."""
    digits = labels.astype(np.uint8)
    np.savez_compressed(path, images=images, labels=digits, **inputs)


if __name__ == "__main__":
    sys.exit(main())
