"""Compiles the trained network of `digits.onnx` and classifies digits that it never saw.

python examples/digits/classify.py
"""

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import glow

FOLDER = Path(__file__).parent
GREY_LEVELS = 16
SHADES = " ░▒▓█"
DRAWN = 4

Images = NDArray[np.uint8]
"""Grey levels 0 to 16, `[N, 8, 8]`."""


def main() -> int:
    with np.load(FOLDER / "held_back.npz") as held_back:
        images, labels = held_back["images"], held_back["labels"]
    predicted = classify(images)
    right = predicted == labels
    print(f"{right.sum()} of {len(labels)} held-back digits right: {right.mean():.1%}")
    draw(images[right][:DRAWN], predicted[right], labels[right])
    print("and what it took for something else:")
    draw(images[~right][:DRAWN], predicted[~right], labels[~right])
    return 0


def classify(images: Images) -> NDArray[np.intp]:
    """Returns the digit that the compiled network sees in each image."""
    model = glow.compile(FOLDER / "digits.onnx")
    return np.array([np.argmax(model(image)) for image in normalise(images)])


def normalise(images: Images) -> NDArray[np.float32]:
    """Returns `images` as one operand `[1, 1, 8, 8]` in [0, 1] each."""
    return images[:, None, None].astype(np.float32) / np.float32(GREY_LEVELS)


def draw(
    images: Images, predicted: NDArray[np.intp], labels: NDArray[np.uint8]
) -> None:
    """Print the images side by side over their predicted labels."""
    for row in range(images.shape[1]):
        print("  ".join(_shade(image[row]) for image in images))
    captions = [
        f"{guess}" if guess == label else f"{guess} (is {label})"
        for guess, label in zip(predicted, labels, strict=True)
    ]
    print("  ".join(f"{caption:^16}" for caption in captions[: len(images)]))


def _shade(row: NDArray[np.uint8]) -> str:
    """Returns a row of pixels, each two characters wide to be as wide as it is high."""
    levels = row.astype(int) * (len(SHADES) - 1) // GREY_LEVELS
    return "".join(SHADES[level] * 2 for level in levels)


if __name__ == "__main__":
    sys.exit(main())
