"""Programs of JAX for `operations.py`: a function and its arrays, by kind."""

import jax
import jax.numpy as jnp
import numpy as np
from elements import ELEMENTWISE
from indexing import INDEXING
from jax import lax
from windows import WINDOWS


def floats(numbers, *shape):
    """An example."""
    return numbers.standard_normal(shape).astype(np.float32)


def dot_general(rng, numbers):
    """Any axes of two operands as batches, contracted and free ones."""
    sizes = {name: rng.randint(1, 4) for name in "abcdefgh"}
    batch, contracted = rng.sample("ab", rng.randint(0, 2)), rng.sample("cd", 1)
    lhs = [*batch, *contracted, *rng.sample("ef", rng.randint(0, 2))]
    rhs = [*batch, *contracted, *rng.sample("gh", rng.randint(0, 2))]
    rng.shuffle(lhs)
    rng.shuffle(rhs)
    dims = tuple(
        tuple(tuple(side.index(name) for name in names) for side in (lhs, rhs))
        for names in (contracted, batch)
    )
    one, other, wide = rng.choice(
        [
            ("f4", "f4", None),
            ("f4", "f4", None),
            ("f2", "f2", "f4"),
            ("i1", "i1", "i4"),
            ("u1", "u1", "i4"),
            ("u1", "i1", "i4"),
            ("i4", "i4", None),
            ("i8", "i8", None),
        ]
    )
    x = (numbers.standard_normal([sizes[n] for n in lhs]) * 40).astype("i1")
    y = (numbers.standard_normal([sizes[n] for n in rhs]) * 40).astype("i1")

    def network(x, y):
        return lax.dot_general(x, y, dims, preferred_element_type=wide)

    return network, [x.astype(one), y.astype(other)]


def _reduction(rng):
    return rng.choice([lax.add, lax.mul, lax.max, lax.min])


def reduce(rng, numbers):
    """Several axes, any start."""
    rank = rng.randint(1, 4)
    axes = rng.sample(range(rank), rng.randint(1, rank))
    dtype = rng.choice(["f4", "f4", "f2", "i4", "u1", "i1", "i8", "bool"])
    x = (numbers.standard_normal([rng.randint(1, 4) for _ in range(rank)]) * 3).astype(
        dtype
    )
    step = lax.add if min(x.shape) == 1 else _reduction(rng)
    if dtype == "bool":
        step = rng.choice([lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor])
    # XLA leaves out the start of axes of size 1: which it is there is not said.
    start = np.array(rng.choice([0, 1, 2]) if min(x.shape) > 1 else 0).astype(dtype)
    return (lambda x: lax.reduce(x, start, step, axes)), [x]


def arg_reduce(rng, numbers):
    """Ties and NaN."""
    shape = [rng.randint(1, 5) for _ in range(rng.randint(1, 3))]
    x = numbers.integers(-2, 3, shape).astype(rng.choice(["f4", "i4", "u1", "f2"]))
    if x.dtype.kind == "f":
        x[numbers.random(shape) < 0.1] = np.nan
    function = rng.choice([jnp.argmax, jnp.argmin])
    axis = rng.randrange(len(shape))
    return (lambda x: function(x, axis=axis)), [x]


def sort(rng, numbers):
    """Sorts, with operands that follow, ties and NaN."""
    shape = [rng.randint(1, 5) for _ in range(rng.randint(1, 3))]
    axis = rng.randrange(len(shape))
    x = numbers.integers(-2, 3, shape).astype(rng.choice(["f4", "i4", "u1", "i8"]))
    y = floats(numbers, *shape)
    if x.dtype.kind == "f":
        x[numbers.random(shape) < 0.2] = np.nan
    functions = [
        lambda x, y: (jnp.sort(x, axis=axis), y),
        lambda x, y: (jnp.argsort(x, axis=axis), y),
        lambda x, y: (jnp.argsort(x, axis=axis, descending=True), y),
        lambda x, y: (-jnp.sort(-x, axis=axis), y),
        lambda x, y: lax.sort((x, y), dimension=axis, num_keys=1),
        lambda x, y: lax.sort((x, y), dimension=axis, num_keys=2),
        lambda x, y: lax.top_k(x, rng_k),
    ]
    rng_k = rng.randint(1, shape[-1])
    return rng.choice(functions), [x, y]


def pad(rng, numbers):
    """Borders that crop, and gaps."""
    shape = [rng.randint(1, 5) for _ in range(rng.randint(1, 3))]
    config = [(rng.randint(-1, 3), rng.randint(0, 3), rng.randint(0, 2)) for _ in shape]
    dtype = rng.choice(["f4", "i4", "i8", "u1", "f2", "bool"])
    x = (numbers.standard_normal(shape) * 9).astype(dtype)
    value = np.array(rng.choice([0, 1, 3])).astype(dtype)
    return (lambda x: lax.pad(x, value, config)), [x]


def fori(rng, numbers):
    """Counted loops."""
    start, end = rng.randint(-2, 3), rng.randint(-2, 8)
    x = floats(numbers, 3)

    def step(i, state):
        a, b = state
        return a * 0.5 + i, b + a[i % 3]

    return (lambda x: lax.fori_loop(start, end, step, (x, x.sum()))), [x]


def while_loop(rng, numbers):
    """The data tell when it ends."""
    limit = rng.uniform(-1, 30)
    x = floats(numbers, 3)

    def network(x):
        return lax.while_loop(
            lambda state: state[0].sum() < limit,
            lambda state: (state[0] + jnp.abs(state[0]) + 1, state[1] + 1),
            (x, jnp.int32(0)),
        )

    return network, [x]


def scan(rng, numbers):
    """Scans from either end, with and without elements and results."""
    length, is_back = rng.randint(1, 6), rng.random() < 0.5
    xs, w = floats(numbers, length, 2), floats(numbers, 2, 2)
    kind = rng.randrange(4)

    def step(carry, x):
        h, n = carry
        h = jnp.tanh(h @ w + (0 if x is None else x))
        return (h, n + 1), (None if kind == 1 else h * n)

    def network(xs):
        rest = {"length": length} if kind == 2 else {}
        elements = None if kind == 2 else xs
        return lax.scan(step, (xs[0], jnp.int32(3)), elements, reverse=is_back, **rest)

    return network, [xs]


def choice(rng, numbers):
    """`cond` and `switch`, also with numbers outside."""
    x, index = floats(numbers, 3), np.int32(rng.randint(-2, 5))
    branches = [jnp.sin, lambda x: x + 1, lambda x: x * x, jnp.negative]
    count = rng.randint(1, 4)
    if rng.random() < 0.3:
        return (lambda x, i: lax.cond(i > 0, jnp.exp, jnp.abs, x)), [x, index]
    return (lambda x, i: lax.switch(i, branches[:count], x)), [x, index]


def many_indices(rng, numbers):
    """Normalizations and softmax of any axes."""
    shape = [rng.randint(1, 4) for _ in range(3)]
    axis = rng.randrange(3)
    x = floats(numbers, *shape)
    function = rng.choice(
        [jax.nn.softmax, jax.nn.log_softmax, jax.nn.logsumexp, jnp.var, jnp.std]
    )
    return (lambda x: function(x, axis=axis)), [x]


PROGRAMS = {
    "dot_general": dot_general,
    "reduce": reduce,
    "arg_reduce": arg_reduce,
    "sort": sort,
    "pad": pad,
    "fori": fori,
    "while": while_loop,
    "scan": scan,
    "choice": choice,
    "normalizations": many_indices,
    **WINDOWS,
    **INDEXING,
    **ELEMENTWISE,
}
