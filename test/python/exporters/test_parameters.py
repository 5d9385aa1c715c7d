"""Programs whose weights are parameters of IREE come in again, with the file beside them."""

from contextlib import ExitStack

import numpy as np
import pytest

import glow
from benchmarks.networks import TINY_NETWORKS, make_inputs
from glow.compiler import load, lower_to
from glow.dialects.weight_file import write_weight_file
from glow.exporters import PARAMETERS
from glow.exporters.linalg import LINALG
from glow.exporters.programs import export_program
from glow.exporters.programs.text import write_program
from glow.exporters.stablehlo import STABLEHLO
from glow.exporters.tosa import TOSA
from glow.frontends.sidecar import sidecar_of

TEXT = """
util.global private @w = #flow.parameter.named<"model"::"layer.w"> : tensor<2x3xf32>
util.global private @b {inlining_policy = 1 : i64} = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
func.func @main(%x: tensor<4x2xf32>) -> tensor<4x3xf32> {
  %w = util.global.load @w : tensor<2x3xf32>
  %b = util.global.load immutable @b : tensor<3xf32>
  %0 = stablehlo.dot %x, %w : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>
  %2 = stablehlo.add %0, %1 : tensor<4x3xf32>
  return %2 : tensor<4x3xf32>
}
"""


@pytest.mark.parametrize("target", [STABLEHLO, LINALG, TOSA], ids=lambda one: one.name)
@pytest.mark.parametrize("network", ["mobilenet_v2", "bert"])
def test_networks_come_back(network, target, tmp_path):
    model = TINY_NETWORKS[network]()
    inputs = [*make_inputs(model).values()]
    path = tmp_path / "program.mlir"
    program = export_program(lower_to(load(model), "graph"), target, PARAMETERS)
    with path.open("w") as stream, ExitStack() as files:
        write_program(program, path, stream, files)
    assert "#flow.parameter.named" in path.read_text()
    found, wanted = (glow.compile(one)(*inputs) for one in (path, model))
    np.testing.assert_allclose(found, wanted, 1e-4, 1e-5 * np.abs(wanted).max())


def written(folder, text, **weights):
    path = folder / "program.mlir"
    path.write_text(text)
    if weights:
        arrays = {name.replace("_", "."): array for name, array in weights.items()}
        write_weight_file(arrays, sidecar_of(path))
    return path


def test_pretty_form(tmp_path):
    w = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = np.ones((4, 2), np.float32)
    path = written(tmp_path, TEXT, layer_w=w)
    np.testing.assert_array_equal(glow.compile(path)(x), x @ w + [1, 2, 3])


W = np.zeros((2, 3), np.float32)
LOADED = "%w = util.global.load @w : tensor<2x3xf32>"


@pytest.mark.parametrize(
    ("text", "weights", "message"),
    [
        (TEXT, {}, "weight 'layer.w' is missing"),
        (TEXT, {"other": W}, "weight 'layer.w' is missing from the weight file"),
        (TEXT, {"layer_w": W.T}, r":5:3: .*layer\.w"),
        (TEXT, {"layer_w": W.astype(np.int32)}, r":5:3: .*layer\.w"),
        (
            TEXT.replace(LOADED, LOADED.replace("@w", "@v")),
            {"layer_w": W},
            ":5:3: there is no tensor 'v' to load",
        ),
        (
            TEXT.replace("private @w", "private mutable @w"),
            {"layer_w": W},
            ":2:1: the global 'w' is mutable",
        ),
        (
            TEXT.replace("util.global private @w = #flow", "util.global private @w = #f"),
            {},
            ":2:",
        ),
        (
            TEXT.replace('"model"::"layer.w"', '"model"::layer'),
            {},
            ":2:",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(text, weights, message, tmp_path):
    path = written(tmp_path, text, **weights)
    with pytest.raises(glow.GlowError, match=message) as caught:
        glow.compile(path)
    assert "\n" not in str(caught.value)
