"""Bags of tables whose rows hold their scale and bias (Caffe2's fused rows), against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from support.programs.pipelines import run_text

import glow
from glow import QuantizationOptions
from glow.compiler import load
from glow.dialects.errors import GlowError
from glow.dialects.node import shape_of

Array = np.ndarray
RANDOM = np.random.default_rng(1)
ROWS = 20
BACKENDS = ("interpreter", "cpu")
PARAMETERS = {8: np.dtype("<f4"), 4: np.dtype("<f2")}
INDICES = np.array([3, 0, 19, 3, 7, 7, 1], np.int64)
WEIGHTS = RANDOM.standard_normal(7).astype(np.float32)


def fused_table(columns: int, bits: int, rows: int = ROWS) -> tuple[Array, Array]:
    """Random rows as bytes, and their values; row 3, if there is one, has the scale 0."""
    numbers = RANDOM.integers(0, 2**bits, (rows, columns), np.uint8)
    parameters = np.exp(RANDOM.standard_normal((rows, 2))).astype(PARAMETERS[bits])
    parameters[::2, 1] *= -1
    parameters[3:4, 0] = 0
    held = numbers if bits == 8 else numbers[:, ::2] | numbers[:, 1::2] << 4
    scale, bias = np.split(parameters.astype(np.float64), 2, axis=1)
    return np.hstack([held, parameters.view(np.uint8)]), numbers * scale + bias


def model_of(
    bits: int,
    table: Array,
    inputs: dict[str, Array],
    constants: dict[str, Array] | None = None,
) -> ModelProto:
    """A node on `t`, `i` and `l`, and `w` if it is there; the table is a weight."""
    weights = {"t": table, **(constants or {})}
    names = [name for name in "twil" if name in {**inputs, **weights}]
    weighted = "Weighted" if "w" in names else ""
    kind = f"SparseLengths{weighted}SumFused{bits}BitRowwise"
    infos = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in inputs.items()
    ]
    graph = helper.make_graph(
        [helper.make_node(kind, names, ["y"], name="bags")],
        "g",
        infos,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def check(
    model: ModelProto,
    inputs: dict[str, Array],
    rows: Array,
    lengths: list[int],
    **options: Any,
) -> None:
    """Both backends give the same bits, which are near to the sums of bags of rows."""
    found = [
        np.asarray(glow.compile(model, backend=b, **options)(**inputs), np.float32)
        for b in BACKENDS
    ]
    np.testing.assert_array_equal(found[0], found[1])
    bags = np.split(rows, np.cumsum(lengths)[:-1])
    expected = np.stack([bag.sum(axis=0) for bag in bags])
    limit = 1e-6 * np.abs(rows).sum(axis=0).max()
    np.testing.assert_allclose(found[0], expected, rtol=0, atol=limit)


CASES = [(8, 1), (8, 37), (8, 64), (4, 2), (4, 38), (4, 64)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("lengths", [[3, 0, 4], [7], [0, 0, 7, 0]], ids=str)
@pytest.mark.parametrize(("bits", "columns"), CASES)
def test_bags(bits: int, columns: int, lengths: list[int], weighted: bool) -> None:
    table, values = fused_table(columns, bits)
    weights = {"w": WEIGHTS} if weighted else {}
    inputs = weights | {"i": INDICES, "l": np.array(lengths, np.int32)}
    rows = values[INDICES] * (WEIGHTS[:, None] if weighted else 1)
    check(model_of(bits, table, inputs), inputs, rows, lengths)


@pytest.mark.parametrize("bits", [8, 4])
def test_nothing_but_empty_bags(bits: int) -> None:
    table, _ = fused_table(6, bits)
    inputs = {"i": np.zeros(0, np.int64), "l": np.zeros(2, np.int32)}
    check(model_of(bits, table, inputs), inputs, np.zeros((0, 6)), [0, 0])


@pytest.mark.parametrize("bits", [8, 4])
def test_indices_that_are_constants(bits: int) -> None:
    table, values = fused_table(6, bits)
    inputs = {"l": np.array([3, 4], np.int32)}
    model = model_of(bits, table, inputs, {"i": INDICES})
    check(model, inputs, values[INDICES], [3, 4])
    known = {"i": np.arange(2, 5), "l": np.array([2, 1])}
    check(model_of(bits, table, {}, known), {}, values[2:5], [2, 1])


@pytest.mark.parametrize("bits", [8, 4])
def test_a_table_of_one_row(bits: int) -> None:
    table, values = fused_table(6, bits, rows=1)
    inputs = {"i": np.zeros(3, np.int32), "l": np.array([1, 2], np.int32)}
    rows = values.repeat(3, axis=0)
    check(model_of(bits, table, inputs), inputs, rows, [1, 2])


@pytest.mark.parametrize("embeddings", ["float", "int8", "int4"])
@pytest.mark.parametrize("bits", [8, 4])
def test_quantization_leaves_rows_as_they_are(bits: int, embeddings: str) -> None:
    table, values = fused_table(6, bits)
    inputs = {"i": INDICES, "l": np.array([3, 4], np.int32)}
    options = QuantizationOptions(embeddings=embeddings)
    model, rows = model_of(bits, table, inputs), values[INDICES]
    check(model, inputs, rows, [3, 4], quantize=True, quantization=options)


@pytest.mark.parametrize(("bits", "row"), [(8, 64 + 8), (4, 32 + 8)])
def test_rows_stay_small(bits: int, row: int) -> None:
    table, _ = fused_table(64, bits)
    inputs = {"i": INDICES, "l": np.array([3, 4], np.int32)}
    module = load(model_of(bits, table, inputs))
    run_text(module, "lower-quantized{backend=cpu}")
    (rows,) = (op for op in module.walk() if op.name == "cpu.embedding_lookup")
    assert shape_of(rows.operands[0]) == (ROWS, row)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("bits", [8, 4])
def test_wrong_calls_are_errors(bits: int, backend: str) -> None:
    table, _ = fused_table(6, bits)
    good = {"i": INDICES, "l": np.array([3, 4], np.int32)}
    model = glow.compile(model_of(bits, table, good), backend=backend)
    for wrong, error in (
        ({"i": INDICES + 1}, r"index .*is outside of .*axis.*at node 'bags'"),
        ({"l": np.array([3, 5], np.int32)}, r"do not add up to .*at node 'bags'"),
    ):
        with pytest.raises(GlowError, match=error):
            model(**{**good, **wrong})
    assert np.isfinite(model(**good)).all()


def _with_scale(bits: int, scale: float) -> Array:
    """A table whose second row has another scale."""
    table, _ = fused_table(6, bits)
    dtype = PARAMETERS[bits]
    start = table.shape[1] - 2 * dtype.itemsize
    table[1, start : start + dtype.itemsize] = np.array([scale], dtype).view(np.uint8)
    return table


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("scale", [-1.0, np.inf, np.nan])
def test_wrong_scales_are_errors(bits: int, scale: float) -> None:
    inputs = {"i": INDICES, "l": np.array([3, 4], np.int32)}
    with pytest.raises(GlowError, match=r"scales of rows must be .*at node 'bags'"):
        glow.compile(model_of(bits, _with_scale(bits, scale), inputs))


@pytest.mark.parametrize(
    ("table", "error"),
    [
        (np.zeros((4, 9), np.int8), "must be a matrix of uint8, not int8"),
        (np.zeros(9, np.uint8), "must be a matrix of uint8"),
        (np.zeros((4, 8), np.uint8), "more than 8 bytes"),
        (np.zeros((0, 9), np.uint8), "must have rows"),
    ],
    ids=["int8", "vector", "narrow", "empty"],
)
def test_wrong_tables_are_errors(table: Array, error: str) -> None:
    inputs = {"i": INDICES, "l": np.array([3, 4], np.int32)}
    with pytest.raises(GlowError, match=error):
        glow.compile(model_of(8, table, inputs))


def test_a_table_that_is_an_input_is_refused() -> None:
    table, _ = fused_table(6, 8)
    inputs = {"t": table, "i": INDICES, "l": np.array([3, 4], np.int32)}
    model = model_of(8, table, inputs)
    del model.graph.initializer[:]
    with pytest.raises(GlowError, match="a table of fused rows computed at run time"):
        glow.compile(model)
