"""ONNX's own tests of single operators, on the interpreter and on the CPU.

The onnx package makes the models and the data; nothing is downloaded. A case whose
operator we refuse counts as refused, never as passed: which may be refused is listed.
"""

import re
import warnings
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases
from xdsl.dialects.builtin import ModuleOp

from glow.compiler import compile
from glow.dialects.errors import GlowError
from glow.frontends.onnx import import_model
from glow.frontends.onnx.registry import HANDLERS
from glow.interpreter import run

KNOWN_FAILURES = re.compile(
    # The reference rounds to 16 bits elsewhere: one unit in the last place is more than
    # the relative tolerance of 0.001.
    r"test_attention_(3d|4d)(_attn_mask)?(_causal)?(_padded_kv)?_(bf16|fp16)(_expanded)?"
)

LEAST_PASSED = 1290
"""Of 1,884 cases in onnx 1.23; a smaller number means that coverage was lost."""

NOT_ON_THE_CPU = re.compile(
    r"glow\.(conv2d_integer|dynamic_quantize|dynamic_matmul|matmul_integer|rescale"
    r"|lookup_table) has no instruction"
)
"""Nodes of quantized networks, for which the CPU has no kernels yet."""

CPU_PARTS = 8
"""The cases that run natively, in parts that test processes share."""

REFUSED_FORMS = {
    "AveragePool": {"3 spatial axes"},
    "BatchNormalization": {"training_mode 1"},
    "DequantizeLinear": {"blocked quantization", "scale computed at run time"},
    "Dropout": {"training_mode 1"},
    "LSTM": {"peepholes computed at run time"},
    "MaxPool": {"3 spatial axes", "result Indices"},
    "OneHot": {"depth computed at run time"},
    "QLinearConv": {"scale computed at run time"},
    "QLinearMatMul": {"scale computed at run time"},
    "QuantizeLinear": {"blocked quantization", "scale computed at run time"},
    "Range": {"start computed at run time"},
}
"""The forms of operators with a handler that are not supported."""

ENTRY = re.compile(r"'(\w+)'(?: \(([^)]*)\))? at node")


@dataclass
class Outcomes:
    """The names of the cases by outcome; failures and refusals with their messages."""

    passed: list[str] = field(default_factory=list[str])
    failed: dict[str, str] = field(default_factory=dict[str, str])
    refused: dict[str, str] = field(default_factory=dict[str, str])


def to_array(value):
    """A case's value as an array; None for sequences and optional values."""
    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    return None if value is None or isinstance(value, list) else np.asarray(value)


def import_case(model, values) -> tuple[ModuleOp, list[int]]:
    """The module, and the numbers of the inputs that it takes.

    The tests give shapes and axes as inputs; those are fixed where we must know them.
    """
    named = dict(zip((value.name for value in model.graph.input), values, strict=True))
    try:
        return import_model(model), list(range(len(values)))
    except GlowError as error:
        if "at run time" not in error.message:
            raise
    fixed = {
        name: value
        for name, value in named.items()
        if value.dtype.kind in "iub" and value.size < 64 and value.ndim < 2
    }
    module = import_model(model, input_values=fixed)
    return module, [i for i, name in enumerate(named) if name not in fixed]


def interpreted(module):
    """A function of the arrays that interprets the module."""
    return lambda arrays: run(module, arrays)


def compiled(module):
    """A function of the arrays that runs the module's native code."""
    try:
        model = compile(module, threads=1)
    except GlowError as error:
        if NOT_ON_THE_CPU.search(error.message):
            raise
        raise AssertionError(f"imported, but {error.one_line()}") from error

    def call(arrays):
        results = model(*arrays)
        return results if isinstance(results, tuple) else (results,)

    return call


def run_case(case, prepare) -> str | None:
    """None where the results agree, else the difference; GlowError where refused.

    `prepare` makes the function that runs an imported module.
    """
    function, taken = None, []
    for inputs, outputs in case.data_sets:
        values = [to_array(value) for value in inputs]
        expected = [to_array(value) for value in outputs]
        if any(value is None for value in (*values, *expected)):
            raise GlowError("sequences are not supported")
        if function is None:
            module, taken = import_case(case.model, values)
            module.verify()
            function = prepare(module)
        results = function([values[number] for number in taken])
        try:
            for result, wanted in zip(results, expected, strict=True):
                assert result.dtype == wanted.dtype
                np.testing.assert_allclose(
                    result, wanted, rtol=case.rtol, atol=case.atol
                )
        except AssertionError as error:
            return str(error)
    return None


@cache
def cases():
    """All cases, made once a process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return collect_testcases(None)


def run_cases(chosen, prepare) -> Outcomes:
    """What becomes of some cases."""
    found = Outcomes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in chosen:
            try:
                difference = run_case(case, prepare)
            except GlowError as error:
                found.refused[case.name] = error.one_line()
            except Exception as error:
                found.failed[case.name] = repr(error)
            else:
                if difference is None:
                    found.passed.append(case.name)
                else:
                    found.failed[case.name] = difference
    return found


def unexpected_failures(outcomes: Outcomes) -> dict[str, str]:
    """The failures that are not known."""
    return {
        name: message
        for name, message in outcomes.failed.items()
        if not KNOWN_FAILURES.fullmatch(name)
    }


INTERPRETED = pytest.mark.xdist_group("the interpreter's outcomes")
"""Tests that share what one process finds out."""


@pytest.fixture(scope="module")
def outcomes() -> Outcomes:
    """What became of every case on the interpreter."""
    return run_cases(cases(), interpreted)


@INTERPRETED
def test_results_agree(outcomes):
    """Whatever is imported computes what ONNX says."""
    assert not unexpected_failures(outcomes)


@pytest.mark.parametrize("part", range(CPU_PARTS))
def test_results_agree_on_the_cpu(part):
    """Whatever is imported is compiled, and computes what ONNX says."""
    outcomes = run_cases(cases()[part::CPU_PARTS], compiled)
    assert not unexpected_failures(outcomes)
    assert len(outcomes.passed) >= LEAST_PASSED / CPU_PARTS / 2


@INTERPRETED
def test_coverage(outcomes):
    """As many cases pass as ever did."""
    assert len(outcomes.passed) >= LEAST_PASSED


@INTERPRETED
def test_only_known_forms_are_refused(outcomes):
    """An operator that has a handler is refused in the listed forms only."""
    unexpected = [
        (name, operator, reason)
        for name, message in outcomes.refused.items()
        for operator, reason in ENTRY.findall(message)
        if operator in HANDLERS and reason not in REFUSED_FORMS.get(operator, ())
    ]
    assert not unexpected


@INTERPRETED
def test_refusals_tell_why(outcomes):
    """Every other refusal is about a type that we lack."""
    unexpected = {
        name: message
        for name, message in outcomes.refused.items()
        if not ENTRY.search(message)
        and not re.search(r"elements of type \w+ are not supported", message)
        and not re.search(r"optional|sequence", name + message)
    }
    assert not unexpected
