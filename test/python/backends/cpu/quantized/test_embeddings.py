"""Tables quantized by row: four bits two in a byte, the interpreter's bits, half the memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from support.kernels.kernel_testing import RANDOM, TARGET, run_kernel

import glow
from glow import QuantizationOptions
from glow.backends.cpu.kernels.movement.embedding_lookup import (
    EmbeddingLookupSpec,
    build_embedding_lookup,
)
from glow.backends.cpu.quantized.embeddings import fused_rows
from glow.compiler import load
from glow.dialects.nibbles import pack_nibbles, unpack_nibbles
from glow.dialects.quant import Quantization
from glow.frontends.sidecar import save_sidecar
from glow.interpreter.integer_arithmetic import dequantize, quantize
from glow.lowering.target.target import PRESETS, Target
from glow.passes.quantization.embeddings import row_parameters
from glow.passes.quantization.quantize import quantize_module

Array = np.ndarray
TARGETS = [TARGET, PRESETS["avx2"], PRESETS["scalar"]]
ROWS = 40


def table_of(columns: int) -> Array:
    """Rows of different ranges."""
    sizes = np.exp(RANDOM.standard_normal((ROWS, 1)))
    return (RANDOM.standard_normal((ROWS, columns)) * sizes).astype(np.float32)


def model_of(table: Array, indices: tuple[int, ...]) -> ModelProto:
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "i"], ["y"])],
        "embedding",
        [helper.make_tensor_value_info("i", TensorProto.INT64, indices)],
        [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(table, "table")],
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("shape", [(1,), (2, 1), (3, 8), (2, 3, 7)])
def test_packed_numbers_come_back(shape: tuple[int, ...], signed: bool) -> None:
    stored = RANDOM.integers(-8 if signed else 0, 8 if signed else 16, shape)
    stored = stored.astype(np.int8 if signed else np.uint8)
    packed = pack_nibbles(stored)
    assert packed.shape == (*shape[:-1], -(-shape[-1] // 2))
    found = unpack_nibbles(packed, shape[-1], signed=signed)
    assert found.dtype == stored.dtype
    np.testing.assert_array_equal(found, stored)


@pytest.mark.parametrize("target", TARGETS, ids=["host", "avx2", "scalar"])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("columns", [1, 2, 7, 33, 130])
def test_kernel(columns: int, bits: int, target: Target) -> None:
    table = table_of(columns)
    data: Quantization = row_parameters(table, bits)
    stored = quantize(table, data)
    indices = np.array([3, -1, ROWS - 1, 0, ROWS, -ROWS - 1])
    spec = EmbeddingLookupSpec(ROWS, columns, bits, len(indices))
    kernel = build_embedding_lookup(spec, target)
    out = np.full((len(indices), columns), np.nan, np.float32)
    inputs = [fused_rows(stored, data).array(), indices]
    (found,) = run_kernel(kernel, [out], inputs, target)
    expected = dequantize(stored, data)[[3, ROWS - 1, ROWS - 1, 0, ROWS - 1, 0]]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("embeddings", ["int8", "int4"])
@pytest.mark.parametrize("columns", [6, 35])
def test_native_code_has_the_same_bits(columns: int, embeddings: str) -> None:
    table, options = table_of(columns), QuantizationOptions(embeddings=embeddings)
    indices = RANDOM.integers(-ROWS, ROWS, (3, 5))
    expected, found = (
        glow.compile(
            model_of(table, indices.shape),
            backend=backend,
            quantize=True,
            quantization=options,
        )(indices)
        for backend in ("interpreter", "cpu")
    )
    np.testing.assert_array_equal(found, expected)
    step = np.ptp(table, axis=1).max() / (15 if embeddings == "int4" else 255)
    assert np.abs(found - table[indices]).max() < step


def test_four_bits_take_half_of_the_file(tmp_path: Path) -> None:
    table, sizes = table_of(512), {}
    for embeddings in ("int8", "int4"):
        module = load(model_of(table, (4,)))
        quantize_module(module, None, QuantizationOptions(embeddings=embeddings))
        path = tmp_path / f"{embeddings}.safetensors"
        save_sidecar(module, path, path.name)
        sizes[embeddings] = path.stat().st_size
    assert sizes["int4"] - sizes["int8"] == -table.size // 2
