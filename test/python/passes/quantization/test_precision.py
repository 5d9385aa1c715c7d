"""Networks whose products multiply 16-bit floats: error bounds, and where they stay f32."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import glow
from glow import GlowError
from glow.compiler import load, lower_to
from glow.lowering.target.target import host_target

Array = np.ndarray
FACTOR_ERROR = {"bf16": 2.0**-8, "fp16": 2.0**-11}
"""The largest relative error of a product of two rounded factors."""
SUM_ERROR = 2.0**-20
RANDOM = np.random.default_rng(3)


def normal(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


def model_of(
    nodes: list[tuple[str, list[str], dict[str, object]]],
    shape: tuple[int, ...],
    weights: Mapping[str, Array],
) -> ModelProto:
    """A chain of nodes from `x` on; node number k gives `k`, the last one the output."""
    made = [
        helper.make_node(kind, inputs, [str(number)], **attributes)
        for number, (kind, inputs, attributes) in enumerate(nodes)
    ]
    graph = helper.make_graph(
        made,
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_empty_tensor_value_info(str(len(nodes) - 1))],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )


def run(model: ModelProto, x: Array, **options: object) -> Array:
    (output,) = glow.compile(model, **options).run({"x": x}).values()
    return output


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
@pytest.mark.parametrize("shape", [(1, 2, 1), (5, 7, 3), (3, 34, 50), (33, 96, 130)])
def test_a_product_errs_by_its_factors(
    shape: tuple[int, int, int], precision: str
) -> None:
    rows, depth, columns = shape
    x, w = normal(rows, depth), normal(depth, columns)
    model = model_of([("MatMul", ["x", "w"], {})], x.shape, {"w": w})
    found = run(model, x, precision=precision)
    sizes = np.abs(x).astype(np.float64) @ np.abs(w)
    error = np.abs(found - x.astype(np.float64) @ w)
    assert (error <= (FACTOR_ERROR[precision] + SUM_ERROR) * sizes).all()


def images(side: int) -> tuple[ModelProto, Array]:
    """Residual blocks whose convolutions are pointwise, 3 x 3 and strided."""
    pads = {"pads": [1, 1, 1, 1]}
    nodes: list[tuple[str, list[str], dict[str, object]]] = [
        ("Conv", ["x", "w"], {}),
        ("Relu", ["0"], {}),
        ("Conv", ["1", "v"], pads),
        ("Conv", ["2", "w"], {}),
        ("Add", ["3", "1"], {}),
        ("Relu", ["4"], {}),
        ("Conv", ["5", "w"], {}),
        ("Add", ["6", "5"], {}),
        ("Conv", ["7", "v"], {**pads, "strides": [2, 2]}),
    ]
    weights = {"w": normal(64, 64, 1, 1) / 8, "v": normal(64, 64, 3, 3) / 24}
    x = normal(1, 64, side, side)
    return model_of(nodes, x.shape, weights), x


def rows() -> tuple[ModelProto, Array]:
    """A transformer's feed-forward block and a product of activations."""
    nodes: list[tuple[str, list[str], dict[str, object]]] = [
        ("LayerNormalization", ["x", "one", "zero"], {}),
        ("MatMul", ["0", "w"], {}),
        ("Relu", ["1"], {}),
        ("MatMul", ["2", "v"], {}),
        ("Add", ["3", "x"], {}),
        ("Transpose", ["4"], {"perm": [1, 0]}),
        ("MatMul", ["4", "5"], {}),
        ("Softmax", ["6"], {}),
    ]
    weights = {
        "one": np.ones(48, np.float32),
        "zero": np.zeros(48, np.float32),
        "w": normal(48, 70) / 7,
        "v": normal(70, 48) / 8,
    }
    x = normal(19, 48)
    return model_of(nodes, x.shape, weights), x


NETWORKS = {
    "small images": lambda: images(9),
    "images": lambda: images(48),
    "rows": rows,
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_in_bf16(name: str) -> None:
    model, x = NETWORKS[name]()
    exact = run(model, x)
    found = run(model, x, precision="bf16", threads=1)
    scale = float(np.sqrt((exact**2).mean()))
    assert np.sqrt(((found - exact) ** 2).mean()) < 0.01 * scale
    again = run(model, x, precision="bf16", threads=2)
    assert found.tobytes() == again.tobytes()


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_without_dot_products_of_pairs(precision: str) -> None:
    model, x = images(9)
    exact = run(model, x, target="avx2")
    found = run(model, x, target="avx2", precision=precision)
    if precision == "bf16":  # nothing is faster in bf16, so nothing is rounded
        assert found.tobytes() == exact.tobytes()
    else:
        assert 0 < np.abs(found - exact).max() < 2e-3 * np.abs(exact).max()


def element_types(model: ModelProto, **options: str) -> set[str]:
    module = lower_to(load(model), "graph", target="avx512bf16", **options)
    return {
        str(op.operands[0].type).rpartition("x")[2].rstrip(">")
        for op in module.walk()
        if op.name in ("glow.conv2d", "glow.matmul")
    }


def test_what_is_faster_in_f32_stays() -> None:
    assert element_types(images(56)[0], precision="bf16") == {"bf16", "f32"}
    assert element_types(images(56)[0], precision="bf16", numerics="exact") == {"bf16"}
    assert element_types(images(56)[0], precision="fp16") == {"f16"}
    assert element_types(images(56)[0]) == {"f32"}


def test_unknown_precision() -> None:
    model, _ = rows()
    with pytest.raises(GlowError, match="unknown precision 'half'"):
        glow.compile(model, precision="half")


def test_the_interpreter_rounds_all_factors() -> None:
    model, x = rows()
    exact = run(model, x, backend="interpreter")
    found = run(model, x, backend="interpreter", precision="bf16")
    assert 0 < np.abs(found - exact).max() < 0.1
    native = run(model, x, precision="bf16") if host_target().has_bf16 else exact
    assert np.abs(native - exact).max() < 0.1
