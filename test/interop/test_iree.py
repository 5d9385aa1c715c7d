"""Examples of nodes and small networks in other dialects, compiled and run by IREE."""

from collections import Counter
from contextlib import ExitStack
from io import StringIO

import numpy as np
import pytest
from iree_tools import compiled, run_compiled, run_program
from support.nodes import differential
from support.nodes.node_examples import nodes_under_test

from benchmarks.networks import TINY_NETWORKS, make_inputs
from glow.compiler import load, lower_to
from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.exporters import PARAMETERS
from glow.exporters.linalg import LINALG
from glow.exporters.programs import export_program
from glow.exporters.programs.text import print_program, write_program
from glow.exporters.stablehlo import STABLEHLO
from glow.exporters.tosa import TOSA
from glow.exporters.tosa.multipliers import Multipliers
from glow.frontends.mlir import parse_text
from glow.frontends.sidecar import sidecar_of
from glow.interpreter import run
from glow.universe import new_context

pytest.importorskip("iree.compiler", reason="pip install iree-base-compiler")
pytest.importorskip("iree.runtime", reason="pip install iree-base-runtime")

FORMATS = {one.name: one for one in (STABLEHLO, LINALG, TOSA)}


def text_of(module, target):
    output = StringIO()
    print_program(export_program(module, target), output)
    return output.getvalue()


def check_equal(found, expected):
    for result, wanted in zip(found, expected, strict=True):
        wanted = np.asarray(wanted).astype(np.float64)
        size = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=1e-30)
        np.testing.assert_allclose(
            result.astype(np.float64).reshape(wanted.shape), wanted, 1e-4, 1e-4 * size
        )


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("network", TINY_NETWORKS)
def test_networks(name, network):
    model = TINY_NETWORKS[network]()
    inputs = [*make_inputs(model).values()]
    try:
        text = text_of(lower_to(load(model), "graph"), FORMATS[name])
    except GlowError:
        if (name, network) == ("TOSA", "lstm"):
            return
        raise
    check_equal(run_program(text, inputs), run(load(model), inputs))


NODES = (
    "glow.conv2d", "glow.conv3d", "glow.conv_transpose2d", "glow.max_pool2d",
    "glow.avg_pool2d", "glow.matmul", "glow.gather", "glow.slice", "glow.pad",
    "glow.softmax", "glow.layer_norm", "glow.local_response_norm", "glow.reduce_prod",
    "glow.arg_max", "glow.gather_nd", "glow.gelu", "glow.tile",
)  # fmt: skip
"""Those that are more than one operation."""


@pytest.mark.parametrize("name", FORMATS)
def test_nodes(name):
    counts = Counter()
    for example in nodes_under_test():
        is_plain = all(a.size and a.dtype == np.float32 for a in example.inputs[:1])
        counts[example.node] += is_plain
        if example.node.name not in NODES or not is_plain:
            continue
        if counts[example.node] != 2:
            continue
        module = example.module()
        try:
            text = text_of(module, FORMATS[name])
        except GlowError:
            continue
        check_equal(run_program(text, example.inputs), run(module, example.inputs))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("last", [False, True])
def test_positions_of_nan(name, last):
    rows = differential.rows_with_nan(17)
    for node in (glow.ArgMaxOp, glow.ArgMinOp):
        module = differential.example(node, rows, axis=1, select_last=last).module()
        if name == "TOSA" and (last or node is glow.ArgMinOp):
            continue
        found = run_program(text_of(module, FORMATS[name]), [rows])
        check_equal(found, run(module, [rows]))


CHANNELS = 400


@pytest.mark.parametrize("count", [12, 16])
def test_as_many_halfway_sums_as_are_corrected(count, tmp_path):
    """A kernel of IREE reads at most 32 buffers, two of them for each corrected sum."""
    scale = {12: 0.01744186133146286, 16: 0.01764705963432789}[count]
    found = Multipliers.of(np.float32([scale]), (-128, 127))
    assert len(found.corrections.sums) == count
    scales = ", ".join(map(repr, [scale, *[0.0131022715] * (CHANNELS - 1)]))
    kind = f"!quant.uniform<i8:f32:1, {{{scales}}}>"
    weights = np.random.default_rng(0).integers(-128, 128, (20, CHANNELS))
    module = parse_text(
        new_context(),
        f"""func.func @main(%x: tensor<64x20xi8>) -> tensor<64x{CHANNELS}xi8> {{
          %0 = quant.scast %x : tensor<64x20xi8> to tensor<64x20x!quant.uniform<i8:f32, 1.0>>
          %w = glow.constant dense<{weights.tolist()}> : tensor<20x{CHANNELS}xi8>
            as tensor<20x{CHANNELS}x{kind}>
          %y = glow.fully_connected %0, %w
            : tensor<64x{CHANNELS}x!quant.uniform<i8:f32, 1.0>>
          %z = quant.scast %y
            : tensor<64x{CHANNELS}x!quant.uniform<i8:f32, 1.0>> to tensor<64x{CHANNELS}xi8>
          func.return %z : tensor<64x{CHANNELS}xi8>
        }}""",
        "quantized.mlir",
    )
    # Small, so that sums are between both limits, where those that are corrected lie.
    array = np.random.default_rng(1).integers(-16, 17, (64, 20), np.int8)
    path = tmp_path / "program.mlir"
    with path.open("w") as stream, ExitStack() as files:
        write_program(export_program(module, TOSA, PARAMETERS), path, stream, files)
    (result,) = run_compiled(compiled(path), [array], sidecar_of(path))
    np.testing.assert_array_equal(result, *run(module, [array]))
