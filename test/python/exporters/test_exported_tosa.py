"""Graphs as programs of TOSA: upstream's mlir-opt verifies them."""

import re
import subprocess
from collections import Counter

import pytest
from node_examples import nodes_under_test
from test_exported_programs import OF_LOOPS, WITHOUT_FORM, text_of
from upstream import ABSENT, find_mlir_opt

from benchmarks.networks import TINY_NETWORKS
from glow.compiler import load, lower_to
from glow.dialects import glow as nodes
from glow.dialects.errors import GlowError
from glow.exporters.tosa import TOSA
from glow.lowering.lower_nodes.lower_nodes import LOWERINGS

REFUSED = {
    *WITHOUT_FORM, nodes.SignOp, nodes.RoundOp, nodes.TanOp, nodes.AsinOp, nodes.AcosOp,
    nodes.AtanOp, nodes.ModOp, nodes.FmodOp, nodes.ShiftLeftOp, nodes.ShiftRightOp,
    nodes.BitcastOp, nodes.FusedOp, nodes.ArgMinOp, nodes.GatherElementsOp,
    nodes.GatherNDOp, nodes.ScatterOp, nodes.CumulativeOp, nodes.TopKOp,
    nodes.DynamicSliceOp, nodes.DynamicUpdateOp,
}  # fmt: skip

OF_SOME = {"glow.arg_max"}
"""Refused with some attributes."""


def programs():
    counts = Counter()
    for example in nodes_under_test():
        counts[example.node] += 1
        if counts[example.node] > 2 or any(a.size == 0 for a in example.inputs):
            continue
        try:
            yield text_of(example.module(), TOSA)
        except GlowError as error:
            listed = set(re.findall(r"'(glow[.]\w+)'", str(error)))
            names = {node.name for node in REFUSED} | OF_SOME
            is_known = bool(listed) and listed <= names
            if example.node.name not in OF_LOOPS and not is_known:
                raise
    for name in ("mobilenet_v2", "bert"):
        yield text_of(lower_to(load(TINY_NETWORKS[name]()), "graph"), TOSA)


def test_every_node_has_a_form_or_is_refused():
    stored = {nodes.ConstantOp, nodes.SplatOp}
    known = {*TOSA.handlers, *LOWERINGS, *REFUSED, *stored}
    missing = {one.name for one in nodes.NODES} - {one.name for one in known}
    assert not missing, "give the node a row in glow/exporters/tosa, or a name here"


@pytest.mark.skipif(find_mlir_opt() is None, reason=ABSENT)
def test_upstream_verifies(tmp_path):
    texts = list(programs())
    assert len(texts) > 120
    path = tmp_path / "programs.mlir"
    path.write_text("\n// -----\n".join(texts))
    done = subprocess.run(
        [find_mlir_opt(), "--split-input-file", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:2000]
