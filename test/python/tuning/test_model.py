"""Learned models: what a table says, what is fitted, and when compilations ask it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from glow.backends.cpu.dialect.config import MatmulConfig
from glow.backends.cpu.kernels.matmul.matmul_spec import MatmulSpec
from glow.backends.cpu.tuning.candidates import candidates
from glow.backends.cpu.tuning.choose import choose
from glow.backends.cpu.tuning.features import FEATURES, features, peak_seconds
from glow.dialects.errors import GlowError
from glow.lowering.target.target import PRESETS
from glow.tuning.choices import MODEL, refresh, tuning_file
from glow.tuning.fit import (
    FEWEST_KERNELS,
    Judged,
    Sample,
    Worth,
    fit,
    samples_of,
    trees_of,
)
from glow.tuning.model import Trees, beside_first, read_trees
from glow.tuning.records import VERSION, Record

TARGET = PRESETS["avx512"]
SPEC = MatmulSpec(128, 384, 1536)
NAMES = ("a", "b")


def trees(families: tuple[str, ...] = (), names: tuple[str, ...] = NAMES) -> Trees:
    """Two trees: 1 or 2 by the first number; 10, 20 or 30 by both."""
    return Trees(
        names,
        families,
        2,
        np.array([[0, 0, 0, 0, 0], [1, 0, 0, 0, 0]], np.int16),
        np.array([[0.5, 0, 0, 0, 0], [0.5, 0, 2.5, 0, 0]], np.float32),
        np.array([[1, 1, 2, 0, 0], [1, 1, 3, 3, 4]], np.int16),
        np.array([[2, 1, 2, 0, 0], [2, 1, 4, 3, 4]], np.int16),
        np.array([[0, 1, 2, 0, 0], [0, 10, 0, 20, 30]], np.float32),
    )


def test_samples_walk_down_all_trees() -> None:
    samples = [[0, 0], [1, 0], [1, 1], [3, 1]]
    assert trees().predict(samples).tolist() == [11, 12, 22, 32]


def test_tables_are_read_as_written(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "tuning" / "model.npz"
    path.parent.mkdir(parents=True, mode=0o700)
    path.parent.parent.chmod(0o700)
    trees(("MatmulSpec",)).save(path, path.parent.parent)
    found = read_trees(path, path.parent.parent)
    assert found is not None
    assert (found[0].names, found[0].families) == (NAMES, ("MatmulSpec",))
    assert found[0].predict([[3, 1]]).tolist() == [32]
    path.write_bytes(path.read_bytes()[:-40])
    assert read_trees(path, path.parent.parent) is None
    path.unlink()
    assert read_trees(path, path.parent.parent) is None


def test_features_tell_candidates_apart() -> None:
    """But those that only fetch weights otherwise, whose records have no features."""
    tiles = [c for c in candidates(SPEC, TARGET) if c.prefetch == 1]
    every = [tuple(features(SPEC, config, TARGET)) for config in tiles]
    assert len(set(every)) == len(every)
    assert {len(each) for each in every} == {len(FEATURES)}
    twice = replace(SPEC, rows=256)
    assert peak_seconds(twice, TARGET) == 2 * peak_seconds(SPEC, TARGET)


@pytest.fixture
def learned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where a model of this test stands."""
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("GLOW_TUNING", "on")
    path = tuning_file(MODEL)
    path.parent.mkdir(parents=True, mode=0o700)
    path.parent.parent.chmod(0o700)
    yield path
    monkeypatch.undo()
    refresh()


def by_height(families: tuple[str, ...], gain: float) -> Trees:
    """A model that likes tiles of at most four rows."""
    place = list(FEATURES).index("height")
    table = [[place, 0, 0], [4.5, 0, 0], [1, 1, 2], [2, 1, 2], [0, -gain, 0]]
    feature, threshold, left, right, value = (np.array([row]) for row in table)
    return Trees(
        tuple(FEATURES),
        families,
        1,
        feature.astype(np.int16),
        threshold.astype(np.float32),
        left.astype(np.int16),
        right.astype(np.int16),
        value.astype(np.float32),
    )


@pytest.mark.parametrize(
    ("model", "rows"),
    [
        (by_height(("MatmulSpec",), 0.1), 4),
        (by_height(("MatmulSpec",), 0.001), 8),
        (by_height(("Conv2dSpec",), 0.1), 8),
        (replace(by_height(("MatmulSpec",), 0.1), names=NAMES), 8),
    ],
    ids=["known", "by too little", "another family", "other features"],
)
def test_a_model_chooses_what_it_knows(learned: Path, model: Trees, rows: int) -> None:
    before = refresh()
    assert choose(SPEC, TARGET).rows == 8
    model.save(learned, learned.parent.parent)
    assert refresh() != before
    assert choose(SPEC, TARGET).rows == rows
    said = MatmulConfig(1, 1)
    assert choose(replace(SPEC, config=said), TARGET) == said


def planted(kernels: int) -> list[Sample]:
    """Kernels of which the candidate with the smallest first number is best, never the first."""
    random = np.random.default_rng(0)
    found: list[Sample] = []
    for kernel in range(kernels):
        numbers = [9.0, *random.permutation(8)]
        for number in numbers:
            given = [float(number), float(kernel % 3)]
            seconds = (1 + 0.1 * number) * (1 + 0.01 * random.random())
            found.append(Sample("K", str(kernel), given, seconds))
    return found


def test_fitted_models_are_judged_by_kernels_that_they_have_not_seen() -> None:
    pytest.importorskip("lightgbm")
    fitted = fit(planted(20), NAMES)
    worth = fitted.worth["K"]
    assert worth.kernels == 20
    assert worth.learned < 1.05 < 1.5 < worth.chosen
    assert fitted.trees.families == ("K",)
    assert worth.first[1] == 1.0
    assert not fitted.elsewhere


def test_a_model_has_to_hold_on_a_machine_that_it_has_not_seen() -> None:
    pytest.importorskip("lightgbm")
    here = [replace(each, machine="here") for each in planted(40)]
    alike = [
        replace(each, machine="there", kernel=f"{each.kernel} there") for each in here
    ]
    fitted = fit([*here, *alike], NAMES)
    assert fitted.elsewhere["K"].kernels == 80
    assert fitted.elsewhere["K"].learned < 1.05 < fitted.elsewhere["K"].chosen
    assert fitted.is_used("K")
    # Where the first candidate is best, by a feature that tells the machines apart.
    other = [
        replace(each, seconds=2.5 - each.seconds, features=[each.features[0], 9.0])
        for each in alike
    ]
    fitted = fit([*here, *other], NAMES)
    assert fitted.worth["K"].is_better
    assert fitted.elsewhere["K"].learned > fitted.elsewhere["K"].chosen
    assert not fitted.is_used("K")


def test_what_one_kernel_loses_counts_like_what_many_gain() -> None:
    gains = [Judged(1.0, 1.1, 1.0, 1.0, 1.0)] * 20
    assert Worth(gains).is_better
    assert Worth(gains).first == (1.0, 1.0)
    assert not Worth(gains[: FEWEST_KERNELS - 1]).is_better
    assert not Worth([*gains, Judged(30.0, 30.0, 33.0, 30.0, 30.0)]).is_better
    assert not Worth([*gains, Judged(1.0, 1.0, 4.0, 1.0, 1.0)]).is_better
    assert not Worth([Judged(1.0, 1.0, 1.0, 1.1, 1.0)] * 20).is_better
    few = Worth([Judged(1.0, 1.0, 1.0, 1.1, 1.02), Judged(1.0, 1.0, 1.0, 1.0, 1.5)])
    assert few.first == (0.5, 0.5)


def test_trees_see_a_candidate_beside_the_first() -> None:
    seen = beside_first([[1.0, 2.0], [1.0, 5.0]])
    assert seen.tolist() == [[1, 2, 0, 0], [1, 5, 0, 3]]


def test_tables_say_what_lightgbm_says() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    random = np.random.default_rng(1)
    numbers = random.standard_normal((300, 2))
    data = lightgbm.Dataset(numbers, numbers[:, 0] * numbers[:, 1])
    booster = lightgbm.train({"verbosity": -1, "num_leaves": 9}, data, 12)
    table = trees_of(booster, NAMES, ())
    np.testing.assert_allclose(
        table.predict(numbers.tolist()), booster.predict(numbers), atol=1e-5
    )


def test_what_fitting_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(GlowError, match="records of 2 kernels: a model needs 10"):
        fit(planted(2), NAMES)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(GlowError, match=r"needs LightGBM.*glow-xdsl\[tune\]"):
        fit(planted(12), NAMES)


def test_samples_are_the_last_times_of_candidates() -> None:
    old = Record(VERSION, "t", "k", "K", "K()", {"rows": 1}, 2.0, 4.0, features=[1.0])
    other = replace(old, config={"rows": 2}, features=[2.0])
    alone = replace(old, kernel="j", warm=None)
    strange = replace(old, kernel="i", features=[1.0, 2.0])
    found = samples_of([old, other, alone, strange, replace(old, warm=1.0)], 1)
    assert [sample.seconds for sample in found] == [2.5, 3.0]


def test_features_that_came_later_are_zero_in_older_records() -> None:
    old = Record(VERSION, "t", "k", "K", "K()", {"rows": 1}, 2.0, 4.0, features=[1.0])
    new = replace(old, config={"rows": 2}, features=[1.0, 3.0])
    without = replace(old, kernel="j", features=None)
    found = samples_of([old, new, without], 2)
    assert [sample.features for sample in found] == [[1.0, 0.0], [1.0, 3.0]]
