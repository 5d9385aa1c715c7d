"""Fits a learned model to records of measured kernels, with LightGBM (`glow-xdsl[tune]`).

Each kernel's candidates are samples; what is predicted is the logarithm of their time over the
peak's. Kernels that were left out tell what the model is worth: the time of the candidates that it
would choose over that of the best, beside that of those that the cost model chose. A family is
kept where many kernels were measured and the learned choices are better.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from glow.dialects.errors import GlowError
from glow.tuning.model import Trees
from glow.tuning.records import Record

if TYPE_CHECKING:
    from lightgbm import Booster

FOLDS = 5
FEWEST_KERNELS = 8
"""Of a family."""
TREES, LEAVES = 80, 24
SETTINGS = {
    "objective": "regression",
    "num_leaves": LEAVES,
    "learning_rate": 0.1,
    "min_data_in_leaf": 5,
    "verbosity": -1,
    "seed": 0,
    "deterministic": True,
    "num_threads": 1,
}


@dataclass(frozen=True)
class Sample:
    """A candidate of a kernel: its features, its seconds, those at the peak."""

    family: str
    kernel: str
    features: Sequence[float]
    seconds: float
    peak: float

    @property
    def wanted(self) -> float:
        """What the model is to say."""
        return log(self.seconds / self.peak)


@dataclass(frozen=True)
class Worth:
    """The regret of a family's choices on kernels that were left out."""

    kernels: int
    chosen: float
    """Of the cost model."""
    learned: float

    @property
    def is_better(self) -> bool:
        """Whether the learned model should choose."""
        return self.kernels >= FEWEST_KERNELS and self.learned < self.chosen


def samples_of(records: Iterable[Record], width: int) -> list[Sample]:
    """The last times of each candidate that has so many features."""
    last: dict[tuple[str, str, str], Sample] = {}
    for record in records:
        if record.warm and record.cold and record.peak:
            given = record.features or ()
            if len(given) == width:
                seconds = (record.warm + record.cold) / 2
                key = (
                    record.target,
                    record.kernel,
                    repr(sorted(record.config.items())),
                )
                group = f"{record.target} {record.kernel}"
                # A candidate keeps its place: the first is the cost model's.
                last[key] = Sample(record.family, group, given, seconds, record.peak)
    return list(last.values())


def fit(
    samples: Sequence[Sample], names: Sequence[str]
) -> tuple[Trees, Mapping[str, Worth]]:
    """The model of the families for which it is better, and the worth of all."""
    by_kernel: defaultdict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        by_kernel[sample.kernel].append(sample)
    if len(by_kernel) < FOLDS:
        raise GlowError(
            f"records of {len(by_kernel)} kernels: a model needs {FOLDS} or more",
            hint="glow tune measures those of a network",
        )
    worth = _worth(list(by_kernel.values()), names)
    kept = tuple(family for family, each in worth.items() if each.is_better)
    return trees_of(_booster(samples), names, kept), worth


def _worth(
    kernels: Sequence[Sequence[Sample]], names: Sequence[str]
) -> dict[str, Worth]:
    """By family, from models that have not seen the kernels that they judge."""
    times: defaultdict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for fold in range(FOLDS):
        rest = [s for n, k in enumerate(kernels) if n % FOLDS != fold for s in k]
        trees = trees_of(_booster(rest), names, ())
        for kernel in kernels[fold::FOLDS]:
            said = trees.predict([sample.features for sample in kernel])
            seconds = [sample.seconds for sample in kernel]
            best = min(seconds)
            picked = seconds[int(np.argmin(said))]
            times[kernel[0].family].append((best, seconds[0] / best, picked / best))
    return {
        family: Worth(
            len(each),
            float(np.mean([chosen for _, chosen, _ in each])),
            float(np.mean([learned for _, _, learned in each])),
        )
        for family, each in times.items()
    }


def _booster(samples: Sequence[Sample]) -> Booster:
    try:
        import lightgbm
    except ImportError as error:
        raise GlowError(
            "fitting a model needs LightGBM", hint="pip install 'glow-xdsl[tune]'"
        ) from error
    data = lightgbm.Dataset(
        np.array([sample.features for sample in samples]),
        np.array([sample.wanted for sample in samples]),
    )
    return lightgbm.train(SETTINGS, data, TREES)


def trees_of(
    booster: Booster, names: Sequence[str], families: tuple[str, ...]
) -> Trees:
    """A fitted model as a table."""
    model = cast("Mapping[str, Any]", booster.dump_model())
    roots = [tree["tree_structure"] for tree in model["tree_info"]]
    flat = [_flat(root) for root in roots]
    count = max(len(tree) for tree in flat)
    table = np.zeros((5, len(flat), count), np.float32)
    for number, tree in enumerate(flat):
        table[:, number, : len(tree)] = np.array(tree, np.float32).T
    feature, left, right = (table[row].astype(np.int16) for row in (0, 2, 3))
    depth = max(map(_depth, roots))
    return Trees(
        tuple(names), families, depth, feature, table[1], left, right, table[4]
    )


def _flat(root: Mapping[str, Any]) -> list[tuple[float, float, int, int, float]]:
    """(feature, threshold, left, right, value) of each node; leaves lead to themselves."""
    nodes: list[tuple[float, float, int, int, float]] = []

    def add(node: Mapping[str, Any]) -> int:
        place = len(nodes)
        nodes.append((0, 0, place, place, float(node.get("leaf_value", 0.0))))
        if "split_feature" in node:
            left, right = add(node["left_child"]), add(node["right_child"])
            nodes[place] = node["split_feature"], node["threshold"], left, right, 0.0
        return place

    add(root)
    return nodes


def _depth(node: Mapping[str, Any]) -> int:
    if "split_feature" not in node:
        return 0
    return 1 + max(_depth(node["left_child"]), _depth(node["right_child"]))
