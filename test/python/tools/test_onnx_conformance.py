"""ONNX's own tests pass, but for those in the record; the tool that says so."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from glow.tools import onnx_conformance
from glow.tools.conformance.cases import SUITES, Case
from glow.tools.conformance.outcomes import Outcome, check, run_case
from glow.tools.conformance.page import updated

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "onnx.md"
RECORD = onnx_conformance.read_record(ROOT / "test" / "onnx_conformance.txt")
SUITES_TESTED = [suite for suite in SUITES if suite != "light"]
"""`make conformance` runs the nine large models as well."""

PARTS = 6
"""The cases in parts, none of which takes long."""

STRIDE = 3
"""Native code is made of one in so many tests of an operator."""

SPELLED_OUT = "_expanded"
"""In the names of cases whose operators are spelled out in more basic ones."""


@cache
def cases_tested() -> Sequence[Case]:
    """The cases of all suites but the large models."""
    return onnx_conformance.chosen(SUITES_TESTED, "")


def operators_of(case: Case) -> frozenset[str]:
    """The operators of a test, without those of the bodies of loops."""
    return frozenset(node.op_type for node in case.load()[0].graph.node)


def slice_of_operators(cases: Sequence[Case]) -> Iterator[Case]:
    """Of tests of the same operators, the first and every third after it.

    Of operators that are spelled out, every sixth.
    """
    seen = Counter[frozenset[str]]()
    for case in cases:
        spelled_out = SPELLED_OUT in case.name
        operators = frozenset({SPELLED_OUT}) if spelled_out else operators_of(case)
        if seen[operators] % (2 * STRIDE if spelled_out else STRIDE) == 0:
            yield case
        seen[operators] += 1


def firsts_and_others(cases: Iterable[Case]) -> tuple[list[Case], list[Case]]:
    """The cases in two: those that are the first of their operators, and the others."""
    seen: set[frozenset[str]] = set()
    firsts: list[Case] = []
    others: list[Case] = []
    for case in cases:
        operators = operators_of(case)
        (others if operators in seen else firsts).append(case)
        seen.add(operators)
    return firsts, others


def check_that_none_is_lost(cases: Sequence[Case], backend: str) -> None:
    """Fail unless every case passes that the record does not name."""
    outcomes = onnx_conformance.run_cases(cases, backend, jobs=1)
    assert not onnx_conformance.lost(RECORD, backend, outcomes)
    assert sum(outcome.kind == "passed" for outcome in outcomes) > len(cases) / 2


@pytest.mark.parametrize("part", range(PARTS))
def test_the_importer_loses_no_test(part: int) -> None:
    """Every test on the interpreter."""
    check_that_none_is_lost(cases_tested()[part::PARTS], "interpreter")


@pytest.mark.parametrize("part", range(PARTS))
def test_native_code_loses_no_operator(part: int) -> None:
    """The first test of each operator."""
    firsts, _ = firsts_and_others(slice_of_operators(cases_tested()))
    check_that_none_is_lost(firsts[part::PARTS], "cpu")


@pytest.mark.parametrize("part", range(PARTS))
def test_native_code_loses_no_test(part: int) -> None:
    """Others of the same operators; `make conformance` makes native code of all tests.

    `test_cpu_nodes.py` compares the kernels with what the interpreter computes.
    """
    _, others = firsts_and_others(slice_of_operators(cases_tested()))
    check_that_none_is_lost(others[part::PARTS], "cpu")


def test_the_slice_has_all_operators() -> None:
    some = list(slice_of_operators(cases_tested()))
    plain = [case for case in cases_tested() if SPELLED_OUT not in case.name]
    assert {*map(operators_of, some)} >= {*map(operators_of, plain)}
    assert len(some) > len(cases_tested()) / 5


def test_the_record_names_tests():
    """Each entry is a test of the installed onnx that one backend runs."""
    keys = {case.key for case in onnx_conformance.chosen(SUITES, "")}
    assert {key for _, key in RECORD} <= keys
    assert {backend for backend, _ in RECORD} <= set(onnx_conformance.BACKENDS)


def test_the_page_follows_from_the_record():
    """`docs/onnx.md` says what the tests show."""
    text = PAGE.read_text()
    assert updated(text, onnx_conformance.chosen(["node"], ""), RECORD) == text


def case_named(name):
    """A test of a single operator."""
    (case,) = onnx_conformance.chosen(["node"], f"^{name}$")
    return case


def test_wrong_results_fail():
    """A result outside of the tolerance is a failure, with its reason."""
    case = case_named("test_relu")
    model, ((given, (wanted,)),) = case.load()
    wrong = Case(
        case.suite, case.name, 0, 0, lambda: (model, [(given, [wanted + 0.5])])
    )
    outcome = run_case(wrong, "cpu")
    assert outcome.kind == "failed"
    assert "AssertionError" in outcome.reason
    assert run_case(case, "cpu") == Outcome("node/test_relu", "Relu", "passed")


@pytest.mark.parametrize(
    "result",
    [np.zeros(3, np.float64), np.zeros((3, 1), np.float32), [np.zeros(3)], None],
    ids=["dtype", "shape", "sequence", "none"],
)
def test_types_are_strict(result):
    """Another dtype, shape or kind of value is no match."""
    with pytest.raises(AssertionError):
        check(result, np.zeros(3, np.float32), case_named("test_relu"))


def test_record_round_trip(tmp_path):
    """What the tool writes, it reads; lost is what the record does not name."""
    outcomes = [
        Outcome("node/a", "A", "refused", "line 1: 'A' is not supported"),
        Outcome("node/b", "B", "failed", "wrong"),
        Outcome("node/c", "C", "passed"),
    ]
    path = tmp_path / "record.txt"
    onnx_conformance.write_record(path, {"cpu": outcomes[:1] + outcomes[2:]})
    record = onnx_conformance.read_record(path)
    assert record == {("cpu", "node/a"): "refused: line 1: 'A' is not supported"}
    assert onnx_conformance.lost(record, "cpu", outcomes) == outcomes[1:2]
    assert onnx_conformance.report_lost(path, {"cpu": outcomes}) == 1
    assert onnx_conformance.report_lost(path, {"cpu": outcomes[:1]}) == 0
