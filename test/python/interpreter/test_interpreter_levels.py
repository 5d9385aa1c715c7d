"""The instruction level gives what the graph level gives, planned memory included."""

from __future__ import annotations

import numpy as np
import pytest
from support.nodes.differential import Example, assert_all_close
from support.nodes.node_examples import nodes_under_test
from support.programs.pipelines import run_text

from benchmarks.networks import TINY_NETWORKS, make_inputs
from glow.backends.cpu.layout.packed_weights import packings_of
from glow.backends.cpu.layout.packing import TargetPacker
from glow.backends.cpu.reference.nodes import cpu_functions
from glow.compiler import lower_to
from glow.frontends.onnx import import_model
from glow.interpreter import run
from glow.lowering.glow_to_instr import GlowToInstrPass
from glow.lowering.lower_nodes.lower_nodes import LowerNodesPass
from glow.lowering.target.target import Target
from glow.passes.instr.eliminate_copies import EliminateCopiesPass
from glow.passes.instr.plan_memory import PlanMemoryPass
from glow.universe import new_context


def one_per_node() -> list[Example]:
    """The examples with regions and loops, and the last plain one of each node."""
    examples = nodes_under_test()
    chosen = {example.node: example for example in examples if example.text is None}
    return [*chosen.values(), *(example for example in examples if example.text)]


EXAMPLES = one_per_node()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_instructions(example: Example) -> None:
    module, context = example.module(), new_context()
    for level_pass in (GlowToInstrPass(), EliminateCopiesPass(), PlanMemoryPass()):
        level_pass.apply(context, module)
        module.verify()
    expected = run(example.module(), example.inputs)
    for actual, wanted in zip(run(module, example.inputs), expected, strict=True):
        np.testing.assert_array_equal(actual, wanted)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_lowered_nodes(example: Example) -> None:
    module, context = example.module(), new_context()
    for level_pass in (LowerNodesPass(), GlowToInstrPass()):
        level_pass.apply(context, module)
        module.verify()
    is_low = any(array.dtype.itemsize == 2 for array in example.inputs)
    assert_all_close(
        run(module, example.inputs),
        run(example.module(), example.inputs),
        2e-2 if is_low else 1e-5,
    )


@pytest.mark.parametrize("target", ["avx512", "avx2", "scalar"])
@pytest.mark.parametrize("name", TINY_NETWORKS)
def test_network(name: str, target: str) -> None:
    """Graph, lowered and instruction level agree for every target's packing."""
    model = TINY_NETWORKS[name]()
    inputs = list(make_inputs(model).values())
    module = import_model(model)
    expected = run(module, inputs)
    own = cpu_functions(packings_of(TargetPacker(Target.from_string(target))))
    for stage in ("graph", "lowered", "instr"):
        if stage == "instr":
            run_text(module, "glow-to-instr,eliminate-copies,plan-memory")
        else:
            lower_to(module, stage, target=target)
        assert_all_close(run(module, inputs, own=own), expected, 1e-5)
