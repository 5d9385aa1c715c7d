"""Caches of the last positions, sinks, and positions in time, height and width."""

import numpy as np
import onnxruntime
import pytest
from support.onnx_models.operator_testing import check_operator, model_of

import glow
from glow.dialects.errors import GlowError

RNG = np.random.default_rng(0)
NEAR = 2e-5
HEADS, GROUPS, SIZE = 4, 2, 16


def random(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def check(operator, inputs, constants=(), **attributes):
    domain = "com.microsoft"
    check_operator(operator, inputs, constants, NEAR, domain=domain, **attributes)


def operands(tokens, past, total, *, batch=1, rotary=True, sinks=False):
    """Of `GroupQueryAttention`, whose queries, keys and values are side by side."""
    cache = (
        [random(batch, GROUPS, past, SIZE) for _ in range(2)] if past else [None] * 2
    )
    lengths = np.array(total).reshape(-1).astype(np.int32)
    angles = [random(64, SIZE // 2) for _ in range(2)] if rotary else [None] * 2
    return [
        random(batch, tokens, (HEADS + 2 * GROUPS) * SIZE), None, None, *cache,
        np.broadcast_to(lengths - 1, (batch,)).astype(np.int32),
        np.array(lengths.max(), np.int32), *angles, None, None,
        random(HEADS) * 3 if sinks else None,
    ]  # fmt: skip


ATTRIBUTES = {"num_heads": HEADS, "kv_num_heads": GROUPS}


@pytest.mark.parametrize(("tokens", "past"), [(5, 0), (1, 6), (3, 6), (40, 0)])
@pytest.mark.parametrize("more", [{}, {"local_window_size": 3}, {"scale": 0.5}])
def test_sinks(tokens, past, more):
    given = {**ATTRIBUTES, "do_rotary": 1, **more}
    inputs = operands(tokens, past, past + tokens, sinks=True)
    check("GroupQueryAttention", inputs, (5, 6), outputs=3, **given)
    inputs[11] = None
    given["smooth_softmax"] = 1
    check("GroupQueryAttention", inputs, (5, 6), outputs=3, **given)


def held(total, capacity, window):
    """The rows of a cache that hold a position after so many tokens."""
    leaving = capacity - window + 1
    return (
        total
        if total <= capacity
        else total - leaving * -(-(total - capacity) // leaving)
    )


@pytest.mark.parametrize("sinks", [False, True])
@pytest.mark.parametrize(("capacity", "window"), [(6, 6), (8, 5), (16, 4)])
@pytest.mark.parametrize(
    ("tokens", "total"),
    [(1, 1), (1, 6), (1, 9), (1, 30), (4, 4), (4, 9), (4, 31), (20, 20)],
)
def test_caches_of_the_last_positions(tokens, total, capacity, window, sinks):
    inputs = operands(tokens, capacity, total, sinks=sinks)
    given = {**ATTRIBUTES, "do_rotary": 1, "local_window_size": window}
    compare(inputs, [total], capacity, {**given, "sliding_window_cache": 1})


def test_rows_that_hold_nothing_may_be_anything():
    """A cache of 8 rows after 3 tokens: what is behind the third is not read."""
    inputs = operands(1, 8, 4)
    for cache in inputs[3:5]:
        cache[:, :, 3:] = np.nan
    given = {"do_rotary": 1, "local_window_size": 5, "sliding_window_cache": 1}
    compare(inputs, [4], 8, {**ATTRIBUTES, **given})


def test_windows_of_half_floats():
    """Against the same in f32: ONNX Runtime's CPU has them as well."""
    inputs = operands(2, 8, 30)
    half = [x.astype(np.float16) if x is not None and x.dtype == np.float32 else x
            for x in inputs]  # fmt: skip
    given = {**ATTRIBUTES, "local_window_size": 5, "sliding_window_cache": 1}
    given["do_rotary"] = 1
    found = []
    for values in (inputs, half):
        model, feeds = model_of(
            "GroupQueryAttention",
            values,
            (),
            outputs=3,
            domain="com.microsoft",
            **given,
        )
        found.append(next(iter(glow.compile(model).run(feeds).values())))
    assert found[1].dtype == np.float16
    np.testing.assert_allclose(found[1], found[0], 1e-2, 1e-2)


def test_sequences_of_several_lengths():
    inputs = operands(1, 6, [4, 9, 17], batch=3)
    given = {"do_rotary": 1, "local_window_size": 5, "sliding_window_cache": 1}
    compare(inputs, [4, 9, 17], 6, {**ATTRIBUTES, **given})


def compare(inputs, totals, capacity, attributes):
    """With ONNX Runtime, as far as the cache's rows hold something."""
    model, feeds = model_of(
        "GroupQueryAttention",
        inputs,
        (),
        outputs=3,
        domain="com.microsoft",
        **attributes,
    )
    session = onnxruntime.InferenceSession(model.SerializeToString())
    wanted = session.run(None, feeds)
    found = list(glow.compile(model).run(feeds).values())
    np.testing.assert_allclose(found[0], wanted[0], NEAR, NEAR)
    for one, other in zip(found[1:], wanted[1:], strict=True):
        for sequence, total in enumerate(totals):
            rows = held(total, capacity, attributes["local_window_size"])
            np.testing.assert_allclose(
                one[sequence, :, :rows], other[sequence, :, :rows], NEAR, NEAR
            )


@pytest.mark.parametrize(
    ("change", "more", "message"),
    [
        ({}, {"local_window_size": 9}, "a cache of 6 rows does not hold a window of 9"),
        ({3: None, 4: None}, {}, "needs past_key and past_value"),
        ({3: random(2, 6, 16)}, {}, r"a past of \[2, 6, 16\]"),
        ({7: random(64)}, {"do_rotary": 1}, "caches of shapes"),
        ({0: random(1, 1, 129)}, {}, "129 channels are no 8 heads of one size"),
        ({10: random(1, 1, 1, 9)}, {}, "attention_bias with sliding_window_cache"),
        (
            {11: random(HEADS)},
            {"softcap": 3.0},
            "head_sink or smooth_softmax with softcap",
        ),
    ],
)
def test_what_does_not_fit(change, more, message):
    inputs = operands(1, 6, 9)
    for index, value in change.items():
        inputs[index] = value
    given = {**ATTRIBUTES, "local_window_size": 4, "sliding_window_cache": 1, **more}
    model, _ = model_of(
        "GroupQueryAttention", inputs, (), domain="com.microsoft", **given
    )
    with pytest.raises(GlowError, match=message):
        glow.compile(model)


@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("interleaved", [0, 1])
def test_positions_in_time_height_and_width(layout, interleaved):
    places = RNG.integers(0, 20, (3, 2, 5))
    caches = [random(20, 8), random(20, 8)]
    given = {"mrope_section": [4, 2, 2], "mrope_layout": layout}
    given |= {"interleaved": interleaved}
    check(
        "MRotaryEmbedding",
        [random(2, 5, 60), places, *caches],
        num_heads=3,
        rotary_embedding_dim=16,
        **given,
    )
    check("MRotaryEmbedding", [random(2, 3, 5, 16), places, *caches], **given)


def test_positions_and_sections_that_do_not_fit():
    for places, sections, message in (
        (np.zeros((2, 2, 5), np.int64), [4, 2, 2], "position_ids of shape"),
        (np.zeros((3, 2, 5), np.int64), [4, 2, 3], "of 8 pairs in three parts"),
    ):
        inputs = [random(2, 5, 48), places, random(20, 8), random(20, 8)]
        model, _ = model_of(
            "MRotaryEmbedding",
            inputs,
            (),
            domain="com.microsoft",
            mrope_section=sections,
        )
        with pytest.raises(GlowError, match=message):
            glow.compile(model)
