"""Runs a case through `glow.onnx_backend`, as any user of ONNX's interface would.

Types and shapes are compared strictly, numbers within the case's own tolerances; random ones are
others each time.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

import numpy as np

from glow import onnx_backend
from glow.dialects.errors import GlowError
from glow.tools.conformance.cases import Case, CaseValue

Kind = Literal["passed", "refused", "failed"]

RANDOM = frozenset(("Bernoulli", "RandomUniformLike"))
"""The operators of ONNX's tests whose results nobody can know."""

BF16_RTOL = 2**-6
"""Two units in the last place, which ONNX's own runner grants (`onnx.backend.test.runner`)."""


@dataclass(frozen=True)
class Outcome:
    """What became of a case: passed, refused in a line, or failed, and why."""

    key: str
    operator: str
    kind: Kind
    reason: str = ""


def run_case(case: Case, backend: str) -> Outcome:
    """Compile the case's model for a backend and compare the results of all its calls."""
    operator = case.suite
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            model, data = case.load()
            operators = [node.op_type for node in model.graph.node]
            operator = main_operator(case, operators)
            if not RANDOM.isdisjoint(operators):
                case = replace(case, rtol=np.inf)
            prepared = onnx_backend.prepare(model, backend=backend, threads=1)
            for given, wanted in data:
                results = prepared.run(list(given))
                check_all(results, wanted, case)
    except GlowError as error:
        return Outcome(case.key, operator, "refused", error.message)
    except Exception as error:
        return Outcome(case.key, operator, "failed", shortened(error))
    return Outcome(case.key, operator, "passed")


def main_operator(case: Case, operators: Sequence[str]) -> str:
    """The operator that a test is about; larger models are counted by their suite."""
    if case.suite != "node" or not operators:
        return case.suite
    if case.name.endswith("_expanded") or "_expanded_" in case.name:
        return "(bodies of operators)"
    return operators[0] if len(operators) == 1 else "(several operators)"


def check_all(
    results: Sequence[CaseValue], wanted: Sequence[CaseValue], case: Case
) -> None:
    """Compare all outputs of a call; AssertionError where they differ."""
    assert len(results) == len(wanted), f"{len(results)} outputs, not {len(wanted)}"
    for result, expected in zip(results, wanted, strict=True):
        check(result, expected, case)


def check(result: CaseValue, wanted: CaseValue, case: Case) -> None:
    """Compare an output; AssertionError where it differs."""
    if wanted is None:
        assert result is None, "a value instead of none"
        return
    if isinstance(wanted, list):
        assert isinstance(result, list | tuple), "no sequence"
        check_all(cast(list[CaseValue], result), cast(list[CaseValue], wanted), case)
        return
    array = np.asarray(result)
    assert array.dtype == wanted.dtype, f"dtype {array.dtype}, not {wanted.dtype}"
    assert array.shape == wanted.shape, f"shape {array.shape}, not {wanted.shape}"
    if wanted.dtype.kind in "OUS":
        np.testing.assert_array_equal(array, wanted)
        return
    rtol = max(case.rtol, BF16_RTOL) if wanted.dtype.name == "bfloat16" else case.rtol
    if wanted.dtype.kind not in "fciub":
        # NumPy compares no numbers of the types that `ml_dtypes` adds.
        array, wanted = array.astype(np.float32), wanted.astype(np.float32)
    if rtol == np.inf:
        return
    np.testing.assert_allclose(array, wanted, rtol=rtol, atol=case.atol)


def shortened(error: Exception) -> str:
    """The kind of an error and the beginning of its message, in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
