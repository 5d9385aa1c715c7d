"""Graphs as programs of linalg: upstream's mlir-opt verifies and lowers them."""

import subprocess
from collections import Counter

import pytest
from support.nodes.node_examples import nodes_under_test
from support.programs.upstream import find_mlir_opt
from test_exported_programs import OF_LOOPS, WITHOUT_FORM, text_of

from benchmarks.networks import TINY_NETWORKS
from glow.compiler import load, lower_to
from glow.dialects import glow as nodes
from glow.dialects.errors import GlowError
from glow.exporters.linalg import LINALG
from glow.frontends.mlir import parse_text
from glow.lowering.lower_nodes.lower_nodes import LOWERINGS
from glow.universe import new_context

REFUSED = {*WITHOUT_FORM, nodes.ScatterOp, nodes.CumulativeOp, nodes.TopKOp}

LOOPS = (
    "builtin.module(one-shot-bufferize{bufferize-function-boundaries=true "
    "allow-return-allocs-from-loops=true},func.func(convert-linalg-to-loops))"
)


def programs():
    counts = Counter()
    for example in nodes_under_test():
        counts[example.node] += 1
        if counts[example.node] > 1:
            continue
        try:
            yield text_of(example.module(), LINALG)
        except GlowError:
            if example.node not in REFUSED and example.node.name not in OF_LOOPS:
                raise
    for name in TINY_NETWORKS:
        yield text_of(lower_to(load(TINY_NETWORKS[name]()), "graph"), LINALG)


def test_every_node_has_a_form_or_is_refused():
    stored = {nodes.ConstantOp, nodes.SplatOp}
    known = {*LINALG.handlers, *LOWERINGS, *REFUSED, *stored}
    missing = {one.name for one in nodes.NODES} - {one.name for one in known}
    assert not missing, "give the node a row in glow/exporters/linalg, or a name here"


@pytest.mark.skipif(find_mlir_opt() is None, reason="upstream's mlir-opt is missing")
def test_upstream_verifies_and_lowers(tmp_path):
    texts = list(programs())
    assert len(texts) > 105
    path = tmp_path / "programs.mlir"
    path.write_text("\n// -----\n".join(texts))
    arguments = ["--split-input-file", f"--pass-pipeline={LOOPS}", str(path)]
    done = subprocess.run(
        [find_mlir_opt(), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:2000]
    assert "linalg." not in done.stdout
    assert done.stdout.count("func.func @main") == len(texts)


def test_what_has_no_form_is_told_without_what_needs_it():
    text = """
    func.func @main(%x: tensor<4x4xf32>) -> (tensor<4xf32>) {
      %a, %s = glow.lu %x : tensor<4x4xf32>, tensor<f32>
      %b = glow.mul %a, %s : tensor<4x4xf32>
      %c = glow.cumulative %b kind "sum" axis 1 : tensor<4x4xf32>
      %d = glow.reduce_sum %c axes [0] : tensor<4xf32>
      func.return %d : tensor<4xf32>
    }
    """
    module = parse_text(new_context(), text, "x.mlir")
    with pytest.raises(GlowError) as caught:
        text_of(module, LINALG)
    assert str(caught.value) == (
        "2 operations have no linalg form: 'glow.lu', 'glow.cumulative'"
    )
