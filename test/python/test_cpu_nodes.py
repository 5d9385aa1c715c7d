"""Every node on the CPU backend against the interpreter, on the shared examples."""

from __future__ import annotations

import pytest
from differential import Example, assert_all_close, nodes_under_test

from glow.compiler import compile
from glow.interpreter import run

EXAMPLES = [example for example in nodes_under_test() if example.has_only_float32]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_cpu_agrees_with_interpreter(example: Example) -> None:
    """One node alone, through every level down to native code."""
    module = example.module()
    expected = run(module, example.inputs)
    model = compile(module, threads=1)
    results = model(*example.inputs)
    actual = results if isinstance(results, tuple) else (results,)
    assert_all_close(actual, expected)
