"""Scales and zero points that are computed, one a block, or of elements that are only stored."""

import ml_dtypes
import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator
from support.onnx_models.onnx_testing import make_model, node
from support.onnx_models.operator_testing import check_operator, model_of

import glow
from glow.dialects.errors import GlowError

RNG = np.random.default_rng(0)
X = (RNG.standard_normal((3, 10, 4)) * 20).astype(np.float32)


def scalar(number, dtype=np.float32):
    return np.array(number, dtype)


def scales(*shape):
    return np.asarray(RNG.random(shape) + 0.1, np.float32)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16])
def test_parameters_of_each_granularity(dtype):
    def points(*shape):
        return np.asarray(RNG.integers(0, 5, shape), dtype)

    stored = RNG.integers(0, 100, X.shape).astype(dtype)
    blocked = {"axis": 1, "block_size": 3}  # The last block has one index of three.
    for constants in ((), (1, 2)):
        check_operator("QuantizeLinear", [X, scales(), points()], constants)
        check_operator("QuantizeLinear", [X, scales(10), points(10)], constants)
        inputs = [scales(3, 4, 4), points(3, 4, 4)]
        check_operator("QuantizeLinear", [X, *inputs], constants, **blocked)
        check_operator("DequantizeLinear", [stored, *inputs], constants, **blocked)
        inputs = [stored, scales(4), points(4)]
        check_operator("DequantizeLinear", inputs, constants, axis=-1)
        inputs = [stored, scales(3), points(3)]
        check_operator("DequantizeLinear", inputs, constants, axis=-3)
        half = scalar(0.5, np.float16)
        inputs = [X.astype(np.float16), half, scalar(1, dtype)]
        check_operator("QuantizeLinear", inputs, constants)
        check_operator("DequantizeLinear", [stored, half], constants)


def test_saturation_and_ties():
    special = [np.inf, -np.inf, np.nan, 1e30, -1e30, 0.5, 1.5, 2.5, -0.5, -1.5]
    x = np.array(special, np.float32)
    for point in (np.uint8(100), np.int8(-3), np.uint16(9)):
        check_operator("QuantizeLinear", [x, scalar(1), np.array(point)])


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16])
def test_zeros_have_no_sign(dtype):
    nodes = [
        node("QuantizeLinear", "x scale point", "stored"),
        node("DequantizeLinear", "stored scale point", "y"),
    ]
    x = np.array([-0.1, -0.0, 0.0, 0.1, -1.0, np.nan], np.float32)
    weights = {"scale": np.array(0.5, np.float32), "point": np.array(100, dtype)}
    model = make_model(nodes, [("x", [6])], weights=weights, opset=21)
    for backend in ("interpreter", "cpu"):
        y = glow.compile(model, backend=backend)(x)
        assert not np.signbit(y[:4]).any()


SMALL = {name: np.dtype(getattr(ml_dtypes, name)) for name in (
    "int4", "uint4", "int2", "uint2", "float4_e2m1fn", "float8_e4m3fn", "float8_e5m2",
)}  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
def test_small_elements(name):
    dtype = SMALL[name]
    for constants in ((), (1, 2)):
        blocks = [scales(3, 5, 4), np.zeros((3, 5, 4), dtype)]
        quantized = compare("QuantizeLinear", [X, *blocks], constants, block_size=2)
        compare("DequantizeLinear", [quantized, *blocks], constants, block_size=2)
        compare("DequantizeLinear", [quantized, scales(10)], constants)


def compare(operator, inputs, constants, **attributes):
    """Our result, where both backends agree with ONNX's own implementation."""
    model, given = model_of(operator, inputs, constants, **attributes)
    (expected,) = ReferenceEvaluator(model).run(None, given)
    for backend in ("interpreter", "cpu"):
        result = glow.compile(model, backend=backend)(*given.values())
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(
            *(np.asarray(a, np.float32) for a in (result, expected))
        )
    return result


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("constants", [(), (2, 3, 4, 5, 6, 7), (1, 2, 3, 4, 5, 6, 7)])
def test_products(dtype, constants):
    def integers(*shape):
        return RNG.integers(0, 100, shape).astype(dtype)

    left, result = [scales(), scalar(3, dtype)], [scalar(900.0), scalar(2, dtype)]
    right = [scales(7), RNG.integers(0, 9, 7).astype(dtype)]
    operands = [integers(2, 5, 6), *left, integers(6, 7), *right, *result]
    check_operator("QLinearMatMul", operands, constants)
    for space in ((6,), (6, 5), (4, 5, 3)):
        image, weights = integers(2, 4, *space), integers(6, 2, *[2] * len(space))
        bias = RNG.integers(-1000, 1000, 6).astype(np.int32)
        channels = [scales(6), np.zeros(6, dtype)]
        operands = [image, *left, weights, *channels, *result, bias]
        check_operator("QLinearConv", operands, constants, group=2)


def test_integer_products_of_every_rank():
    def integers(*shape):
        return RNG.integers(0, 200, shape).astype(np.uint8)

    matrix, columns = integers(6, 7), integers(7)
    for left in ((5, 6), (6,), (2, 5, 6)):
        check_operator("MatMulInteger", [integers(*left), matrix, integers(1), columns])
    check_operator("MatMulInteger", [integers(2, 6), integers(6)])
    for space in ((6,), (6, 5), (4, 5, 3)):
        operands = [integers(2, 4, *space), integers(6, 2, *[2] * len(space))]
        pads = [1] * 2 * len(space)
        points = [scalar(3, np.uint8), scalar(1, np.uint8)]
        check_operator("ConvInteger", [*operands, *points], group=2, pads=pads)


def test_new_scales_compile_nothing(monkeypatch):
    model, _ = model_of("QuantizeLinear", [X, scales(), scalar(0, np.uint8)])
    compiled = glow.compile(model)
    monkeypatch.setattr("glow.compiler.compile_model", None)
    for scale in (0.5, 0.25, 2.0):
        result = compiled(X, scalar(scale), scalar(9, np.uint8))
        expected = np.clip(np.rint(X / np.float32(scale)) + 9, 0, 255)
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        ([X, scales(9), None], {}, r"parameters of shape \[9\] for axis 1"),
        ([X, scales(3, 4, 4), None], {"block_size": 2}, "for blocks of 2 along axis 1"),
        (
            [X, scales(), scalar(0, np.int8)],
            {"output_dtype": 2},
            "output_dtype is ui8, but the zero point has type i8",
        ),
    ],
)
def test_parameters_that_do_not_fit(inputs, attributes, message):
    model, _ = model_of("QuantizeLinear", inputs, **attributes)
    with pytest.raises(GlowError, match=message):
        glow.compile(model)
