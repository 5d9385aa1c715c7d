"""Every node of the interpreter against ONNX's reference implementation or NumPy."""

from __future__ import annotations

from importlib import import_module

import pytest
from support.nodes.differential import Example, assert_all_close
from support.nodes.expectations import expected
from support.nodes.node_examples import nodes_under_test

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.reference.nodes import cpu_functions
from glow.dialects import glow, instr, quant
from glow.interpreter import FUNCTIONS, evaluation, run
from glow.interpreter.instructions import instruction_methods
from glow.interpreter.variables import Variables, variable_methods

EXAMPLES = nodes_under_test()
LOW_PRECISION = ("float16", "bfloat16")


def tolerance(example: Example) -> float:
    """References compute in the element type, the interpreter more accurately."""
    is_low = any(str(array.dtype) in LOW_PRECISION for array in example.inputs)
    return 2e-2 if is_low else 3e-6


@pytest.mark.parametrize("theme", evaluation.THEMES)
def test_functions_that_are_loaded_late_are_those_of_their_module(theme: str) -> None:
    module = import_module(f"glow.interpreter.{theme}")
    assert list(evaluation.THEMES[theme]) == list(module.NODES)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_node(example: Example) -> None:
    before = [array.copy() for array in example.inputs]
    results = run(example.module(), example.inputs)
    assert_all_close(results, expected(example), tolerance(example))
    for array, copy in zip(example.inputs, before, strict=True):
        assert array.tobytes() == copy.tobytes()


def test_example_names_are_unique() -> None:
    names = [example.name for example in EXAMPLES]
    assert len(names) == len(set(names))


def test_every_node_has_an_example() -> None:
    assert set(glow.NODES) <= {example.node for example in EXAMPLES}


def test_every_operation_has_a_function() -> None:
    assert {*glow.NODES, *glow.QUANTIZATION_NODES} <= set(FUNCTIONS)
    apart = {glow.YieldOp, glow.VariableOp, glow.SaveOp}
    assert {*quant.Quant.operations, *glow.Glow.operations} - apart == set(FUNCTIONS)
    cpu_table = cpu_functions({})
    assert set(cpu.NODES) == set(cpu_table)
    methods = instruction_methods({**FUNCTIONS, **cpu_table})
    instructions = instr.instr_dialect([*glow.NODES, *cpu.NODES]).operations
    assert {*instructions} - {instr.VariableOp} == set(methods)
    state = {glow.VariableOp, glow.SaveOp, instr.VariableOp}
    assert set(variable_methods(Variables({}))) == state
