"""Bags of embeddings: Caffe2's and PyTorch's operators, errors, and tables quantized by row."""

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
from glow.passes.quantization.quantize import quantize_module

Array = np.ndarray
RANDOM = np.random.default_rng(0)
ROWS, COLUMNS = 20, 37
TABLE = RANDOM.standard_normal((ROWS, COLUMNS)).astype(np.float32)
BACKENDS = ("interpreter", "cpu")


def model_of(
    kind: str,
    domain: str,
    inputs: dict[str, Array],
    outputs: int = 1,
    **attributes: Any,
) -> ModelProto:
    """A node on the table `t` and inputs; the table is a weight."""
    names = list(inputs)
    results = [f"y{k}" for k in range(outputs)]
    node = helper.make_node(kind, ["t", *names], results, domain=domain, **attributes)
    infos = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in inputs.items()
    ]
    result = helper.make_tensor_value_info("y0", TensorProto.FLOAT, None)
    graph = helper.make_graph(
        [node], "g", infos, [result], [numpy_helper.from_array(TABLE, "t")]
    )
    opsets = [helper.make_opsetid(name, 17 if not name else 1) for name in {"", domain}]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def bags_of(
    indices: Array, lengths: list[int], weights: Array | None = None
) -> list[Array]:
    """The rows of each bag."""
    rows = TABLE[indices].astype(np.float64)
    if weights is not None:
        rows *= weights[:, None]
    return np.split(rows, np.cumsum(lengths)[:-1])


LENGTHS = [[3, 0, 4], [7], [0, 0, 7, 0], [1] * 7, [0, 7]]
INDICES = np.array([3, 0, 19, 3, 7, 7, 1], np.int64)
WEIGHTS = RANDOM.standard_normal(7).astype(np.float32)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_caffe2_bags(lengths: list[int], weighted: bool, dtype: type) -> None:
    inputs: dict[str, Array] = {"w": WEIGHTS} if weighted else {}
    inputs |= {"i": INDICES.astype(dtype), "l": np.array(lengths, dtype)}
    kind = "SparseLengthsWeightedSum" if weighted else "SparseLengthsSum"
    model = model_of(kind, "", inputs)
    bags = bags_of(INDICES, lengths, WEIGHTS if weighted else None)
    expected = np.stack([bag.sum(axis=0) for bag in bags])
    found = [glow.compile(model, backend=name)(**inputs) for name in BACKENDS]
    np.testing.assert_allclose(found[0], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_pytorch_bags(lengths: list[int], last: bool, mode: int) -> None:
    ends = np.cumsum([0, *lengths])
    offsets = ends if last else ends[:-1]
    inputs = {"i": INDICES, "o": offsets.astype(np.int64)}
    options: dict[str, Any] = {"mode": mode, "include_last_offset": int(last)}
    model = model_of(
        "ATen", "org.pytorch.aten", inputs, 4, operator="embedding_bag", **options
    )
    reduce = (np.sum, np.mean, np.max)[mode]
    empty = np.zeros(COLUMNS)
    bags = bags_of(INDICES, lengths)
    expected = np.stack([reduce(bag, axis=0) if len(bag) else empty for bag in bags])
    found = [glow.compile(model, backend=name)(**inputs) for name in BACKENDS]
    np.testing.assert_allclose(found[0], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("padding", [0, 3, 7])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_padding_is_of_no_bag(
    lengths: list[int], padding: int, mode: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = TABLE.copy()
    table[padding] = np.inf
    monkeypatch.setattr(f"{__name__}.TABLE", table)
    ends = np.cumsum([0, *lengths])
    inputs = {"i": INDICES, "o": ends[:-1].astype(np.int64)}
    options: dict[str, Any] = {"mode": mode, "padding_idx": padding}
    model = model_of(
        "ATen", "org.pytorch.aten", inputs, operator="embedding_bag", **options
    )
    bags = [TABLE[part[part != padding]] for part in np.split(INDICES, ends[1:-1])]
    reduce = (np.sum, np.mean, np.max)[mode]
    empty = np.zeros(COLUMNS)
    expected = np.stack([reduce(bag, axis=0) if len(bag) else empty for bag in bags])
    found = [glow.compile(model, backend=name)(**inputs) for name in BACKENDS]
    np.testing.assert_allclose(found[0], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("padding", [-1, 3])
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_no_rows_at_all(mode: int, padding: int, backend: str) -> None:
    inputs = {"i": np.zeros(0, np.int64), "o": np.zeros(2, np.int64)}
    options: dict[str, Any] = {"mode": mode, "padding_idx": padding}
    node = model_of(
        "ATen", "org.pytorch.aten", inputs, operator="embedding_bag", **options
    )
    model = glow.compile(node, backend=backend)
    np.testing.assert_array_equal(model(**inputs), np.zeros((2, COLUMNS)))
    with pytest.raises(GlowError, match="do not add up to the 0 rows"):
        model(i=inputs["i"], o=np.array([0, 1]))


def test_infinity_and_nan_in_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    table = TABLE.copy()
    table[3], table[0], table[19] = -np.inf, np.nan, np.inf
    monkeypatch.setattr(f"{__name__}.TABLE", table)
    inputs = {"i": np.array([3, 3, 0, 1, 19, 1]), "o": np.array([0, 2, 4])}
    options: dict[str, Any] = {"operator": "embedding_bag", "mode": 2}
    model = model_of("ATen", "org.pytorch.aten", inputs, **options)
    expected = np.repeat([[-np.inf], [np.nan], [np.inf]], COLUMNS, axis=1)
    for name in BACKENDS:
        found = glow.compile(model, backend=name)(**inputs)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("attributes", "error"),
    [
        ({"mode": 3}, "ATen"),
        ({"mode": 1, "weights": 1}, "ATen"),
        ({"padding_idx": ROWS}, f"padding_idx {ROWS} is none of the {ROWS} rows"),
    ],
)
def test_what_bags_do_not_have_is_refused(
    attributes: dict[str, int], error: str
) -> None:
    inputs: dict[str, Array] = {"i": INDICES, "o": np.array([0], np.int64)}
    if attributes.pop("weights", 0):
        inputs["w"] = WEIGHTS
    options: dict[str, Any] = {"operator": "embedding_bag", **attributes}
    model = model_of("ATen", "org.pytorch.aten", inputs, **options)
    with pytest.raises(GlowError, match=error):
        glow.compile(model)


WRONG_LENGTHS = r"the lengths of the bags .* do not add up to the 7 rows .*at node"
OUTSIDE = r"index .*is outside of .*axis"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("offsets", [[1, 3], [0, 4, 3], [0, 8], [-1, 7]], ids=str)
def test_wrong_offsets_are_errors(offsets: list[int], backend: str) -> None:
    inputs = {"i": INDICES, "o": np.array(offsets, np.int64)}
    node = model_of("ATen", "org.pytorch.aten", inputs, operator="embedding_bag")
    with pytest.raises(GlowError, match=WRONG_LENGTHS):
        glow.compile(node, backend=backend)(**inputs)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("indices", "lengths", "error"),
    [
        (INDICES, [3, 3], WRONG_LENGTHS),
        (INDICES, [3, 5], WRONG_LENGTHS),
        (INDICES, [-1, 8], WRONG_LENGTHS),
        (INDICES, [8, -1], WRONG_LENGTHS),
        (INDICES, [2**62, 2**62], WRONG_LENGTHS),
        (np.array([0, ROWS]), [1, 1], OUTSIDE),
        (np.array([0, -ROWS - 1]), [2, 0], OUTSIDE),
        (np.array([0, ROWS]), [1, 2], OUTSIDE),
    ],
    ids=str,
)
def test_wrong_lengths_and_indices_are_errors(
    indices: Array, lengths: list[int], error: str, backend: str
) -> None:
    inputs = {"i": indices, "l": np.array(lengths, np.int64)}
    model = glow.compile(model_of("SparseLengthsSum", "", inputs), backend=backend)
    with pytest.raises(GlowError, match=error):
        model(**inputs)
    right = {"i": indices % ROWS, "l": np.array([len(indices), 0])}
    assert np.isfinite(model(**right)).all()


def test_infinity_stays_in_its_bag(monkeypatch: pytest.MonkeyPatch) -> None:
    table = TABLE.copy()
    table[3] = np.inf
    monkeypatch.setattr(f"{__name__}.TABLE", table)
    inputs = {"i": INDICES, "l": np.array([1, 2, 1, 3], np.int64)}
    found = glow.compile(model_of("SparseLengthsSum", "", inputs))(**inputs)
    assert np.isinf(found).all(axis=1).tolist() == [True, False, True, False]
    assert np.isfinite(found[[1, 3]]).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_results_do_not_depend_on_threads(threads: int) -> None:
    indices = RANDOM.integers(0, ROWS, 4000)
    lengths = RANDOM.multinomial(4000, np.ones(150) / 150)
    inputs = {"i": indices, "l": lengths}
    model = model_of("SparseLengthsSum", "", inputs)
    expected = glow.compile(model, backend="interpreter")(**inputs)
    found = glow.compile(model, threads=threads)(**inputs)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("embeddings", ["int8", "int4"])
def test_tables_are_quantized_by_row(embeddings: str) -> None:
    inputs = {"w": WEIGHTS, "i": INDICES, "l": np.array([3, 0, 4])}
    model = model_of("SparseLengthsWeightedSum", "", inputs)
    options = QuantizationOptions(embeddings=embeddings)
    found = [
        glow.compile(model, backend=name, quantize=True, quantization=options)(**inputs)
        for name in BACKENDS
    ]
    np.testing.assert_array_equal(found[0], found[1])
    bags = bags_of(INDICES, [3, 0, 4], WEIGHTS)
    expected = np.stack([bag.sum(axis=0) for bag in bags])
    step = np.ptp(TABLE, axis=1).max() / (15 if embeddings == "int4" else 255)
    assert 0 < np.abs(found[0] - expected).max() < step * np.abs(WEIGHTS).sum()
    module = load(model)
    quantize_module(module, None, options)
    run_text(module, "lower-quantized{backend=cpu}")
    assert "cpu.embedding_lookup" in {op.name for op in module.walk()}
