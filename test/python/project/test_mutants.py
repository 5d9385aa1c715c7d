"""The faults that `make mutants` plants fit the tree."""

from __future__ import annotations

import numpy as np
import pytest
from faults import DRAWN, EQUIVALENT, ROOT, SEEDS, WRITTEN, Suites, file_of
from mutants import faults, sites, table

FAULTS = list(faults())


def test_there_are_a_hundred_and_they_are_python() -> None:
    assert len(FAULTS) >= 100
    for fault in FAULTS:
        compile(fault.planted, fault.file, "exec")


def test_a_seed_draws_the_same_faults() -> None:
    assert list(faults()) == FAULTS


@pytest.mark.parametrize(("file", "old"), [entry[:2] for entry in WRITTEN])
def test_faults_that_are_written_down_have_one_place(file: str, old: str) -> None:
    assert (ROOT / file).read_text().count(old) == 1


def test_tests_exist() -> None:
    for entry in (*WRITTEN, *DRAWN):
        tests = entry[-1]
        assert isinstance(tests, Suites)
        assert tests.lit or tests.pytest
        for path in tests.lit:
            assert (ROOT / "test" / path).exists(), path
        for name in tests.pytest:
            assert (ROOT / file_of(name)).exists(), name


def test_equivalent_faults_are_of_files_that_are_tried() -> None:
    tried = {fault.file for fault in FAULTS}
    assert {file for file, _ in EQUIVALENT} <= tried
    assert all(EQUIVALENT.values())


def test_seeds_are_of_files_that_are_tried() -> None:
    assert SEEDS.keys() <= {file for file, _, _ in DRAWN}


def test_table_counts_every_fault_once() -> None:
    survivors = [fault for fault in FAULTS if not fault.is_equivalent][:3]
    head, *rows = [line.split() for line in table(FAULTS, survivors)]
    assert head == ["folder", "planted", "found", "survive", "equal"]
    numbers = np.array([row[1:] for row in rows], int)
    assert rows[-1][0] == "all"
    np.testing.assert_array_equal(numbers[:-1].sum(0), numbers[-1])
    equal = sum(fault.is_equivalent for fault in FAULTS)
    assert [*numbers[-1]] == [len(FAULTS), len(FAULTS) - equal - 3, 3, equal]


def test_operators_of_functions_are_places() -> None:
    text = (
        "a = 1 + 1\ndef f(*x, y: int | None = -1):\n    return -y < len(x) and not x\n"
    )
    assert [text[at:][: len(old)] for at, old, _ in sites(text)] == ["<", "and", "not"]
