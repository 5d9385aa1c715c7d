"""Graphs as programs for other compilers: each node, read again and compared."""

import re
from io import StringIO

import numpy as np
import pytest

from glow.dialects import glow as nodes
from glow.dialects.errors import GlowError
from glow.dialects.weights import new_constant, weights_of
from glow.exporters.programs import export_program
from glow.exporters.programs import weights as program_weights
from glow.exporters.programs.text import print_program
from glow.exporters.stablehlo import STABLEHLO
from glow.frontends.mlir import parse_text
from glow.frontends.stablehlo.convert_stablehlo_to_glow import (
    ConvertStablehloToGlowPass,
)
from glow.lowering.lower_nodes.lower_nodes import LOWERINGS
from glow.passes.rewriting.scalar_builder import SCALAR_BODIES
from glow.tools.glow import run_glow
from glow.tools.glow_opt import run_glow_opt
from glow.universe import new_context

WITHOUT_FORM = {
    nodes.LuOp, nodes.ArgMaxPool2dOp, nodes.LengthsSumOp, nodes.LengthsMaxOp,
    nodes.CompactOp, nodes.SelectBoxesOp,
}  # fmt: skip
"""The nodes that no operation of StableHLO is, nor a few."""

OF_LOOPS = {"glow.dynamic_slice", "glow.dynamic_update"}
"""Nodes that take an index, which no argument of a program is."""

EXAMPLES_PER_NODE = 2


def text_of(module, target=STABLEHLO, weights="resource"):
    output = StringIO()
    print_program(export_program(module, target, weights), output)
    return output.getvalue()


CONTEXT = new_context()


def read_again(text):
    module = parse_text(CONTEXT, text, "program.mlir")
    ConvertStablehloToGlowPass().apply(CONTEXT, module)
    module.verify()
    return module


def test_every_node_has_a_form_or_is_refused():
    known = {*STABLEHLO.handlers, *LOWERINGS, *SCALAR_BODIES, *WITHOUT_FORM}
    stored = {nodes.ConstantOp, nodes.SplatOp, nodes.FusedOp}
    missing = {one.name for one in nodes.NODES} - {one.name for one in known | stored}
    assert not missing, (
        "give the node a row in glow/exporters/stablehlo, or a name here"
    )
    assert not WITHOUT_FORM & set(STABLEHLO.handlers)


NETWORK = """
func.func @main(%image: tensor<1x3x8x8xf32>) -> (tensor<1x8x4x4xf32>)
    attributes {glow.output_names = ["features"]} {
  %weights = glow.constant dense<0.5> : tensor<8x3x3x3xf32>
  %0 = glow.conv2d %image, %weights pads [1, 1, 1, 1] activation "relu" : tensor<1x8x8x8xf32>
  %1 = glow.max_pool2d %0 kernel [2, 2] strides [2, 2] : tensor<1x8x4x4xf32>
  func.return %1 : tensor<1x8x4x4xf32>
}
"""


def network():
    module = parse_text(new_context(), NETWORK, "network.mlir")
    array = np.linspace(-1, 1, 216, dtype=np.float32).reshape(8, 3, 3, 3)
    constant = next(op for op in module.walk() if isinstance(op, nodes.ConstantOp))
    new = new_constant(weights_of(module), array, "kernel")
    constant.parent.insert_op_before(new, constant)
    constant.result.replace_all_uses_with(new.result)
    constant.detach()
    constant.erase()
    return module


@pytest.mark.parametrize(
    ("form", "place"),
    [
        ("resource", "value = dense_resource<kernel> : tensor<8x3x3x3xf32>"),
        ("arguments", "%kernel: tensor<8x3x3x3xf32>):"),
        (
            "parameters",
            '#flow.parameter.named<"model"::"kernel"> : tensor<8x3x3x3xf32>',
        ),
    ],
)
def test_weights_go_where_they_are_wanted(form, place):
    text = text_of(network(), weights=form)
    assert place in text
    assert ("dialect_resources" in text) == (form == "resource")
    names = re.findall(r'ml_program.identifier = "(\w+)"', text)
    more = ["kernel"] if form == "arguments" else []
    assert names == ["image", *more, "features"]
    assert 'jax.result_info = "features"' in text


def test_weights_that_make_the_text_too_long(monkeypatch):
    monkeypatch.setattr(program_weights, "MOST_CHARACTERS", 1000)
    with pytest.raises(GlowError, match=r"0 MB of text.*"):
        text_of(network())
    text_of(network(), weights="parameters")


def test_what_has_no_form_is_told_at_once():
    text = """
    func.func @main(%x: tensor<4x4xf32>, %f: tensor<4xi1>) -> (tensor<f32>, tensor<i64>) {
      %a, %s = glow.lu %x : tensor<4x4xf32>, tensor<f32>
      %p, %n = glow.compact %f : tensor<4xi64>, tensor<i64>
      func.return %s, %n : tensor<f32>, tensor<i64>
    }
    """
    module = parse_text(new_context(), text, "x.mlir")
    with pytest.raises(GlowError) as caught:
        text_of(module)
    assert str(caught.value) == (
        "2 operations have no StableHLO form: 'glow.lu', 'glow.compact'"
    )


def test_tools_write_programs(tmp_path):
    source, first, second = (tmp_path / name for name in ("a.mlir", "b.mlir", "c.mlir"))
    source.write_text(NETWORK)
    run_glow_opt([str(source), "-t", "stablehlo", "-o", str(first)])
    assert '"stablehlo.convolution"' in first.read_text()
    arguments = ["--emit=stablehlo", "--weights=parameters", "-o", str(second)]
    run_glow(["compile", str(first), *arguments])
    assert '"stablehlo.reduce_window"' in second.read_text()
    for form, error in (("linked", "none of resource"), ("paper", "invalid choice")):
        with pytest.raises(GlowError, match=error):
            run_glow(["compile", str(first), "--emit=stablehlo", f"--weights={form}"])
