"""Networks in JAX: writes each as StableHLO, with its inputs and results, into a folder.

    python test/python/frontends/stablehlo/make_programs.py

The programs are kept, so that JAX (0.10) is needed to change them only.
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

FOLDER = Path(__file__).parent / "programs"

RNG = np.random.default_rng(7)


def weights(*shape, scale=0.3):
    """Seeded numbers, which a function closes over."""
    return jnp.asarray(RNG.standard_normal(shape) * scale, jnp.float32)


def floats(*shape):
    """An example."""
    return RNG.standard_normal(shape).astype(np.float32)


def conv(x, w, stride=1, padding="SAME", groups=1):
    """NHWC by HWIO."""
    return lax.conv_general_dilated(
        x,
        w,
        (stride, stride),
        padding,
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=groups,
    )


def same_mean(x, size=3):
    """The mean of the pixels inside of a window."""
    window = (1, size, size, 1)
    total = lax.reduce_window(x, 0.0, lax.add, window, (1, 1, 1, 1), "SAME")
    count = lax.reduce_window(
        jnp.ones_like(x), 0.0, lax.add, window, (1, 1, 1, 1), "SAME"
    )
    return total / count


def residual():
    """A residual block with a mean pool that leaves the border out."""
    a, b, c = weights(3, 3, 4, 8), weights(3, 3, 8, 8), weights(1, 1, 4, 8)

    def network(x):
        y = jax.nn.relu(conv(x, a))
        y = conv(y, b) + conv(x, c)
        return same_mean(jax.nn.relu(y)).mean(axis=(1, 2))

    return network, [floats(2, 9, 9, 4)]


def inverted_residual():
    """Depthwise convolution, squeeze and excitation, SiLU."""
    up, depth, down = weights(1, 1, 4, 16), weights(3, 3, 1, 16), weights(1, 1, 16, 4)
    squeeze, excite = weights(16, 4), weights(4, 16)

    def network(x):
        y = jax.nn.silu(conv(x, up))
        y = jax.nn.silu(conv(y, depth, groups=16))
        gate = jax.nn.silu(y.mean(axis=(1, 2)) @ squeeze) @ excite
        y = y * jax.nn.sigmoid(gate)[:, None, None, :]
        return conv(y, down) + x

    return network, [floats(1, 8, 8, 4)]


def reversed_gru():
    """A GRU that begins at the end."""
    w, u = weights(6, 24), weights(8, 24)

    def step(h, x):
        zr = jax.nn.sigmoid(x @ w[:, :16] + h @ u[:, :16])
        z, r = zr[:, :8], zr[:, 8:]
        n = jnp.tanh(x @ w[:, 16:] + r * (h @ u[:, 16:]))
        h = (1 - z) * n + z * h
        return h, h

    def network(x):
        last, states = lax.scan(step, jnp.zeros((2, 8)), x, reverse=True)
        return last, states

    return network, [floats(7, 2, 6)]


def decoder():
    """Causal attention, with minus infinity where nobody looks."""
    q, k, v, o = (weights(16, 16) for _ in range(4))

    def network(x):
        heads = [(x @ w).reshape(2, 5, 4, 4).transpose(0, 2, 1, 3) for w in (q, k, v)]
        scores = jnp.einsum("bhqd,bhkd->bhqk", heads[0], heads[1]) / 2.0
        mask = jnp.tril(jnp.ones((5, 5), bool))
        scores = jnp.where(mask, scores, -jnp.inf)
        y = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), heads[2])
        y = y.transpose(0, 2, 1, 3).reshape(2, 5, 16) @ o + x
        mean, var = y.mean(-1, keepdims=True), y.var(-1, keepdims=True)
        return jax.nn.gelu((y - mean) / jnp.sqrt(var + 1e-5))

    return network, [floats(2, 5, 16)]


def u_net():
    """Down, up by a transposed convolution, and a skip connection."""
    a, b, c = weights(3, 3, 3, 8), weights(2, 2, 8, 8), weights(3, 3, 16, 2)

    def network(x):
        y = jax.nn.relu(conv(x, a))
        low = lax.reduce_window(
            y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"
        )
        high = lax.conv_transpose(low, b, (2, 2), "SAME")
        return conv(jnp.concatenate([y, high], -1), c)

    return network, [floats(1, 8, 8, 3)]


def volume():
    """A convolution of three dimensions."""
    w = weights(3, 3, 3, 2, 4)

    def network(x):
        return lax.conv_general_dilated(
            x, w, (1, 2, 1), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC")
        )

    return network, [floats(1, 5, 6, 7, 2)]


def statistics():
    """Reductions of many kinds."""

    def network(x):
        return (
            x.var(0),
            jnp.cumsum(x, 1),
            jnp.prod(x, 1),
            jnp.argmax(x, 0),
            jax.nn.logsumexp(x, axis=1),
            jnp.any(x > 1, axis=0),
            jnp.median(x, axis=1),
            jnp.std(x),
        )

    return network, [floats(4, 7)]


def positions():
    """Gathers, updates, sorting."""
    table = weights(10, 3)

    def network(x, i):
        return (
            table[i],
            jnp.sort(x, axis=0),
            jnp.argsort(x, axis=1),
            x.at[i, 1].set(5.0),
            x.at[i].add(1.0),
            lax.dynamic_slice(x, (i[0], i[1]), (2, 3)),
            lax.dynamic_update_slice(x, x[:2, :2] * 2, (i[1], i[0])),
            jnp.take_along_axis(x, i[:, None] % 6, axis=1),
        )

    return network, [floats(4, 6), np.array([1, 3, 0, 2], np.int32)]


def loops():
    """A loop by a condition, one that counts, and branches."""

    def network(x, n):
        halved = lax.while_loop(lambda v: v.sum() > 1, lambda v: v / 2, jnp.abs(x))
        powers = lax.fori_loop(0, 4, lambda i, v: v * x + i, x)
        branch = lax.cond(n > 2, lambda v: v * 2, lambda v: v - 1, x)
        return halved, powers, branch

    return network, [floats(3, 3), np.int32(3)]


def small_functions():
    """Functions that lose digits near 0 if they are done carelessly, and bits."""

    def network(x, i):
        return (
            jnp.log1p(x * 1e-6),
            jnp.expm1(x * 1e-6),
            jnp.cbrt(x),
            jnp.sinh(x),
            jnp.cosh(x),
            jnp.round(x * 3),
            jnp.isfinite(x),
            jnp.clip(x, -0.5, 0.5),
            i & 6,
            i ^ 3,
            i << 2,
            ~i,
            jnp.fmod(i, 3),
            jnp.power(jnp.abs(x), 1.5),
        )

    return network, [floats(3, 5), np.arange(-4, 11, dtype=np.int32).reshape(3, 5)]


def special_functions():
    """Angles in all quadrants with zeros of both signs, the inverse of erf, log gamma."""
    infinity = np.inf
    y = [0.0, -0.0, 0.0, -0.0, 1, -1, 2, -3, infinity, -infinity, 1e-30, 5, 0.3]
    x = [0.0, 0.0, -0.0, -0.0, 0, 0, -3, -4, infinity, -infinity, -1e30, 1e-20, -0.7]
    inside = [0, 0.1, -0.5, 0.9, 0.9999, 0.25, 0.25, 0.3, -0.99, -0.2, 0.7, 0.8, 0.95]

    anywhere = [*inside[1:5], 1, 2, 1.5, 3.7, -0.3, -4.6, 30, 1e-20, -1.999]

    def network(y, x, inside, anywhere):
        return lax.atan2(y, x), lax.erf_inv(inside), lax.lgamma(anywhere)

    return network, [np.array(one, np.float32) for one in (y, x, inside, anywhere)]


def bits():
    """Counts of bits, neighbours of floats, orders with NaN, narrower types, inverse functions."""
    edges = [0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-30, 3e38, 0.3, 2.5, -7.25]
    x, y = np.array(edges, np.float32), np.array(edges[::-1], np.float32)
    i = np.array([0, 1, -1, 6, 2**31 - 1, -(2**31)], np.int32)

    def network(x, y, i, small, key):
        return (
            lax.population_count(i),
            lax.clz(i),
            lax.population_count(small),
            lax.clz(small),
            lax.nextafter(x, y),
            lax.reduce_precision(x, 5, 10),
            lax.reduce_precision(x, 8, 7),
            jnp.searchsorted(jnp.sort(x), y),
            jnp.arcsinh(x[7:] * 1e-3),
            jnp.arccosh(jnp.abs(x[8:]) + 1),
            jnp.arctanh(x[9:] / 8),
            jnp.sinh(x[7:10:2]),
            jax.random.normal(key, (4,)),
            jax.random.permutation(key, 5),
        )

    small = np.array([0, 1, 200, 255], np.uint8)
    return network, [x, y, i, small, np.array([1, 2], np.uint32)]


def pool_gradient():
    """The gradient of a maximum pool with a border, some of whose windows have equal ones."""

    def loss(x):
        window = (1, 3, 3, 1), (1, 2, 2, 1), "SAME"
        pooled = lax.reduce_window(x, -jnp.inf, lax.max, *window)
        return (pooled * pooled).sum()

    return jax.grad(loss), [np.round(2 * floats(1, 7, 6, 2))]


NETWORKS = (
    residual,
    inverted_residual,
    reversed_gru,
    decoder,
    u_net,
    volume,
    statistics,
    positions,
    loops,
    small_functions,
    special_functions,
    bits,
    pool_gradient,
)


def write(make):
    """Write the program of a network."""
    network, examples = make()
    jitted = jax.jit(network)
    results = jax.tree_util.tree_leaves(jitted(*examples))
    name = make.__name__
    text = jitted.lower(*examples).as_text()
    (FOLDER / f"{name}.mlir").write_text(text, encoding="utf-8")
    arrays = {f"input{n}": np.asarray(one) for n, one in enumerate(examples)}
    arrays |= {f"output{n}": np.asarray(one) for n, one in enumerate(results)}
    np.savez(FOLDER / f"{name}.npz", **arrays)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for network in NETWORKS:
        write(network)
