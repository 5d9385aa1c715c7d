"""Examples of nodes and small networks in other dialects, compiled and run by IREE."""

from collections import Counter
from io import StringIO

import numpy as np
import pytest
from iree_tools import run_program
from support.nodes.node_examples import nodes_under_test

from benchmarks.networks import TINY_NETWORKS, make_inputs
from glow.compiler import load, lower_to
from glow.dialects.errors import GlowError
from glow.exporters.linalg import LINALG
from glow.exporters.programs import export_program
from glow.exporters.programs.text import print_program
from glow.exporters.stablehlo import STABLEHLO
from glow.exporters.tosa import TOSA
from glow.interpreter import run

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
