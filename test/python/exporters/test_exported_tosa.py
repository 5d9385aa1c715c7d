"""Graphs as programs of TOSA: upstream's mlir-opt verifies them."""

import re
import subprocess
from collections import Counter

import pytest
from support.nodes.node_examples import nodes_under_test
from support.programs.upstream import ABSENT, find_mlir_opt
from test_exported_programs import OF_LOOPS, WITHOUT_FORM, text_of

from benchmarks.networks import TINY_NETWORKS
from glow.compiler import load, lower_to
from glow.dialects import glow as nodes
from glow.dialects.errors import GlowError
from glow.exporters.tosa import TOSA
from glow.frontends.mlir import parse_text
from glow.lowering.lower_nodes.lower_nodes import LOWERINGS
from glow.universe import new_context

REFUSED = {
    *WITHOUT_FORM, nodes.SignOp, nodes.RoundOp, nodes.TanOp, nodes.AsinOp, nodes.AcosOp,
    nodes.AtanOp, nodes.ModOp, nodes.FmodOp, nodes.ShiftLeftOp, nodes.ShiftRightOp,
    nodes.BitcastOp, nodes.FusedOp, nodes.ArgMinOp, nodes.GatherElementsOp,
    nodes.GatherNDOp, nodes.ScatterOp, nodes.CumulativeOp, nodes.TopKOp,
    nodes.DynamicSliceOp, nodes.DynamicUpdateOp,
}  # fmt: skip

LOOPS = {"arith.constant", "scf.for", "scf.while"}

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
            listed = set(re.findall(r"'(\w+[.]\w+)'", str(error)))
            names = {node.name for node in REFUSED} | OF_SOME | LOOPS
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


QUANTIZED = """
func.func @main(%x: tensor<1x4x6x6xf32>) -> tensor<1x3xf32> {
  %0 = quant.qcast %x : tensor<1x4x6x6xf32> to tensor<1x4x6x6x!quant.uniform<i8:f32, 0.1:3>>
  %f = glow.constant dense<0.14> : tensor<3x4x3x3xf32>
  %w = quant.qcast %f : tensor<3x4x3x3xf32> to tensor<3x4x3x3x!quant.uniform<i8:f32, 0.02>>
  %1 = glow.conv2d %0, %w : tensor<1x3x4x4x!quant.uniform<i8:f32, 0.3:-5>>
  %2 = glow.relu %1 : tensor<1x3x4x4x!quant.uniform<i8:f32, 0.3:-5>>
  %3 = glow.avg_pool2d %2 kernel [4, 4] : tensor<1x3x1x1x!quant.uniform<i8:f32, 0.2>>
  %4 = glow.reshape %3 : tensor<1x3x!quant.uniform<i8:f32, 0.2>>
  %5 = quant.dcast %4 : tensor<1x3x!quant.uniform<i8:f32, 0.2>> to tensor<1x3xf32>
  func.return %5 : tensor<1x3xf32>
}
"""


def test_quantized_nodes_are_bytes_with_zero_points():
    text = text_of(parse_text(new_context(), QUANTIZED, "x.mlir"), TOSA)
    assert (
        "(tensor<1x6x6x4xi8>, tensor<3x3x3x4xi8>, tensor<3xi32>, tensor<1xi8>" in text
    )
    assert "acc_type = i32" in text
    assert "glow" not in text
    assert "quant" not in text


def test_unsigned_bytes_are_refused():
    text = QUANTIZED.replace("<i8:", "<u8:").replace(":-5>", ":5>")
    with pytest.raises(GlowError, match="other elements than signed bytes"):
        text_of(parse_text(new_context(), text, "x.mlir"), TOSA)
