"""`make test` takes some cases, of all kinds, of tests that have many, which a table names."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from places import TESTS
from support.slices import EVERY, is_taken, left_out


def items(*names: str, path: str = "test_one.py") -> list[pytest.Item]:
    """Tests as pytest collects them, as far as a slice looks at them."""
    found = [SimpleNamespace(name=name, path=Path(path)) for name in names]
    return cast("list[pytest.Item]", found)


def test_every_second_case_is_left_out() -> None:
    cases = items(*(f"test_winograd[{number}]" for number in range(6)))
    assert left_out(cases) == [cases[1], cases[3]]


@pytest.mark.parametrize("every", sorted({1, *EVERY.values()}))
def test_a_slice_has_cases_of_each_kind(every: int) -> None:
    taken = [number for number in range(60) if is_taken(number, every)]
    assert taken[0] == 0
    assert len(taken) == pytest.approx(60 / every, abs=2)
    for kinds in (2, 3, 4):
        assert {number % kinds for number in taken} == set(range(kinds))


def test_files_and_functions_are_counted_apart() -> None:
    one, other = (
        items("test_winograd[a]"),
        items("test_winograd[a]", path="test_two.py"),
    )
    assert left_out([*one, *other, *items("test_strassen[a]", "test_other[a]")]) == []


def test_the_table_names_tests() -> None:
    files = (TESTS / "python").rglob("test_*.py")
    found = {
        name
        for file in files
        for name in re.findall(
            r"^def (test_\w+)", file.read_text("utf-8"), re.MULTILINE
        )
    }
    assert EVERY.keys() <= found
