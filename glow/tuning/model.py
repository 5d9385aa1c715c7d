"""A learned model: trees that say how much longer a candidate takes than the first one.

The first is the cost model's: what is learned is where that errs, not how fast kernels are. So
trees see the features of a candidate and their differences from those of the first.

It is a table of numbers in an `.npz` file (at most 200 KB), which NumPy evaluates: all samples walk
down all trees a level at a time. LightGBM makes it (`fit.py`), and nobody needs that to use it.
Families of kernels that it knows too little of are not in it.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from glow.runtime.caches.cache_folder import open_private, whole_file

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int16]


LEAST_GAIN = 0.02
"""What is expected at least of another than the first candidate: the logarithm of times."""


@dataclass(frozen=True)
class Trees:
    """Binary trees as arrays [trees, nodes]: a node's feature, threshold and children.

    The children of a leaf are itself, and its value is added. `names` are the features of a
    candidate, `families` the kinds of kernels that it knows.
    """

    names: tuple[str, ...]
    families: tuple[str, ...]
    depth: int
    feature: Integers
    threshold: Floats
    left: Integers
    right: Integers
    value: Floats

    def predict(self, samples: npt.ArrayLike) -> Floats:
        """The sum of all trees' leaves for each sample."""
        numbers = np.asarray(samples, np.float32)
        rows = np.arange(len(numbers))[:, None]
        trees = np.arange(len(self.value))[None]
        node = np.zeros((len(numbers), len(self.value)), np.int64)
        for _ in range(self.depth):
            goes_left = (
                numbers[rows, self.feature[trees, node]] <= self.threshold[trees, node]
            )
            node = np.where(goes_left, self.left[trees, node], self.right[trees, node])
        return self.value[trees, node].sum(1)

    def pick(self, candidates: Sequence[Sequence[float]]) -> int:
        """The candidate that is expected to be fastest; the first, unless by enough."""
        said = self.predict(beside_first(candidates))
        best = int(said.argmin())
        return best if said[best] < said[0] - LEAST_GAIN else 0

    def save(self, path: Path, base: Path) -> None:
        """Write the table into the cache at `base`."""
        arrays = {name: getattr(self, name) for name in ARRAYS}
        texts = {name: np.array(getattr(self, name)) for name in ("names", "families")}
        with whole_file(path, base) as file:
            np.savez_compressed(file, depth=self.depth, **texts, **arrays)


def beside_first(candidates: Sequence[Sequence[float]]) -> Floats:
    """What trees see: the features of candidates, and what they are more than the first's."""
    own = np.asarray(candidates, np.float32)
    return np.concatenate([own, own - own[:1]], axis=1)


ARRAYS = ("feature", "threshold", "left", "right", "value")


def read_trees(path: Path, base: Path) -> tuple[Trees, str] | None:
    """The table and its digest; None for a file that is missing, damaged or not private."""
    try:
        with open(open_private(path, base), "rb") as file:
            content = file.read()
        with np.load(io.BytesIO(content), allow_pickle=False) as table:
            trees = Trees(
                tuple(str(name) for name in table["names"].tolist()),
                tuple(str(name) for name in table["families"].tolist()),
                int(table["depth"]),
                *(table[name] for name in ARRAYS),
            )
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None
    return trees, hashlib.sha256(content).hexdigest()
