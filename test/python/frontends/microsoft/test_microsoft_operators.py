"""Operators that ONNX Runtime's optimizer makes, against ONNX Runtime."""

import numpy as np
import onnx.parser
import onnxruntime
import pytest
from support.onnx_models.operator_testing import check_operator, model_of

import glow
from glow.compiler import lower_to
from glow.dialects.errors import GlowError
from glow.frontends.onnx import import_model

RNG = np.random.default_rng(0)
NEAR = 2e-5


def random(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def integers(*shape, dtype=np.uint8, high=200):
    return RNG.integers(0, high, shape).astype(dtype)


def scalar(number, dtype=np.float32):
    return np.array(number, dtype)


def check(operator, inputs, constants=(), tolerance=NEAR, **attributes):
    domain = "com.microsoft"
    check_operator(operator, inputs, constants, tolerance, domain=domain, **attributes)


X = random(2, 5, 8)


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes"),
    [
        ("Gelu", [X], {}),
        ("BiasGelu", [X, random(8)], {}),
        ("FastGelu", [X], {}),
        ("FastGelu", [X, random(8)], {}),
        ("QuickGelu", [X], {"alpha": 1.5}),
        ("FusedMatMul", [X, random(2, 7, 8)], {"transB": 1, "alpha": 0.5}),
        ("FusedMatMul", [random(2, 8, 5), random(2, 8, 7)], {"transA": 1}),
        ("FusedGemm", [random(4, 3), random(3, 5), random(5)],
         {"activation": "LeakyRelu", "activation_alpha": 0.2, "alpha": 0.5, "beta": 2.0}),
        ("FusedGemm", [random(3, 4), random(5, 3)],
         {"activation": "Relu", "transA": 1, "transB": 1}),
        ("Trilu", [X], {"upper": 0}),
        ("GatherND", [X, np.array([[1, 2], [0, 4]])], {}),
        ("GridSample", [random(1, 2, 5, 6), random(1, 3, 4, 2) / 2], {"align_corners": 1}),
    ],
)  # fmt: skip
def test_functions_and_products(operator, inputs, attributes):
    check(operator, inputs, **attributes)


@pytest.mark.parametrize(
    ("activation", "params"),
    [("Relu", None), ("Clip", [0.0, 0.5]), ("HardSigmoid", [0.3, 0.4]), ("Tanh", None)],
)
def test_fused_convolution(activation, params):
    operands = [random(1, 4, 6, 6), random(8, 4, 3, 3), random(8)]
    given = {} if params is None else {"activation_params": params}
    check("FusedConv", operands, activation=activation, **given)
    addend = random(1, 8, 4, 4)
    check("FusedConv", [*operands, addend], activation="Relu")


def test_normalizations_of_sums():
    skip, gamma, beta, bias = random(2, 5, 8), random(8), random(8), random(8)
    for operands in (
        [X, skip, gamma, beta, bias],
        [X, skip, gamma],
        [X, skip, gamma, beta],
    ):
        check("SkipLayerNormalization", operands, epsilon=1e-5)
    simple = "SkipSimplifiedLayerNormalization"
    check(simple, [X, skip, gamma, bias], epsilon=1e-5)
    check(simple, [X, skip, gamma])


def test_normalization_that_onnx_does_not_have():
    """ONNX Runtime's exporter writes it in ONNX's own domain."""
    for settings in ({}, {"axis": -1, "epsilon": 1e-3}, {"axis": 2, "stash_type": 1}):
        check_operator(
            "SimplifiedLayerNormalization", [X, random(8)], (), NEAR, **settings
        )


def test_absent_results_are_not_read():
    """A result without a name is no input without a name, of which another node has one."""
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
        network (float[2, 8] x, float[2, 8] skip, float[8] gamma) => (float[2, 8] y) {
            sum, , , total = com.microsoft.SkipSimplifiedLayerNormalization (x, skip, gamma)
            low = Clip (sum, , )
            y = Add (low, total)
        }
    """)
    inputs = {name: random(*shape) for name, shape in
              (("x", (2, 8)), ("skip", (2, 8)), ("gamma", (8,)))}  # fmt: skip
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (expected,) = session.run(None, inputs)
    np.testing.assert_allclose(glow.compile(model)(**inputs), expected, 1e-5, 1e-5)


def test_embeddings():
    ids, segments = integers(2, 5, dtype=np.int32, high=9), np.zeros((2, 5), np.int32)
    tables = [random(9, 8), random(6, 8), random(2, 8)]
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    operands = [ids, segments, *tables, random(8), random(8), mask]
    check("EmbedLayerNormalization", operands, outputs=2)
    operands = [ids, None, *tables[:2], None, random(8), random(8)]
    check("EmbedLayerNormalization", operands, outputs=2)


MASKS = {
    "none": None,
    "of words": np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32),
    "lengths": np.array([3, 5], np.int32),
    "of pairs": (RNG.random((2, 5, 5)) < 0.8).astype(np.int32)
    | np.eye(5, dtype=np.int32),
}


@pytest.mark.parametrize("mask", MASKS)
def test_attention_of_one_input(mask):
    operands = [X, random(8, 24), random(24), MASKS[mask]]
    for causal in (0, 1):
        check("Attention", operands, num_heads=2, unidirectional=causal)


def test_attention_with_past_and_bias():
    past, bias = random(2, 2, 2, 3, 4), random(1, 2, 5, 5)
    operands = [X, random(8, 24), random(24), None, past]
    check("Attention", operands, num_heads=2, outputs=2, unidirectional=1)
    check("Attention", [*operands[:4], None, bias], num_heads=2)
    sizes = {"qkv_hidden_sizes": [8, 8, 12]}
    check("Attention", [X, random(8, 28), random(28)], num_heads=2, scale=0.3, **sizes)


def test_attention_of_integers():
    operands = [integers(2, 5, 8), integers(8, 24, dtype=np.int8, high=50), random(24),
                scalar(0.01), scalar(0.02), MASKS["of words"], scalar(120, np.uint8),
                scalar(3, np.int8)]  # fmt: skip
    for constants in ((), (1, 2, 3, 4, 6, 7)):
        check("QAttention", operands, constants, num_heads=2)


@pytest.mark.parametrize("mask", ["none", "of words"])
def test_multi_head_attention(mask):
    keys, values = random(2, 5, 8), random(2, 5, 12)
    operands = [X, keys, values, None, MASKS[mask]]
    check("MultiHeadAttention", operands, num_heads=2)
    operands[3] = random(28)
    check("MultiHeadAttention", operands, num_heads=2, scale=0.2)


def test_multi_head_attention_with_past():
    keys, past = random(2, 5, 8), random(2, 2, 3, 4)
    operands = [X, keys, keys * 2, None, None, random(1, 2, 5, 8), past, past * 2]
    check("MultiHeadAttention", operands, num_heads=2, outputs=3)
    check("MultiHeadAttention", operands, num_heads=2, outputs=3, unidirectional=1)


@pytest.mark.parametrize("past", [0, 3])
@pytest.mark.parametrize("rotary", [0, 1])
def test_group_query_attention(past, rotary):
    length = 5 if not past else 1
    heads = {"num_heads": 4, "kv_num_heads": 2, "do_rotary": rotary}
    queries, keys = random(2, length, 64), random(2, length, 32)
    cache = [random(2, 2, past, 16), random(2, 2, past, 16)] if past else [None, None]
    total = past + length
    angles = [random(16, 8), random(16, 8)] if rotary else []
    operands = [queries, keys, keys * 2, *cache, np.full(2, total - 1, np.int32),
                scalar(total, np.int32), *angles]  # fmt: skip
    check("GroupQueryAttention", operands, (5, 6), outputs=3, **heads)


@pytest.mark.parametrize("past", [0, 9])
@pytest.mark.parametrize(
    "attributes",
    [{"local_window_size": 4}, {"local_window_size": 99}, {"softcap": 5.0},
     {"softcap": 2.0, "local_window_size": 3, "scale": 0.5}],
)  # fmt: skip
def test_windows_and_caps_of_group_query_attention(past, attributes):
    """A query that looks at the last keys alone, and scores that are kept small."""
    length = 1 if past else 7
    heads = {"num_heads": 4, "kv_num_heads": 2}
    packed = random(1, length, 128)
    cache = [random(1, 2, past, 16), random(1, 2, past, 16)] if past else [None, None]
    total = past + length
    operands = [packed, None, None, *cache, np.full(1, total - 1, np.int32),
                scalar(total, np.int32)]  # fmt: skip
    check("GroupQueryAttention", operands, (5, 6), outputs=3, **heads, **attributes)


def test_bias_of_group_query_attention():
    operands = [random(1, 5, 64), random(1, 5, 32), random(1, 5, 32), None, None,
                np.full(1, 4, np.int32), scalar(5, np.int32), None, None, None,
                random(1, 4, 5, 5)]  # fmt: skip
    check(
        "GroupQueryAttention", operands, (5, 6), outputs=3, num_heads=4, kv_num_heads=2
    )


@pytest.mark.parametrize("has_points", [False, True])
@pytest.mark.parametrize("bits", [4, 8])
def test_rows_of_a_table_with_scales_of_blocks(bits, has_points):
    rows, width, block = 11, 96, 32
    table = integers(rows, width * bits // 8, high=256)
    scales = np.abs(random(rows, width // block))
    points = [integers(rows, -(-width // block * bits // 8), high=256)] * has_points
    indices = np.array([[3, 0], [10, 3]], np.int64)
    attributes = {"bits": bits, "block_size": block, "quantize_axis": 1}
    operands = [table, indices, scales, *points]
    constants = (0, 2, 3) if has_points else (0, 2)
    check("GatherBlockQuantized", operands, constants, **attributes)


@pytest.mark.parametrize("interleaved", [0, 1])
def test_rotary_embedding(interleaved):
    caches = [random(10, 4), random(10, 4)]
    places = integers(2, 5, dtype=np.int64, high=10)
    for value in (random(2, 5, 16), random(2, 3, 5, 8)):
        for positions in (places, np.array([3], np.int64)):
            operands = [value, positions, *caches]
            check("RotaryEmbedding", operands, interleaved=interleaved)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("has_points", [False, True])
@pytest.mark.parametrize(
    ("rows", "inner", "columns", "block"),
    [(3, 40, 6, 16), (1, 328, 70, 32), (13, 288, 37, 128), (0, 64, 5, 32)],
)
def test_products_with_weights_of_few_bits(
    rows, inner, columns, block, bits, has_points
):
    """Last blocks that are cut short, columns that fill no register, no rows."""
    blocks = -(-inner // block)
    weights = integers(columns, blocks, block * bits // 8, high=256)
    points = [integers(columns * ((blocks * bits + 7) // 8), high=256)] * has_points
    scales = np.abs(random(columns * blocks)) / np.float32(1 << bits)
    operands = [random(rows, inner), weights, scales, *points]
    attributes = {"K": inner, "N": columns, "bits": bits, "block_size": block}
    check("MatMulNBits", operands, (1, 2, 3), 1e-4, **attributes)


def test_rows_of_16_bits_and_weights_of_few():
    """The weights stay as they are: nothing reads floats in their place."""
    weights, scales = integers(37, 4, 16, high=256), np.abs(random(37 * 4)) / 16
    operands = [array.astype(np.float16) for array in (random(5, 128), scales)]
    operands.insert(1, weights)
    operands += [None, None, random(37).astype(np.float16)]
    attributes = {"K": 128, "N": 37, "bits": 4, "block_size": 32}
    check("MatMulNBits", operands, (1, 2, 5), 4e-3, **attributes)
    domain = "com.microsoft"
    model, _ = model_of("MatMulNBits", operands, (1, 2, 5), domain=domain, **attributes)
    lowered = str(lower_to(import_model(model), "lowered"))
    assert "cpu.block_quantized_matmul" in lowered


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize(("rows", "inner", "columns", "block"), [
    (3, 64, 6, 16), (1, 96, 5, 64), (5, 32, 7, 128),
])  # fmt: skip
def test_weights_of_floats_of_4_bits(rows, inner, columns, block, kind):
    """Blocks go on from one column to the next."""
    count = inner * columns
    weights = integers(count // 2, high=256)
    scales = np.abs(random(-(-count // block)))
    attributes = {"K": inner, "N": columns, "quant_type": kind, "block_size": block}
    operands = [random(rows, inner), weights, scales]
    check("MatMulBnb4", operands, (1, 2), 1e-4, **attributes)


def test_sizes_of_floats_of_4_bits():
    attributes = {"K": 64, "N": 3, "block_size": 32, "quant_type": 1}
    arrays = [random(2, 64), integers(95), random(6)]
    domain = "com.microsoft"
    model, _ = model_of("MatMulBnb4", arrays, (1, 2), domain=domain, **attributes)
    with pytest.raises(GlowError, match=r"weights have 95 elements: .* need \[96\]"):
        glow.compile(model)


POINT, SHARES = scalar(7, np.uint8), [scalar(1 / 256), scalar(0, np.uint8)]


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes"),
    [
        ("QLinearSoftmax", [integers(3, 9), scalar(0.1), POINT, *SHARES],
         {"axis": -1, "opset": 13}),
        ("QLinearSoftmax", [integers(3, 2, 9), scalar(0.1), POINT, *SHARES],
         {"axis": 1, "opset": 9}),
        ("QLinearWhere", [integers(3, 4, high=2).astype(bool), integers(3, 4), scalar(0.1), POINT,
                          integers(3, 4), scalar(0.2), POINT, scalar(0.15), POINT], {}),
    ],
)  # fmt: skip
def test_quantized_functions(operator, inputs, attributes):
    constants = [k for k, array in enumerate(inputs) if array.ndim == 0]
    check(operator, inputs, constants, **attributes)


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "message"),
    [
        ("GroupQueryAttention",
         [X, X, X, None, None, np.full(2, 4, np.int32), scalar(5, np.int32)],
         {"num_heads": 2, "kv_num_heads": 2, "causal": 0}, "causal = 0"),
        ("MultiHeadAttention", [random(2, 5, 2, 3, 4)], {"num_heads": 2},
         "packed queries, keys and values"),
        ("Attention", [X, random(8, 24), random(24), np.zeros(7, np.int32)], {"num_heads": 2},
         r"a mask of shape \[7\]"),
        ("Attention", [X, random(8, 24)], {"num_heads": 2, "do_rotary": 1}, "do_rotary = 1"),
        ("FusedGemm", [random(3, 4), random(4, 3)], {"activation": "Elu"}, "activation Elu"),
    ],
)  # fmt: skip
def test_what_is_not_supported_is_named(operator, inputs, attributes, message):
    model, _ = model_of(operator, inputs, domain="com.microsoft", **attributes)
    with pytest.raises(GlowError, match=f"'{operator}' .*{message}") as raised:
        glow.compile(model)
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("place", "size", "message"),
    [
        (1, (3, 3, 16), r"weights have 144 elements: .* need \[3, 2, 16\]"),
        (2, (9,), r"scales have 9 elements: .* need \[3, 2\]"),
        (3, (6,), r"zero points have 6 elements: .* need \[3, 1\]"),
    ],
)
@pytest.mark.parametrize("indices", [[], [np.arange(64, dtype=np.int32) // 32]])
def test_sizes_of_weights_follow_from_the_attributes(place, size, message, indices):
    arrays = [random(2, 64), integers(3, 2, 16), random(6), integers(3), *indices]
    arrays[place] = np.resize(arrays[place], size)
    attributes = {"K": 64, "N": 3, "bits": 4, "block_size": 32}
    constants = range(1, len(arrays))
    model, _ = model_of(
        "MatMulNBits", arrays, constants, domain="com.microsoft", **attributes
    )
    with pytest.raises(GlowError, match=message):
        glow.compile(model)
