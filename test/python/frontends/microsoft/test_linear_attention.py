"""Linear attention and what surrounds it, against ONNX Runtime."""

import numpy as np
import pytest
from support.onnx_models.operator_testing import check_operator, model_of

import glow
from glow.dialects.errors import GlowError

RNG = np.random.default_rng(0)
BATCH, TOKENS, KEYS, VALUES = 2, 5, 8, 6
NEAR = 2e-5


def random(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def decays(*shape):
    return -np.abs(random(*shape))


def rates(*shape):
    return RNG.random(shape).astype(np.float32)


def check(operator, inputs, constants=(), **attributes):
    domain = "com.microsoft"
    check_operator(operator, inputs, constants, NEAR, domain=domain, **attributes)


def packed(tokens, queries, heads, *, each_key=False, one_rate=False):
    """Queries, keys, values, the state, a decay and a rate of `LinearAttention`."""
    outer = (BATCH, tokens)
    return [
        random(*outer, queries * KEYS) / 4,
        random(*outer, heads * KEYS) / 4,
        random(*outer, heads * VALUES),
        random(BATCH, heads, KEYS, VALUES),
        decays(*outer, heads * (KEYS if each_key else 1)),
        rates(*outer, 1 if one_rate else heads),
    ]


@pytest.mark.parametrize("tokens", [1, TOKENS, 20, 64, 77])
@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
def test_rules(rule, tokens):
    operands = packed(tokens, 4, 2)
    heads = {"q_num_heads": 4, "kv_num_heads": 2, "update_rule": rule}
    check("LinearAttention", operands, outputs=2, **heads)
    operands[3] = None
    check("LinearAttention", operands, outputs=2, scale=0.3, **heads)


@pytest.mark.parametrize("queries", [2, 4])
@pytest.mark.parametrize("each_key", [False, True])
def test_a_decay_for_each_key_and_one_rate(queries, each_key):
    operands = packed(TOKENS, queries, 2, each_key=each_key, one_rate=True)
    heads = {"q_num_heads": queries, "kv_num_heads": 2}
    check("LinearAttention", operands, outputs=2, **heads)


@pytest.mark.parametrize("tokens", [1, TOKENS, 40])
def test_a_decay_that_forgets_all(tokens):
    operands = packed(tokens, 2, 2)
    operands[4][:, tokens // 2] = -np.inf
    heads = {"q_num_heads": 2, "kv_num_heads": 2}
    check("LinearAttention", operands, outputs=2, **heads)


def test_gates_of_linear_attention():
    operands = [
        random(BATCH, TOKENS, 4),
        random(4),
        random(4),
        random(BATCH, TOKENS, 4),
    ]
    check("LinearAttentionGate", operands, (1, 2), outputs=2)
    check("LinearAttentionGate", operands[:3], (1, 2))


def by_tokens(*outer, queries=2, heads=4, each_key=False):
    """The operands of `GatedDeltaNet`."""
    gate = (*outer, heads, KEYS) if each_key else (*outer, heads)
    return [
        random(*outer, queries, KEYS) / 4,
        random(*outer, queries, KEYS) / 4,
        random(*outer, heads, VALUES),
        None,
        decays(*gate),
        rates(*outer, heads),
        random(BATCH, heads, VALUES, KEYS),
    ]


@pytest.mark.parametrize("outer", [(BATCH, TOKENS), (BATCH * 40,), (BATCH, 1)])
@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
def test_gated_delta_net(rule, outer):
    operands = by_tokens(*outer)
    operands[4] = operands[4] if "gated" in rule else None
    operands[5] = operands[5] if "delta" in rule else None
    check("GatedDeltaNet", operands, outputs=2, update_rule=rule)


@pytest.mark.parametrize("each_key", [False, True])
@pytest.mark.parametrize("gate", ["softplus", "sigmoid", "kda"])
def test_gates_that_are_projections(gate, each_key):
    bias = random(4, KEYS) if each_key else random(4)
    operands = [*by_tokens(BATCH, TOKENS, each_key=each_key), random(4), bias]
    given = {"gate_activation": gate, "beta_activation": "sigmoid", "qk_l2_norm": 1}
    check("GatedDeltaNet", operands, (7, 8), outputs=2, scale=0.2, **given)


def test_queries_keys_and_values_side_by_side():
    operands = by_tokens(BATCH * TOKENS)
    flat = [x.reshape(BATCH * TOKENS, -1) for x in operands[:3]]
    operands[:3] = [np.concatenate(flat, axis=1), None, None]
    check("GatedDeltaNet", operands, outputs=2)


@pytest.mark.parametrize("length", [1, 7])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("activation", ["none", "silu"])
def test_causal_convolution(length, dilation, activation):
    x, weights, bias = random(2, 6, length), random(6, 1, 3), random(6)
    past = random(2, 6, 2 * dilation)
    given = {"dilation": dilation, "activation": activation}
    for operands in ([x, weights, bias, past], [x, weights], [x, weights, None, past]):
        check("CausalConvWithState", operands, (1, 2), outputs=2, **given)


def test_causal_convolution_of_channels_at_the_end():
    operands = [random(2, 7, 3, 2), random(6, 1, 4), random(6), random(2, 3, 3, 2)]
    check("CausalConvWithState", operands, (1, 2), outputs=2, channels_last=1)
    check("CausalConvWithState", operands[:2], (1,), outputs=2, channels_last=1)


X = random(2, 5, 12)


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes"),
    [
        ("GatedRMSNorm", [X, random(12), random(2, 5, 12)], {}),
        ("GatedRMSNorm", [X, random(4), X], {"activation": "sigmoid", "epsilon": 0.1}),
        ("BranchwiseRMSNorm", [X, random(12)], {"num_branches": 3}),
        ("BranchwiseRMSNorm", [X, random(3, 4)], {"num_branches": 3, "epsilon": 0.1}),
        ("BranchwiseRMSNorm", [X, random(12)], {}),
        ("BranchwiseRMSNorm", [X], {}),
        ("GatedAdd", [X, random(2, 5, 12), random(2, 5, 1)], {}),
        ("ScaledSiLU", [X], {"alpha": 1.5}),
        ("ScaledSiLU", [X, np.array(0.5, np.float32)], {}),
    ],
)
def test_gates_and_normalizations(operator, inputs, attributes):
    check(operator, inputs, **attributes)


@pytest.mark.parametrize(
    ("operator", "change", "attributes", "message"),
    [
        ("LinearAttention", {5: None}, {}, "the input beta is needed"),
        ("LinearAttention", {}, {"q_num_heads": 3}, "are no 3 heads of one size"),
        ("LinearAttention", {3: random(2, 2, 8, 8)}, {}, "a state of shape"),
        ("LinearAttention", {}, {"state_window": 2}, "state_window"),
        ("LinearAttention", {0: random(2, 5, 8, 4)}, {}, "query has shape"),
        ("LinearAttention", {5: random(2)}, {}, "beta has shape"),
        (
            "LinearAttention",
            {0: random(2, 5, 24), 1: random(2, 5, 16)},
            {"q_num_heads": 3},
            "queries, keys and values of heads and sizes",
        ),
        ("GatedDeltaNet", {6: random(2, 4, 6)}, {}, "initial_state has shape"),
        ("LinearAttention", {}, {"update_rule": "other"}, "update_rule other"),
        ("GatedDeltaNet", {3: np.zeros(3, np.int32)}, {}, "cu_seqlens"),
        ("GatedDeltaNet", {1: None, 2: None}, {}, "hold no 4 heads"),
        (
            "GatedDeltaNet",
            {6: None, 0: random(10, 2, 8)},
            {},
            "initial_state is needed",
        ),
        ("GatedDeltaNet", {5: random(2, 5, 3)}, {}, "are not"),
        ("CausalConvWithState", {0: random(2, 5, 7)}, {}, "has no 6 channels"),
        ("CausalConvWithState", {3: random(2, 6, 3)}, {}, "not of 2 elements"),
        ("CausalConvWithState", {}, {"ndim": 2}, "ndim"),
    ],
)
def test_what_does_not_fit(operator, change, attributes, message):
    operands = {
        "LinearAttention": packed(TOKENS, 4, 2),
        "GatedDeltaNet": by_tokens(BATCH, TOKENS),
        "CausalConvWithState": [
            random(2, 6, 5),
            random(6, 1, 3),
            None,
            random(2, 6, 2),
        ],
    }[operator]
    for index, value in change.items():
        operands[index] = value
    usual = (
        {"q_num_heads": 4, "kv_num_heads": 2} if operator == "LinearAttention" else {}
    )
    given = {**usual, **attributes}
    model, _ = model_of(operator, operands, (), domain="com.microsoft", **given)
    with pytest.raises(GlowError, match=message):
        glow.compile(model)
