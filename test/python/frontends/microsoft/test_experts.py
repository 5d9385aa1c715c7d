"""Layers of experts of ONNX Runtime's domain, against it and against their formula."""

from __future__ import annotations

import numpy as np
import pytest
from support.onnx_models.operator_testing import check_operator, model_of

import glow
from glow.compiler import lower_to
from glow.frontends.onnx import import_model

RNG = np.random.default_rng(0)
EXPERTS, WIDTH, INNER, ROWS = 4, 32, 64, 7
SHAPES = {"x": (ROWS, WIDTH), "router": (ROWS, EXPERTS)}
SWIGLU = {"activation_type": "swiglu", "swiglu_fusion": 1}


def random(*shape: int) -> np.ndarray:
    return (RNG.standard_normal(shape) / 4).astype(np.float32)


def check(operator, inputs, tolerance=1e-5, **attributes):
    constants = range(2, len(inputs))
    domain = "com.microsoft"
    check_operator(operator, inputs, constants, tolerance, domain=domain, **attributes)


def plain(inner: int = INNER, *, biases: bool) -> list[np.ndarray | None]:
    """Rows, logits, and two layers, of one of which the activation takes `inner`."""
    first = random(EXPERTS, inner) if biases else None
    inputs = [random(*shape) for shape in SHAPES.values()]
    layers = [random(EXPERTS, inner, WIDTH), first, random(EXPERTS, WIDTH, INNER)]
    return [*inputs, *layers, *([random(EXPERTS, WIDTH)] if biases else [])]


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", "identity"])
@pytest.mark.parametrize("normalized", [0, 1])
def test_experts(activation, normalized):
    given = {"activation_type": activation, "normalize_routing_weights": normalized}
    check("MoE", plain(biases=bool(normalized)), k=2, **given)


@pytest.mark.parametrize(
    "more",
    [{}, {"activation_alpha": 1.7, "activation_beta": 1.0}, {"swiglu_limit": 0.2}],
)
def test_gated_experts(more):
    inputs = plain(2 * INNER, biases=True)
    check("MoE", inputs, k=3, normalize_routing_weights=1, **SWIGLU, **more)


def test_experts_of_sequences_are_not_copied():
    inputs = plain(biases=False)
    inputs[0] = random(1, ROWS, WIDTH)
    check("MoE", inputs, normalize_routing_weights=1)
    model, _ = model_of("MoE", inputs, range(2, 5), domain="com.microsoft")
    module = import_model(model)
    lower_to(module, "lowered")
    names = [op.name for op in module.walk()]
    assert names.count("cpu.indexed_matmul") == 2
    assert "glow.gather" not in names


def test_a_third_layer_multiplies_what_the_first_activates():
    """ONNX Runtime has it on GPUs alone."""
    x, logits, first, _, second = plain(biases=False)
    third = random(EXPERTS, INNER, WIDTH)
    inputs = [x, logits, first, None, second, None, third]
    more = {"activation_type": "relu", "k": 1, "normalize_routing_weights": 1}
    model, given = model_of("MoE", inputs, range(2, 7), domain="com.microsoft", **more)
    best = np.argmax(logits, axis=1)
    active = np.maximum(np.einsum("tk,tnk->tn", x, first[best]), 0)
    active *= np.einsum("tk,tnk->tn", x, third[best])
    expected = np.einsum("tk,tnk->tn", active, second[best])
    found = glow.compile(model)(*given.values())
    np.testing.assert_allclose(found, expected, 1e-4, 1e-5)


def codes(rows: int, width: int, bits: int) -> np.ndarray:
    return RNG.integers(0, 256, (EXPERTS, rows, width * bits // 8)).astype(np.uint8)


def quantized(bits: int, block: int, *, points: bool) -> list[np.ndarray | None]:
    """Rows, logits, and two layers of codes with scales and biases, then their zero points."""
    inputs: list[np.ndarray | None] = [random(*shape) for shape in SHAPES.values()]
    zeros: list[np.ndarray] = []
    for rows, width in ((INNER, WIDTH), (WIDTH, INNER)):
        blocks = (width // block,) if block else ()
        scales = np.abs(random(EXPERTS, rows, *blocks)) / np.float32(1 << bits)
        inputs += [codes(rows, width, bits), scales, random(EXPERTS, rows)]
        held = -(-blocks[0] * bits // 8) if block else rows * bits // 8
        sizes = (EXPERTS, rows, held) if block else (EXPERTS, held)
        zeros.append(RNG.integers(0, 256, sizes).astype(np.uint8))
    return [*inputs, *([None] * 3 + zeros if points else [])]


@pytest.mark.parametrize("points", [False, True])
@pytest.mark.parametrize(
    ("bits", "block"), [(2, 0), (2, 16), (4, 0), (4, 16), (4, 32), (8, 0)]
)
def test_experts_of_few_bits(bits, block, points):
    """Blocks of 8 bits are left out: ONNX Runtime rounds rows for them."""
    sizes = {"block_size": block} if block else {}
    inputs = quantized(bits, block, points=points)
    check("QMoE", inputs, 1e-4, k=2, expert_weight_bits=bits, **sizes)


@pytest.mark.parametrize("points", [False, True])
def test_experts_of_few_bits_stay_so(points):
    inputs = quantized(4, block=16, points=points)
    model, _ = model_of(
        "QMoE", inputs, range(2, len(inputs)), domain="com.microsoft", block_size=16
    )
    module = import_model(model)
    lower_to(module, "lowered")
    names = [op.name for op in module.walk()]
    assert names.count("cpu.indexed_block_matmul") == 2
    assert "cpu.batch_matmul" not in names


@pytest.mark.parametrize(
    ("operator", "attributes", "message"),
    [
        ("MoE", {"use_sparse_mixer": 1}, "use_sparse_mixer"),
        ("MoE", {"activation_type": "tanh"}, "activation tanh"),
        ("MoE", {"activation_type": "swiglu"}, "not interleaved"),
        ("QMoE", {"expert_weight_bits": 3}, "weights of 3 bits"),
        ("QMoE", {"quant_type": "fp4"}, "weights of floats"),
        ("QMoE", {"block_size": 8}, r"scales of \[4, 64\] do not fit weights"),
    ],
)
def test_what_is_not_supported_is_named(operator, attributes, message):
    is_plain = operator == "MoE"
    inputs = plain(biases=False) if is_plain else quantized(4, 0, points=False)
    model, _ = model_of(
        operator, inputs, range(2, len(inputs)), domain="com.microsoft", **attributes
    )
    with pytest.raises(glow.GlowError, match=message) as raised:
        glow.compile(model)
    assert len(str(raised.value).splitlines()) == 1


def shaped(operator, *shapes):
    """Rows, logits and what else has the given shapes: bytes and scales by turns, or floats."""
    inputs: list[np.ndarray | None] = [random(*shape) for shape in SHAPES.values()]
    for place, shape in enumerate(shapes):
        whole = operator == "QMoE" and place % 3 == 0
        draw = codes(1, 8, 8)[:1] if whole else random(1)
        inputs.append(None if shape is None else np.resize(draw, shape))
    return inputs


@pytest.mark.parametrize(
    ("operator", "shapes", "attributes", "message"),
    [
        ("MoE", [(4, 64, 32)], {}, "two layers of experts need weights"),
        ("MoE", [(64, 32), None, (4, 32, 64)], {}, "inner sizes must agree"),
        ("MoE", [(4, 64, 32), None, (4, 32, 64)], {"k": 9}, "no 9 of 4 elements"),
        ("MoE", [(4, 65, 32), None, (4, 32, 32)], SWIGLU, "65 columns are no gates"),
        ("QMoE", [(64, 16), (64,), None, (4, 32, 32), (4, 32)], {},
         r"matrices, not \[64, 32\]"),
        ("QMoE", [(4, 64, 16), (4, 64), None, (4, 32, 32), (4, 32), None, None, None, None, (12,)],
         {}, r"zero points of \[24\] do not fit scales of \[4, 64, 1\]"),
        ("QMoE", [(4, 64, 16), (4, 64), None, (4, 32, 32), (4, 32), None, None, None, None, (4, 3)],
         {}, r"zero points of \[4, 6\] do not fit"),
    ],
)  # fmt: skip
def test_sizes_that_do_not_fit(operator, shapes, attributes, message):
    inputs = shaped(operator, *shapes)
    model, _ = model_of(
        operator, inputs, range(2, len(inputs)), domain="com.microsoft", **attributes
    )
    with pytest.raises(glow.GlowError, match=message) as raised:
        glow.compile(model)
    assert len(str(raised.value).splitlines()) == 1
