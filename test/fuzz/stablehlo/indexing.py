"""Random indexing in JAX's ways, for `programs.py`."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

MODES = [None, "clip", "fill", "wrap", "promise_in_bounds"]


def array(rng, numbers, shape):
    """An example of one of a few types."""
    dtype = rng.choice(["f4", "f4", "i4", "u1", "f2", "i8", "bool"])
    return (numbers.standard_normal(shape) * 9).astype(dtype)


def places(rng, numbers, shape, size):
    """Indices, some of them outside."""
    reach = rng.choice([0, 0, size + 2])
    dtype = rng.choice(["i4", "i4", "i8", "u4"])
    low = 0 if dtype == "u4" else -reach
    return numbers.integers(low, size + reach, shape).astype(dtype)


INDEXERS = {
    "x[i]": lambda x, i, j: x[i],
    "x[:, i]": lambda x, i, j: x[:, i],
    "x[..., i]": lambda x, i, j: x[..., i],
    "x[i, j]": lambda x, i, j: x[i, j],
    "x[i, :, j]": lambda x, i, j: x[i, :, j],
    "x[:, i, j]": lambda x, i, j: x[:, i, j],
    "x[i[:, None], j]": lambda x, i, j: x[i.ravel()[:, None], j.ravel()[None]],
    "x[i[0]]": lambda x, i, j: x[i.ravel()[0]],
    "x[1:, i]": lambda x, i, j: x[1:, i],
    "x[i, None, ::-1]": lambda x, i, j: x[i, None, ::-1],
    "take_along": lambda x, i, j: jnp.take_along_axis(
        x, jnp.broadcast_to(i.ravel()[:, None, None], (i.size, *x.shape[1:])), axis=0
    ),
    "vmap": lambda x, i, j: jax.vmap(lambda row, n: row[n])(
        x, jnp.broadcast_to(i.ravel()[:1], x.shape[:1])
    ),
    "vmap2": lambda x, i, j: jax.vmap(jax.vmap(lambda row, n: row[n]))(
        x, jnp.broadcast_to(i.ravel(), (*x.shape[:2], i.size))
    ),
}


def gather(rng, numbers):
    """Reads by `jnp` indexing."""
    x = array(rng, numbers, [rng.randint(2, 4) for _ in range(3)])
    shape = rng.choice([(), (1,), (3,), (2, 2)])
    size = min(x.shape)
    i, j = places(rng, numbers, shape, size), places(rng, numbers, shape, size)
    return INDEXERS[rng.choice(list(INDEXERS))], [x, i, j]


def gather_modes(rng, numbers):
    """`take` and `at[].get` in all modes."""
    x = array(rng, numbers, [rng.randint(2, 4) for _ in range(3)])
    axis, mode = rng.randrange(3), rng.choice(MODES)
    i = places(rng, numbers, rng.choice([(), (3,), (2, 2)]), min(x.shape))
    if mode == "promise_in_bounds":
        i = i % min(x.shape)
    if mode == "wrap" or rng.random() < 0.5:
        mode = None if mode == "promise_in_bounds" else mode
        return (lambda x, i: jnp.take(x, i, axis=axis, mode=mode)), [x, i]
    return (lambda x, i: x.at[i].get(mode=mode)), [x, i]


def scatter(rng, numbers):
    """Writes; those outside are left out, and of equal indices all count."""
    x = array(rng, numbers, [rng.randint(2, 4) for _ in range(3)])
    kind = rng.choice(["set", "add", "max", "min", "mul"])
    i = places(rng, numbers, (2,), min(x.shape))
    j = places(rng, numbers, (2,), min(x.shape))
    if kind == "set":  # Which of equal ones stays is not said.
        i, j = np.unique(i % min(x.shape)), np.unique(i % min(x.shape))
        i = i + rng.choice([0, 0, 9])
    if x.dtype == bool:
        kind = "set"
    mode = rng.choice([None, "drop", "clip"])
    if kind == "set" and mode == "clip":
        mode = None
    way = rng.randrange(5)

    def network(x, i, j):
        at = [
            lambda: x.at[i],
            lambda: x.at[:, i],
            lambda: x.at[i, j],
            lambda: x.at[i, :, j],
            lambda: x.at[1:, i],
        ][way]()
        value = jnp.asarray(2).astype(x.dtype)
        return getattr(at, {"mul": "multiply"}.get(kind, kind))(value, mode=mode)

    return network, [x, i, j]


def batched_scatter(rng, numbers):
    """Writes with batches."""
    x, i = array(rng, numbers, [3, 4]), places(rng, numbers, (3, 2), 4)
    i[:, 1] = (i[:, 0] + 1) % 4
    u = (numbers.standard_normal((3, 2)) * 5).astype(x.dtype)
    kind = rng.choice(["set", "add"]) if x.dtype != bool else "set"
    return jax.vmap(lambda x, i, u: getattr(x.at[i], kind)(u)), [x, i, u]


def dynamic_slice(rng, numbers):
    """Starts outside are moved inside."""
    shape = [rng.randint(1, 5) for _ in range(rng.randint(1, 3))]
    x = array(rng, numbers, shape)
    sizes = [rng.randint(1, n) for n in shape]
    dtype = rng.choice(["i4", "i8", "u4", "i1"])
    starts = [np.array(rng.randint(-7, 7)).astype(dtype) for _ in shape]
    if rng.random() < 0.5:
        return (lambda x, *starts: lax.dynamic_slice(x, starts, sizes)), [x, *starts]
    update = array(rng, numbers, sizes).astype(x.dtype)
    return (lambda x, u, *starts: lax.dynamic_update_slice(x, u, starts)), [
        x,
        update,
        *starts,
    ]


def batched_slice(rng, numbers):
    """A slice of its own of each row: gathers and scatters with batches."""
    x = array(rng, numbers, [3, 5, 2])
    i = numbers.integers(-3, 8, 3).astype("i4")
    if rng.random() < 0.5:
        return jax.vmap(lambda x, i: lax.dynamic_slice(x, (i, jnp.int32(0)), (2, 2))), [
            x,
            i,
        ]
    u = array(rng, numbers, [3, 2, 2]).astype(x.dtype)
    return jax.vmap(
        lambda x, u, i: lax.dynamic_update_slice(x, u, (i, jnp.int32(0)))
    ), [x, u, i]


INDEXING = {
    "gather": gather,
    "gather_modes": gather_modes,
    "scatter": scatter,
    "batched_scatter": batched_scatter,
    "dynamic_slice": dynamic_slice,
    "batched_slice": batched_slice,
}
