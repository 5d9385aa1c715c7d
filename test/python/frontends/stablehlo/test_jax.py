"""`glow.from_jax`, where JAX is installed."""

import numpy as np
import pytest

import glow

jax = pytest.importorskip("jax")
jnp = jax.numpy
lax = jax.lax

RNG = np.random.default_rng(7)


def floats(*shape):
    """An example."""
    return RNG.standard_normal(shape).astype(np.float32)


def test_equals_jax():
    w = floats(3, 4)

    def network(x):
        return jax.nn.softmax(jnp.maximum(x @ w, 0))

    x = floats(2, 3)
    for backend in ("interpreter", "cpu"):
        found = glow.from_jax(network, x, backend=backend)(x)
        np.testing.assert_allclose(found, network(x), rtol=2e-6)


def test_unsupported_operations_are_listed():
    def network(x):
        return lax.lgamma(x), jnp.fft.fft(x).real

    with pytest.raises(glow.GlowError, match=r"not converted: .*; ") as caught:
        glow.from_jax(network, floats(3, 3))
    assert "\n" not in str(caught.value)


def test_names_are_those_of_the_tree():
    def network(parameters, x):
        return {"logits": x @ parameters["w"] + parameters["b"]}

    parameters = {"w": floats(3, 4), "b": floats(4)}
    model = glow.from_jax(network, parameters, floats(2, 3))
    assert [info.name for info in model.inputs] == ["x0.b", "x0.w", "x1"]
    assert [info.name for info in model.outputs] == ["logits"]
