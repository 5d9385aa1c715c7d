"""`make test` takes some cases of tests that have many; the table names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from places import TESTS
from support.slices import EVERY, left_out


def items(*names: str, path: str = "test_one.py") -> list[pytest.Item]:
    """Tests as pytest collects them, as far as a slice looks at them."""
    found = [SimpleNamespace(name=name, path=Path(path)) for name in names]
    return cast("list[pytest.Item]", found)


def test_each_second_case_is_left_out() -> None:
    cases = items(*(f"test_winograd[{number}]" for number in range(5)))
    assert left_out(cases) == [cases[1], cases[3]]


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
