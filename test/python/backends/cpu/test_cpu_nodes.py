"""Every node on the CPU backend against the interpreter, on the shared examples."""

from __future__ import annotations

import pytest
from support.nodes.differential import INDEXED, Example, assert_all_close
from support.nodes.node_examples import nodes_under_test
from support.nodes.random_nodes import tolerance
from xdsl.dialects.builtin import IndexType

from glow.compiler import compile
from glow.dialects.errors import GlowError
from glow.dialects.node import NodeOp
from glow.interpreter import run


def takes_index(example: Example) -> bool:
    """Whether the model has an `index` argument, which only loops give."""
    return example.text is None and IndexType() in example.input_types()


EXAMPLES = [example for example in nodes_under_test() if not takes_index(example)]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_cpu_agrees_with_interpreter(example: Example) -> None:
    """One node alone, through every level down to native code."""
    module = example.module()
    expected = run(module, example.inputs)
    model = compile(module, threads=1)
    results = model(*example.inputs)
    actual = results if isinstance(results, tuple) else (results,)
    assert_all_close(actual, expected, tolerance([*example.inputs, *expected]))


@pytest.mark.parametrize("node", INDEXED, ids=lambda node: node.name)
def test_index_arguments_are_refused(node: type[NodeOp]) -> None:
    """Models take tensors; the message says which argument is none."""
    examples = nodes_under_test()
    found = next(e for e in examples if e.node is node and takes_index(e))
    with pytest.raises(GlowError, match="has type index, not a tensor"):
        compile(found.module())
