"""Scans of JAX that are recurrent layers become one node; others stay loops."""

from collections import Counter

import numpy as np
import pytest

import glow
from glow.frontends.stablehlo.convert_stablehlo_to_glow import (
    ConvertStablehloToGlowPass,
)
from glow.frontends.stablehlo.jax_functions import jax_module
from glow.passes.graph.pipeline import graph_passes
from glow.universe import new_context

jax = pytest.importorskip("jax")
jnp = jax.numpy
lax = jax.lax
sigmoid = jax.nn.sigmoid

STEPS, BATCH, INPUT, HIDDEN = 5, 2, 3, 4
RNG = np.random.default_rng(17)


def floats(*shape):
    """An example."""
    return RNG.standard_normal(shape).astype(np.float32)


X, H, C = floats(STEPS, BATCH, INPUT), floats(BATCH, HIDDEN), floats(BATCH, HIDDEN)


def weights(gates):
    """Of the input, of the hidden state, and a bias."""
    return (
        floats(INPUT, gates * HIDDEN),
        floats(HIDDEN, gates * HIDDEN),
        floats(gates * HIDDEN),
    )


W, U, B = weights(4)


def nodes(function, *examples):
    """How many there are of each operation in the optimized graph."""
    context = new_context()
    module = jax_module(context, function, *examples)
    for one in (ConvertStablehloToGlowPass(), *graph_passes()):
        one.apply(context, module)
    return Counter(op.name for op in module.walk())


def check(function, node, *examples, count=1):
    """Equal to JAX on both backends, with so many of a node, and no loop if there is one."""
    found = nodes(function, *examples)
    assert found[node] == count, found
    assert (found["scf.for"] == 0) == (node != "scf.for"), found
    expected = jax.tree_util.tree_leaves(function(*examples))
    for backend in ("interpreter", "cpu"):
        results = glow.from_jax(function, *examples, backend=backend)(*examples)
        results = results if isinstance(results, tuple) else (results,)
        for one, wanted in zip(results, expected, strict=True):
            np.testing.assert_allclose(one, wanted, rtol=1e-5, atol=2e-6)


def lstm_order(gates):
    """An LSTM whose gates stand in this order (Keras: ifgo; PyTorch: ifgo; ONNX: iofg)."""

    def step(state, x):
        h, c = state
        parts = jnp.split(x @ W + h @ U + B, 4, axis=-1)
        i, f, g, o = (parts[gates.index(name)] for name in "ifgo")
        c = sigmoid(f + 1.0) * c + sigmoid(i) * jnp.tanh(g)
        h = sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return lambda x, h, c: lax.scan(step, (h, c), x)


@pytest.mark.parametrize("gates", ["ifgo", "iofg", "gfoi"])
def test_lstm_with_gates_in_any_order(gates):
    check(lstm_order(gates), "glow.lstm", X, H, C)


def test_lstm_of_dense_layers():
    parts = [weights(1) for _ in range(4)]

    def step(state, x):
        c, h = state
        i, f, g, o = (x @ w + (h @ u + b) for w, u, b in parts)
        c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
        h = sigmoid(o) * jnp.tanh(c)
        return (c, h), h

    def network(x):
        zeros = jnp.zeros((BATCH, HIDDEN))
        return lax.scan(step, (zeros, zeros), x)[1][-1]

    check(network, "glow.lstm", X)


def test_lstm_of_joined_inputs_that_were_transposed():
    w = np.concatenate([W, U])

    def step(state, x):
        h, c = state
        i, g, f, o = jnp.split(jnp.concatenate([x, h], 1) @ w + B, 4, axis=1)
        c = c * sigmoid(f) + jnp.tanh(g) * (0.5 * jnp.tanh(0.5 * i) + 0.5)
        h = jnp.tanh(c) / (1 + jnp.exp(-o))
        return (h, c), h

    def network(x, h, c):
        (h, _), all_states = lax.scan(step, (h, c), x.swapaxes(0, 1), reverse=True)
        return all_states.swapaxes(0, 1), h

    check(network, "glow.lstm", X.swapaxes(0, 1), H, C)


def test_lstm_of_products_before_the_loop_and_weights_of_the_caller():
    def step_with(u):
        def step(state, x):
            h, c = state
            i, f, g, o = jnp.split(x + h @ u.T, 4, axis=-1)
            c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
            h = sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        return step

    def network(x, w, u, b, h, c):
        return lax.scan(step_with(u), (h, c), x @ w + b)

    check(network, "glow.lstm", X, W, U.T.copy(), B, H, C)


def test_lstm_without_a_batch():
    def step(state, x):
        h, c = state
        i, f, g, o = jnp.split(x @ W + h @ U + B, 4)
        c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
        h = sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    check(lambda x, h, c: lax.scan(step, (h, c), x), "glow.lstm", X[:, 0], H[0], C[0])


def gru(reset_after, update):
    """A GRU; `update` makes the new state of z, n and h."""

    def step(h, x):
        of_x = jnp.split(x @ W[:, :12] + B[:12], 3, axis=-1)
        of_h = jnp.split(h @ U[:, :8], 2, axis=-1)
        r, z = sigmoid(of_x[0] + of_h[0]), sigmoid(of_x[1] + of_h[1])
        if reset_after:
            n = jnp.tanh(of_x[2] + r * (h @ U[:, 8:12] + B[12:]))
        else:
            n = jnp.tanh(of_x[2] + (r * h) @ U[:, 8:12] + B[12:])
        h = update(z, n, h)
        return h, h

    return step


UPDATES = {
    "keras": lambda z, n, h: z * h + (1 - z) * n,
    "haiku": lambda z, n, h: (1 - z) * h + z * n,
    "step": lambda z, n, h: h + z * (n - h),
}


@pytest.mark.parametrize("reset_after", [True, False])
@pytest.mark.parametrize("update", UPDATES)
def test_gru(reset_after, update):
    step = gru(reset_after, UPDATES[update])
    check(lambda x, h: lax.scan(step, h, x, reverse=update == "step"), "glow.gru", X, H)


def test_gru_over_reversed_time():
    step = gru(True, UPDATES["keras"])

    def network(x, h):
        last, all_states = lax.scan(step, h, x[::-1])
        return last, all_states[::-1]

    check(network, "glow.gru", X, H)


@pytest.mark.parametrize("function", [jnp.tanh, sigmoid, jax.nn.relu])
def test_rnn(function):
    def step(h, x):
        h = function(x @ W[:, :4] + h @ U[:, :4] + B[:4])
        return h, h

    check(lambda x, h: lax.scan(step, h, x), "glow.rnn", X, H)


def test_layers_on_top_of_each_other_and_both_ways():
    top = weights(4)[0:1] + weights(4)[1:]
    top = (floats(2 * HIDDEN, 4 * HIDDEN), *top[1:])

    def run(parameters, x, reverse=False):
        w, u, b = parameters

        def step(state, x):
            h, c = state
            i, f, g, o = jnp.split(x @ w + h @ u + b, 4, axis=-1)
            c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
            h = sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zeros = jnp.zeros((BATCH, HIDDEN))
        return lax.scan(step, (zeros, zeros), x, reverse=reverse)[1]

    def network(x):
        both = [run((W, U, B), x), run((W, U, B), x, reverse=True)]
        return run(top, jnp.concatenate(both, axis=-1))

    check(network, "glow.lstm", X, count=3)


def peephole(state, x):
    """An LSTM whose gate reads the cell."""
    h, c = state
    i, f, g, o = jnp.split(x @ W + h @ U + B, 4, axis=-1)
    c = sigmoid(f + 0.5 * c) * c + sigmoid(i) * jnp.tanh(g)
    h = sigmoid(o) * jnp.tanh(c)
    return (h, c), h


def clipped(state, x):
    """An LSTM whose cell has bounds."""
    (h, c), h = lstm_step(state, x)
    return (h, jnp.clip(c, -0.5, 0.5)), h


def lstm_step(state, x):
    """One step."""
    h, c = state
    i, f, g, o = jnp.split(x @ W + h @ U + B, 4, axis=-1)
    c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
    return (sigmoid(o) * jnp.tanh(c), c), sigmoid(o) * jnp.tanh(c)


def almost(state, x):
    """An LSTM but for one sign."""
    h, c = state
    i, f, g, o = jnp.split(x @ W + h @ U + B, 4, axis=-1)
    c = sigmoid(f) * c - sigmoid(i) * jnp.tanh(g)
    h = sigmoid(o) * jnp.sin(c)
    return (h, c), h


def of_cells(state, x):
    """An LSTM that hands out its cells."""
    (h, c), _ = lstm_step(state, x)
    return (h, c), c


def of_earlier(state, x):
    """An LSTM that hands out the states before each step."""
    after, _ = lstm_step(state, x)
    return after, state[0]


@pytest.mark.parametrize("step", [peephole, clipped, almost, of_cells, of_earlier])
def test_other_loops_stay(step):
    check(lambda x, h, c: lax.scan(step, (h, c), x), "scf.for", X, H, C)
