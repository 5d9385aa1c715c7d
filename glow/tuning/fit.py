"""Fits a learned model to records of measured kernels, with LightGBM (`glow-xdsl[tune]`).

Each kernel's candidates are samples; what is predicted is the logarithm of their time over the
first one's, so that trees tell candidates apart and not kernels, of which some take a thousand
times as long as others.

What the model is worth is told by kernels that it has not seen. Records of a network's kernels
follow each other and are alike, so runs of them are left out together. A family is kept where many
kernels were measured and the learned choices are better: in the mean of kernels, by more than two
standard errors, and in the sum of their times, in which one great loss shows. Where there are
records of several machines, each is left out once as well: then the sums of all must not be worse,
since a machine that nobody measured is what a model is asked about most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from glow.dialects.errors import GlowError
from glow.tuning.model import Trees, beside_first
from glow.tuning.records import Record

if TYPE_CHECKING:
    from lightgbm import Booster

FOLDS = 10
FEWEST_KERNELS = 8
"""Of a family."""
ERRORS = 2.0
"""How many standard errors a gain must be larger than."""
FIRST, CLOSE = 5, 1.02
"""Candidates that a search tries first, one of which should be so close to the best."""
TREES, LEAVES = 80, 24
SETTINGS = {
    "objective": "regression_l1",  # Times of machines with other work have outliers.
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
    """A candidate of a kernel: its features and its seconds."""

    family: str
    kernel: str
    features: Sequence[float]
    seconds: float
    machine: str = ""
    """The target that it was measured on."""


Kernel = Sequence[Sample]
"""Its candidates, the cost model's choice first."""


@dataclass(frozen=True)
class Judged:
    """What was chosen for a kernel that was left out, in seconds."""

    best: float
    chosen: float
    """By the cost model."""
    learned: float
    first: float
    """The best of the first few in the cost model's order."""
    first_learned: float
    """The same in the learned order."""


@dataclass(frozen=True)
class Worth:
    """What a family's choices are worth on kernels that were left out."""

    judged: Sequence[Judged]

    @property
    def kernels(self) -> int:
        """How many were left out once."""
        return len(self.judged)

    @property
    def chosen(self) -> float:
        """The regret of the cost model: seconds over the best ones, summed."""
        return sum(k.chosen for k in self.judged) / sum(k.best for k in self.judged)

    @property
    def learned(self) -> float:
        """That of the learned choices."""
        return sum(k.learned for k in self.judged) / sum(k.best for k in self.judged)

    @property
    def first(self) -> tuple[float, float]:
        """The share of kernels with a close one among the first few, in either order."""
        usual = [k.first <= CLOSE * k.best for k in self.judged]
        learned = [k.first_learned <= CLOSE * k.best for k in self.judged]
        return float(np.mean(usual)), float(np.mean(learned))

    @property
    def is_better(self) -> bool:
        """Whether the learned model should choose."""
        if self.kernels < FEWEST_KERNELS:
            return False
        gains = [(k.chosen - k.learned) / k.best for k in self.judged]
        error = float(np.std(gains, ddof=1)) / self.kernels**0.5
        return float(np.mean(gains)) > ERRORS * error and self.learned < self.chosen


def samples_of(records: Iterable[Record], width: int) -> list[Sample]:
    """The last times of each candidate that has features: so many, those that it lacks are 0."""
    last: dict[tuple[str, str, tuple[float, ...]], Sample] = {}
    for record in records:
        if record.warm and record.cold:
            given = record.features or ()
            if 0 < len(given) <= width:
                given = [*given, *[0.0] * (width - len(given))]
                seconds = (record.warm + record.cold) / 2
                group = f"{record.target} {record.kernel}"
                # A candidate keeps its place: the first is the cost model's.
                key = record.target, record.kernel, tuple(given)
                sample = Sample(record.family, group, given, seconds, record.target)
                last[key] = sample
    return list(last.values())


@dataclass(frozen=True)
class Fitted:
    """A model of the families for which it is better, and what it is worth, by family."""

    trees: Trees
    worth: Mapping[str, Worth]
    elsewhere: Mapping[str, Worth]
    """On machines that were left out; empty where all records are of one."""

    def is_used(self, family: str) -> bool:
        """Whether the model chooses for a family."""
        return family in self.trees.families


def fit(samples: Sequence[Sample], names: Sequence[str]) -> Fitted:
    """Learn from all samples; raises GlowError where there are too few."""
    by_kernel: defaultdict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        by_kernel[sample.kernel].append(sample)
    if len(by_kernel) < FOLDS:
        raise GlowError(
            f"records of {len(by_kernel)} kernels: a model needs {FOLDS} or more",
            hint="glow tune measures those of a network",
        )
    kernels = list(by_kernel.values())
    worth, elsewhere = _worth(_runs(kernels), names), _worth(_machines(kernels), names)
    kept = tuple(
        family
        for family, each in worth.items()
        if each.is_better and _is_as_good(elsewhere.get(family))
    )
    return Fitted(trees_of(_booster(kernels), names, kept), worth, elsewhere)


def _is_as_good(worth: Worth | None) -> bool:
    return worth is None or worth.learned <= worth.chosen


Split = tuple[Sequence[Kernel], Sequence[Kernel]]
"""Kernels to learn from, and others to judge by."""


def _runs(kernels: Sequence[Kernel]) -> Iterator[Split]:
    ends = [len(kernels) * fold // FOLDS for fold in range(FOLDS + 1)]
    for begin, end in pairwise(ends):
        yield [*kernels[:begin], *kernels[end:]], kernels[begin:end]


def _machines(kernels: Sequence[Kernel]) -> Iterator[Split]:
    """Each machine beside all others."""
    machines = dict.fromkeys(kernel[0].machine for kernel in kernels)
    for machine in machines if len(machines) > 1 else ():
        others = [kernel for kernel in kernels if kernel[0].machine != machine]
        yield others, [kernel for kernel in kernels if kernel[0].machine == machine]


def _worth(splits: Iterable[Split], names: Sequence[str]) -> dict[str, Worth]:
    """By family, from models that have not seen the kernels that they judge."""
    judged: defaultdict[str, list[Judged]] = defaultdict(list)
    for seen, others in splits:
        trees = trees_of(_booster(seen), names, ())
        for kernel in others:
            judged[kernel[0].family].append(_judged(kernel, trees))
    return {family: Worth(each) for family, each in judged.items()}


def _judged(kernel: Kernel, trees: Trees) -> Judged:
    numbers = [sample.features for sample in kernel]
    seconds = np.array([sample.seconds for sample in kernel])
    order = np.argsort(trees.predict(beside_first(numbers)), kind="stable")
    firsts = float(seconds[:FIRST].min()), float(seconds[order[:FIRST]].min())
    chosen, learned = float(seconds[0]), float(seconds[trees.pick(numbers)])
    return Judged(float(seconds.min()), chosen, learned, *firsts)


def _table(kernels: Sequence[Kernel]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """What trees see of all candidates, and what they are to say."""
    numbers = [beside_first([s.features for s in kernel]) for kernel in kernels]
    wanted = [np.log([s.seconds / k[0].seconds for s in k]) for k in kernels]
    return np.concatenate(numbers), np.concatenate(wanted)


def _booster(kernels: Sequence[Kernel]) -> Booster:
    try:
        import lightgbm
    except ImportError as error:
        raise GlowError(
            "fitting a model needs LightGBM", hint="pip install 'glow-xdsl[tune]'"
        ) from error
    data = lightgbm.Dataset(*_table(kernels))
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
