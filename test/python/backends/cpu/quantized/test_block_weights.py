"""Products with weights of a few bits: native code, and the nodes that it was lowered to."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import glow
from glow.compiler import load, lower_to
from glow.interpreter import run

Array = np.ndarray


def model(
    rows: int | str, depth: int, columns: int, *, bits: int = 4, level: int = 0
) -> bytes:
    """Two products of one input by ONNX Runtime's operator, one with zero points, and their sum."""
    rng, block = np.random.default_rng(0), 32
    blocks = -(-depth // block)
    names, initializers = ("first", "second"), []
    nodes, points = [], -(-blocks * bits // 8)
    for name, has_points in zip(names, (False, True), strict=True):
        arrays = {
            f"{name}_codes": rng.integers(0, 256, (columns, blocks, block * bits // 8)),
            f"{name}_scales": rng.uniform(0.01, 0.1, columns * blocks),
            f"{name}_points": rng.integers(0, 256, columns * points),
        }
        if not has_points:
            arrays.popitem()
        kinds = (np.uint8, np.float32, np.uint8)
        for (key, array), kind in zip(arrays.items(), kinds, strict=False):
            initializers.append(numpy_helper.from_array(array.astype(kind), key))
        nodes.append(
            helper.make_node(
                "MatMulNBits", ["x", *arrays], [name], domain="com.microsoft",
                K=depth, N=columns, bits=bits, block_size=block, accuracy_level=level,
            )
        )  # fmt: skip
    nodes.append(helper.make_node("Add", list(names), ["y"]))
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, size])
        for name, size in (("x", depth), ("y", columns))
    )
    graph = helper.make_graph(nodes, "products", [x], [y], initializers)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    return made.SerializeToString()


def numbers(rows: int, depth: int) -> Array:
    """Rows of different sizes, one of zeros."""
    x = np.random.default_rng(1).standard_normal((rows, depth)).astype(np.float32)
    x[::3] *= 100
    x[1:2] = 0
    return x


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize(
    ("rows", "depth", "columns"), [(1, 64, 5), (3, 328, 70), (25, 104, 33)]
)
def test_rounded_rows_have_the_bits_of_the_lowered_nodes(
    rows: int, depth: int, columns: int, bits: int
) -> None:
    """Of the interpreter on the lowered program: one thread and two, with and without VNNI."""
    content, x = model(rows, depth, columns, bits=bits, level=4), numbers(rows, depth)
    lowered = lower_to(load(content), "lowered", target="avx512")
    assert "cpu.int8_block_quantized_matmul" in str(lowered)
    assert str(lowered).count("cpu.block_quantize ") == 1
    (expected,) = run(lowered, [x])
    for target, threads in (("host", 1), ("host", 2), ("x86-64-v3", 1)):
        if "int8_block" in str(lower_to(load(content), "lowered", target=target)):
            compiled = glow.compile(content, threads=threads, target=target)
            assert np.asarray(compiled(x)).tobytes() == expected.tobytes()


def test_rounded_rows_are_near_those_of_floats() -> None:
    """And are floats where the model does not allow it, or numerics are exact."""
    x = numbers(9, 256)
    expected = np.asarray(glow.compile(model(9, 256, 40), backend="interpreter")(x))
    scale = np.abs(expected).max(1, keepdims=True)
    scale[scale == 0] = 1
    for content, numerics, allowed in (
        (model(9, 256, 40), "default", 1e-5),
        (model(9, 256, 40, level=4), "exact", 1e-5),
        (model(9, 256, 40, level=4), "default", 2e-2),
    ):
        found = np.asarray(glow.compile(content, numerics=numerics)(x))
        assert (np.abs(found - expected) / scale).max() < allowed


def test_rows_with_what_is_no_number_are_alone() -> None:
    x = numbers(4, 64)
    x[2, 40] = np.inf
    found = np.asarray(glow.compile(model(4, 64, 20, level=4))(x))
    assert np.isfinite(found).all(1).tolist() == [True, True, False, True]


def test_programs_for_other_numbers_of_rows_share_weights() -> None:
    """An open number of rows: one, a few, many, none."""
    content = model("N", 128, 48)
    compiled = glow.compile(content)
    for rows in (1, 3, 70, 0):
        x = numbers(rows, 128)
        expected = np.asarray(
            glow.compile(model(rows, 128, 48), backend="interpreter")(x)
        )
        np.testing.assert_allclose(compiled(x), expected, 1e-4, 1e-3)


def test_a_program_holds_no_floats_of_the_weights() -> None:
    content = model(1, 512, 256)
    text = str(lower_to(load(content), "lowered"))
    assert text.count("cpu.block_quantized_matmul") == 2
    assert f"tensor<{512 * 256}xf32>" not in text
    assert "tensor<512x256xf32>" not in text
