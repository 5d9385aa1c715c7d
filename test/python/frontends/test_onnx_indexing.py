"""Gathers and scatters of ONNX, against ONNX Runtime."""

import numpy as np
import pytest
from onnx import helper, numpy_helper
from support.onnx_models.onnx_testing import check_with_runtime, error_of, random

import glow
from glow.dialects.errors import GlowError


def model_of(operator, *arrays, outputs=("y",), opset=18, constants=(), **attributes):
    """A model of one node whose inputs are like the arrays; None is left out.

    Those whose numbers are among `constants` are known.
    """
    names = ["" if array is None else f"x{n}" for n, array in enumerate(arrays)]
    infos = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for n, (name, array) in enumerate(zip(names, arrays, strict=True))
        if array is not None and n not in constants
    ]
    known = [numpy_helper.from_array(arrays[n], names[n]) for n in constants]
    results = [helper.make_empty_tensor_value_info(name) for name in outputs if name]
    made = helper.make_node(operator, names, outputs, name="node", **attributes)
    graph = helper.make_graph([made], "test", infos, results, known)
    imports = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def places(size, shape, seed=0):
    """Indices into an axis, counted from the end as well."""
    return np.random.default_rng(seed).integers(-size, size, shape)


REDUCTIONS = ("none", "add", "mul", "max", "min")


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_scatter_elements(reduction):
    for axis, shape in ((0, (31, 4)), (-1, (3, 40)), (1, (0, 5))):
        x, indices = random(5, 6), places(5 + axis % 2, shape)
        if reduction == "none":  # ONNX Runtime: which one wins is left open
            indices = indices[:1, :1]
        updates = random(*indices.shape)
        model = model_of(
            "ScatterElements", x, indices, updates, axis=axis, reduction=reduction
        )
        check_with_runtime(model, x, indices, updates, rtol=1e-4)


def test_the_last_of_several_updates_wins():
    x, updates = np.zeros((2, 8), np.float32), random(2, 9)
    indices = np.tile(np.array([3, -5, 3, 1, 7, 1, -1, 3, -8]), (2, 1))
    model = glow.compile(model_of("ScatterElements", x, indices, updates, axis=1))
    expected = x.copy()
    for column, index in enumerate(indices[0]):
        expected[:, index] = updates[:, column]
    np.testing.assert_array_equal(model(x, indices, updates), expected)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_scatter_nd(reduction):
    for count, inner in ((1, (7, 5)), (2, (5,)), (3, ())):
        x = random(4, 7, 5)
        tuples = np.random.default_rng(1).permutation(4 * 7)[:20]
        indices = np.stack([tuples % 4, tuples // 4, tuples % 5], -1)[:, :count]
        if reduction == "none":
            indices = np.unique(indices, axis=0)
        updates = random(len(indices), *inner)
        model = model_of("ScatterND", x, indices, updates, reduction=reduction)
        check_with_runtime(model, x, indices, updates, rtol=1e-4)


def test_gather_nd():
    x = random(3, 4, 5)
    for indices, batch in (
        (places(3, (2, 1)), 0),
        (places(3, (2, 6, 3)), 0),
        (places(4, (3, 7, 2)), 1),
        (places(5, (3, 4, 1)), 2),
    ):
        check_with_runtime(
            model_of("GatherND", x, indices, batch_dims=batch), x, indices
        )


def test_scatters_do_not_depend_on_the_threads():
    x, indices = random(3000), places(3000, (20000, 1))
    updates = random(20000)
    model = model_of("ScatterND", x, indices, updates, reduction="add")
    one, *others = (
        glow.compile(model, threads=threads)(x, indices, updates)
        for threads in (1, 2, 3)
    )
    for other in others:
        np.testing.assert_array_equal(other, one)


@pytest.mark.parametrize("batch", [0, 1])
def test_reverse_sequence(batch):
    x, lengths = random(4, 4, 3), np.array([1, 4, 2, 3])
    model = model_of(
        "ReverseSequence", x, lengths, batch_axis=batch, time_axis=1 - batch
    )
    check_with_runtime(model, x, lengths)


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_scatter_outside_of_its_axis(backend):
    x, updates = random(4, 3), random(2, 3)
    model = glow.compile(
        model_of("ScatterND", x, np.zeros((2, 1), int), updates), backend=backend
    )
    good, bad = np.array([[-4], [3]]), np.array([[0], [4]])
    expected = model(x, good, updates)
    with pytest.raises(GlowError, match=r"outside of .*axis.*at node 'node'"):
        model(x, bad, updates)
    np.testing.assert_array_equal(model(x, good, updates), expected)


def test_wrong_constants_are_named():
    x, updates = random(4, 3), random(2, 3)
    for operator, indices, message in (
        ("ScatterND", np.array([[1], [-5]]), "index -5 is outside of axis 0 of size 4"),
        ("ScatterElements", np.full((2, 3), 4), "index 4 is outside of axis 0"),
        ("ScatterND", np.zeros((2, 2), int), "updates of shape"),
    ):
        model = model_of(operator, x, indices, updates)
        assert message in error_of(model, input_values={"x1": indices})


def test_col2im():
    for sizes, block, settings in (
        ((5, 6), (2, 3), {}),
        ((7, 5), (3, 2), {"strides": [2, 1], "pads": [1, 0, 2, 1]}),
        (
            (9, 5),
            (3, 1),
            {"dilations": [2, 1], "strides": [3, 2], "pads": [1, 0, 1, 0]},
        ),
    ):
        rank = len(sizes)
        pads = settings.get("pads", [0] * 2 * rank)
        counts = [
            (size + pads[a] + pads[a + rank]
             - settings.get("dilations", [1] * rank)[a] * (block[a] - 1) - 1)
            // settings.get("strides", [1] * rank)[a] + 1
            for a, size in enumerate(sizes)
        ]  # fmt: skip
        x = random(2, 3 * int(np.prod(block)), int(np.prod(counts)))
        operands = x, np.array(sizes), np.array(block)
        model = model_of("Col2Im", *operands, constants=(1, 2), **settings)
        check_with_runtime(model, x, rtol=1e-4)


def test_cumulative_sum():
    for shape, axis in (((5,), 0), ((3, 7), -1), ((2, 4, 5), -2)):
        x, known = random(*shape), np.array(axis)
        for exclusive, reverse in ((0, 0), (0, 1), (1, 0), (1, 1)):
            settings = {"exclusive": exclusive, "reverse": reverse}
            model = model_of("CumSum", x, known, constants=(1,), **settings)
            check_with_runtime(model, x)


@pytest.mark.parametrize(("shape", "axis"), [((2, 200), -1), ((70, 3), 0), ((1,), 0)])
def test_top_k(shape, axis):
    """Many ties, few elements and all of them."""
    x = np.round(random(*shape) * 3)
    extent = shape[axis]
    for k in {1, extent // 3, extent}:
        for largest in (0, 1):
            model = model_of(
                "TopK", x, np.array([k]), outputs=("v", "i"), constants=(1,),
                axis=axis, largest=largest,
            )  # fmt: skip
            check_with_runtime(model, x)


def test_top_k_of_old_opsets():
    x = random(3, 9)
    check_with_runtime(model_of("TopK", x, outputs=("v", "i"), opset=9, k=4), x)
    model = model_of(
        "TopK", x, np.array([2]), outputs=("v", "i"), opset=10, constants=(1,)
    )
    check_with_runtime(model, x)


def test_more_elements_than_there_are():
    x = random(3, 4)
    model = model_of("TopK", x, np.array([5]), outputs=("v", "i"), constants=(1,))
    assert "there are no 5 of 4 elements" in error_of(model)


@pytest.mark.parametrize(
    ("operator", "arrays", "constants", "message"),
    [
        ("TopK", [(4,), np.array([1, 2])], (1,), "k is not one number, but 2"),
        ("CumSum", [(4,), np.array(7)], (1,), "axis 7 of a rank-1 tensor"),
        ("ScatterElements", [(4,), (2, 3), (2, 3)], (), "indices of shape [2, 3]"),
        ("GatherND", [(4, 4), (5, 3)], (), "3 indices and batch_dims 0"),
        ("DFT", [(1, 4, 1), np.array(2**40)], (1,), "a transform of length 10995"),
        ("NonMaxSuppression", [(1, 5, 4), (1, 1, 6)], (), "boxes of shape [1, 5, 4]"),
        ("Det", [(2, 3)], (), "is not one of square matrices"),
        (
            "Col2Im",
            [(1, 4, 9), np.array([2**40] * 2), np.array([2, 2])],
            (1, 2),
            "blocks",
        ),
    ],
)
def test_wrong_shapes_are_named(operator, arrays, constants, message):
    made = [
        array if isinstance(array, np.ndarray) else np.zeros(array, np.float32)
        for array in arrays
    ]
    if "Scatter" in operator or "Gather" in operator:
        made[1] = made[1].astype(np.int64)
    outputs = ("v", "i") if operator == "TopK" else ("y",)
    model = model_of(operator, *made, constants=constants, outputs=outputs)
    assert message in error_of(model)
