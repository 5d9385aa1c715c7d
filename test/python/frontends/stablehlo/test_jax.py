"""`glow.from_jax`, where JAX is installed."""

from functools import partial

import numpy as np
import pytest
from support.nodes.differential import rows_with_nan

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
        return lax.digamma(x), jnp.fft.fft(x).real

    with pytest.raises(glow.GlowError, match=r"not converted: .*; ") as caught:
        glow.from_jax(network, floats(3, 3))
    assert "\n" not in str(caught.value)


def test_what_cannot_be_read_has_its_place():
    def network(x):
        return jnp.linalg.solve(x @ x.T, x)  # LAPACK's call comes with shardings.

    with pytest.raises(glow.GlowError, match="sdy") as caught:
        glow.from_jax(network, floats(3, 3))
    assert str(caught.value).startswith("jax:")
    assert "\n" not in str(caught.value)


def test_names_are_those_of_the_tree():
    def network(parameters, x):
        return {"logits": x @ parameters["w"] + parameters["b"]}

    parameters = {"w": floats(3, 4), "b": floats(4)}
    model = glow.from_jax(network, parameters, floats(2, 3))
    assert [info.name for info in model.inputs] == ["x0.b", "x0.w", "x1"]
    assert [info.name for info in model.outputs] == ["logits"]


def test_unused_arguments_are_taken():
    model = glow.from_jax(lambda x, y: y + 1, floats(3), floats(2))
    np.testing.assert_array_equal(model(floats(3), np.zeros(2, np.float32)), [1, 1])


def test_neutral_numbers_that_no_f32_is():
    x = np.array([[-3, 0], [4, -7]], np.int32)
    for backend in ("interpreter", "cpu"):
        model = glow.from_jax(lambda x: lax.cummin(x, axis=1), x, backend=backend)
        np.testing.assert_array_equal(model(x), [[-3, -3], [4, -7]])


def test_switches_of_three():
    x = floats(3)
    branches = [jnp.sin, jnp.negative, lambda x: x * x]
    model = glow.from_jax(lambda i, x: lax.switch(i, branches, x), np.int32(0), x)
    for i in range(-1, 4):
        wanted = branches[min(max(i, 0), 2)](x)
        np.testing.assert_allclose(model(np.int32(i), x), wanted, rtol=2e-6)


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("find", [jnp.argmax, jnp.argmin])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_positions_of_nan(find, dtype, backend):
    x = rows_with_nan(17).astype(jnp.dtype(dtype))
    for axis, rows in ((1, x), (0, x.T.copy())):
        model = glow.from_jax(partial(find, axis=axis), rows, backend=backend)
        np.testing.assert_array_equal(model(rows), find(rows, axis))


def test_groups_of_batches():
    x, w = floats(4, 2, 5, 5), floats(6, 2, 3, 3)

    def network(x, w):
        return lax.conv_general_dilated(x, w, [1, 1], "SAME", batch_group_count=2)

    found = glow.from_jax(network, x, w)(x, w)
    np.testing.assert_allclose(found, network(x, w), rtol=2e-5, atol=2e-5)
