"""Each node, and small networks, out in other dialects and in again: the same, in as few nodes."""

import numpy as np
import pytest
from support.nodes import differential
from support.nodes.node_examples import nodes_under_test
from support.programs.round_trips import (
    FORMATS,
    MOST_NODES,
    again,
    node_count,
    some_examples,
)

from benchmarks.networks import TINY_NETWORKS, make_inputs
from glow.compiler import load, lower_to
from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.interpreter import run

ERRORS = {"float16": 4e-3, "bfloat16": 3e-2}
"""Of types in which formulas of several operations round several times."""

EVERYWHERE = """
    attention avg_pool2d batch_norm batch_norm_training bce_with_logits conv_transpose2d
    conv_transpose3d fully_connected gather gelu gelu_tanh gemm hard_sigmoid hard_swish
    huber_loss kl_div l1_loss layer_norm leaky_relu local_response_norm matmul
    max_pool2d mse_loss reduce_mean sample softsign
""".split()
"""Formulas of several operations in all three, which `lower-nodes` has, too.

`local_response_norm` is one of a single channel here, whose window nobody sees.
"""

IN_PARTS = {
    "stablehlo": """
        adagrad adam arg_max arg_min clip cross_entropy cumulative div dropout elu
        fake_quantize fmod fused gather_elements gather_nd gru lamb lstm mish mod nll_loss
        random_uniform rmsprop rnn scatter sgd softplus top_k
    """.split(),
    "linalg": """
        abs adagrad adam bitwise_not broadcast cross_entropy dropout fake_quantize fused
        gather_elements gather_nd gru lamb log_softmax lstm mod nll_loss random_uniform
        rmsprop rnn sgd sign softmax
    """.split(),
    "tosa": """
        arg_max conv3d div elu is_nan mish neg not_equal softplus
    """.split(),
}
"""Nodes that no operation of a format is; what comes back of them are several nodes."""

COMPARED = {"stablehlo": 112, "linalg": 109, "tosa": 81}
"""Nodes that have a form."""


def check_equal(found, expected, name):
    for result, wanted in zip(found, expected, strict=True):
        result, wanted = np.asarray(result), np.asarray(wanted)
        if wanted.dtype.kind == "u":  # linalg's integers have no signs.
            result = result.view(wanted.dtype)
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape), name
        limit = ERRORS.get(wanted.dtype.name, 1e-5)
        wide, other = result.astype(np.float64), wanted.astype(np.float64)
        size = np.max(np.abs(other[np.isfinite(other)]), initial=1e-30)
        assert np.allclose(wide, other, limit, limit * size, equal_nan=True), name


def as_signed(array):
    return array.view(f"i{array.dtype.itemsize}") if array.dtype.kind == "u" else array


def again_if_it_can(module, name):
    """The module that comes back; None where an operation has no form."""
    try:
        return again(module, name)
    except GlowError as error:
        if "form: '" in str(error) or "not a tensor" in str(error):
            return None
        raise


@pytest.mark.parametrize("name", FORMATS)
def test_nodes(name):
    """Equal in all element types; nodes that come back in parts are those of the table."""
    compared, in_parts = set(), set()
    for example in some_examples():
        module = example.module()
        found = again_if_it_can(module, name)
        if found is None:
            continue
        inputs = [np.asarray(array) for array in example.inputs]
        given = [*map(as_signed, inputs)] if name == "linalg" else inputs
        check_equal(run(found, given), run(module, inputs), example.name)
        compared.add(example.node.name)
        count = node_count(lower_to(module, "graph"))
        if node_count(lower_to(found, "graph")) > MOST_NODES * count:
            in_parts.add(example.node.name.removeprefix("glow."))
    assert len(compared) == COMPARED[name]
    assert in_parts == {*EVERYWHERE, *IN_PARTS[name]}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("network", TINY_NETWORKS)
def test_networks(name, network):
    model = TINY_NETWORKS[network]()
    inputs = [*make_inputs(model).values()]
    optimized = lower_to(load(model), "graph")
    found = again_if_it_can(optimized, name)
    if (name, network) == ("tosa", "lstm"):  # Which has no loops.
        assert found is None
        return
    expected = run(optimized, inputs)
    for result, wanted in zip(run(found, inputs), expected, strict=True):
        np.testing.assert_allclose(result, wanted, 1e-4, 1e-5 * np.abs(wanted).max())
    count = node_count(optimized)
    assert node_count(lower_to(found, "graph")) <= MOST_NODES * count


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("last", [False, True])
def test_positions_of_nan(name, last):
    """A NaN is the extreme element wherever a format can say it."""
    rows = differential.rows_with_nan(17)
    for node, find in ((glow.ArgMaxOp, np.argmax), (glow.ArgMinOp, np.argmin)):
        module = differential.example(node, rows, axis=1, select_last=last).module()
        found = again_if_it_can(module, name)
        if name == "tosa" and (last or node is glow.ArgMinOp):
            assert found is None
            continue
        (places,) = run(found, [rows])
        wanted = 16 - find(rows[:, ::-1], 1) if last else find(rows, 1)
        np.testing.assert_array_equal(places, wanted)


def is_window(example):
    """Whether a node adds up more than one element around each, of planes of floats.

    Borders that count only as far as they were asked for have no such form (`ceil_mode`).
    """
    value = example.inputs[0]
    if "ceil_mode" in example.attributes:
        return False
    if value.dtype != np.float32 or value.ndim != 4 or not value.size:
        return False
    size = example.attributes.get("size", 1)
    return size > 1 or max(example.attributes.get("kernel", [1])) > 1


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("node", [glow.LocalResponseNormOp, glow.AvgPool2dOp])
def test_windows_are_found_again(name, node):
    """Sums over channels or pixels that are divided come back as one node, and what moves them."""
    counts = []
    for example in nodes_under_test():
        if example.node is not node or not is_window(example):
            continue
        found = again_if_it_can(example.module(), name)
        if found is not None:
            ops = [*lower_to(found, "graph").walk()]
            counts.append(sum(isinstance(op, node) for op in ops))
            assert not any(isinstance(op, glow.DivOp | glow.MulOp) for op in ops)
    assert len(counts) >= 3
    assert set(counts) == {1}
