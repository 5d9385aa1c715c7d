"""The networks of `same_networks.py` in JAX: writes each as StableHLO.

    python test/python/frontends/foreign/make_same_jax.py    (JAX 0.10)

Channels are last, as JAX has them.

The programs are kept, so that JAX is needed to change them only.
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from same_networks import (
    BATCH,
    BLOCKS,
    GROUPS,
    HEADS,
    IMAGE,
    LENGTH,
    PLANE_GROUPS,
    SERIES,
    STATES,
    STEPS,
    TOKENS,
    WIDTH,
    encoder_weights,
    grouped_weights,
    pieces_weights,
    residual_weights,
)

FOLDER = Path(__file__).parent / "same"


def conv(x, weights):
    kernel = jnp.asarray(weights.transpose(2, 3, 1, 0))
    layout = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=layout)


def same_mean(x):
    window = (1, 3, 3, 1), (1, 1, 1, 1), "SAME"
    total = lax.reduce_window(x, 0.0, lax.add, *window)
    return total / lax.reduce_window(jnp.ones_like(x), 0.0, lax.add, *window)


def residual(x):
    w = residual_weights()

    def normalized(x, name):
        x = conv(x, w[name]) - w[f"{name}_mean"]
        x = x * lax.rsqrt(jnp.asarray(w[f"{name}_variance"]) + 1e-5)
        return x * w[f"{name}_scale"] + w[f"{name}_bias"]

    x = jax.nn.relu(conv(x, w["stem"]))
    for block in BLOCKS:
        y = jax.nn.relu(normalized(x, f"{block}1"))
        x = jax.nn.relu(normalized(y, f"{block}2") + x)
        x = same_mean(x) if block == "first" else x
    x = x.mean(axis=(1, 2))
    return jax.nn.softmax(x @ w["head"].T + w["head_bias"])


def encoder(x, mask):
    w = encoder_weights()

    def dense(x, name):
        return x @ w[name].T + w[f"{name}_bias"]

    def normalized(x, name):
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        x = (x - mean) * lax.rsqrt(variance + 1e-5)
        return x * w[f"{name}_scale"] + w[f"{name}_shift"]

    def heads(x):
        x = x.reshape(BATCH, LENGTH, HEADS, WIDTH // HEADS)
        return x.transpose(0, 2, 1, 3)

    y = normalized(x, "first")
    query, key, value = (heads(dense(y, n)) for n in ("query", "key", "value"))
    scores = jnp.einsum("bhqd,bhkd->bhqk", query, key)
    scores = scores / np.float32((WIDTH // HEADS) ** 0.5)
    scores = jnp.where(mask[:, None, None, :], scores, -1e9)
    y = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), value)
    x = x + dense(y.transpose(0, 2, 1, 3).reshape(TOKENS), "output")
    y = jax.nn.gelu(dense(normalized(x, "second"), "up"), approximate=True)
    x = x + dense(y, "down")
    y = jax.nn.gelu(dense(x, "second_up"), approximate=False)
    x = x + dense(y, "second_down")
    return lax.argmax(dense(x, "head"), 2, jnp.int64)


def pieces(x):
    w = pieces_weights()

    def step(state, x):
        h, c = state
        gates = x @ w["input"].T + h @ w["hidden"].T + w["bias"]
        i, f, g, o = jnp.split(gates, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zeros = jnp.zeros((BATCH, STATES), jnp.float32)
    x = lax.scan(step, (zeros, zeros), x)[1]
    x = x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w["rms_scale"]
    x = jax.nn.silu(x).transpose(1, 2, 0)
    x = x.reshape(BATCH, GROUPS, STATES // GROUPS, STEPS)
    mean, variance = (f((2, 3), keepdims=True) for f in (x.mean, x.var))
    x = ((x - mean) * lax.rsqrt(variance + 1e-5)).reshape(BATCH, STATES, STEPS)
    x = x * w["group_scale"][:, None] + w["group_shift"][:, None]
    return jax.nn.log_softmax(x.transpose(0, 2, 1) @ w["head"].T + w["head_bias"])


def grouped(x):
    w = grouped_weights()
    x = conv(x, w["stem"])
    y = x.reshape(*x.shape[:3], PLANE_GROUPS, -1)
    mean, variance = (f((1, 2, 4), keepdims=True) for f in (y.mean, y.var))
    y = ((y - mean) * lax.rsqrt(variance + 1e-5)).reshape(x.shape)
    y = jax.nn.relu(y * w["scale"] + w["bias"])
    return conv(y, w["second"]).mean((1, 2)) @ w["head"].T + w["head_bias"]


def write(function, *examples):
    text = str(jax.jit(function).lower(*examples).compiler_ir("stablehlo"))
    (FOLDER / f"jax_{function.__name__}.mlir").write_text(text)


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    write(residual, np.zeros(IMAGE, np.float32))
    write(encoder, np.zeros(TOKENS, np.float32), np.ones(TOKENS[:2], bool))
    write(grouped, np.zeros(IMAGE, np.float32))
    write(pieces, np.zeros(SERIES, np.float32))
