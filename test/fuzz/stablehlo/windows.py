"""Random convolutions and windows, for `programs.py`."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def _pads(rng):
    """Both are negative, or none: for others XLA's processors give wrong sums (JAX 0.10)."""
    if rng.random() < 0.2:
        return -rng.randint(0, 1), -1
    return rng.randint(0, 3), rng.randint(0, 2)


def convolution(rng, numbers):
    """Any order of dimensions, strides, pads, dilations and groups."""
    rank, groups = rng.randint(1, 3), rng.choice([1, 1, 2])
    spatial = "DHW"[-rank:]
    batch, ins, outs = rng.randint(1, 2), rng.randint(1, 2), rng.randint(1, 2)
    names = ["".join(rng.sample("NC" + spatial, rank + 2)) for _ in range(2)]
    kernel = "".join(rng.sample("IO" + spatial, rank + 2))
    sizes = {n: rng.randint(4, 6) for n in spatial}
    taps = {n: rng.randint(1, 3) for n in spatial}
    is_dilated = rng.random() < 0.3
    options = {
        "window_strides": [rng.randint(1, 2) for _ in spatial],
        "padding": [_pads(rng) for _ in spatial],
        "lhs_dilation": [rng.randint(1, 3) if is_dilated else 1 for _ in spatial],
        "rhs_dilation": [rng.choice([1, 1, 2]) for _ in spatial],
        "feature_group_count": groups,
        "dimension_numbers": (names[0], kernel, names[1]),
    }
    if rng.random() < 0.15:
        options |= {"feature_group_count": 1, "batch_group_count": 2}
        batch, outs, groups = batch * 2, outs * 2, 1
    sizes |= {"N": batch, "C": ins * groups}
    taps |= {"I": ins, "O": outs * groups}
    dtype = rng.choice(["f4", "f4", "f4", "f2", "i1"])
    wide = "i4" if dtype == "i1" else None
    x = (numbers.standard_normal([sizes[n] for n in names[0]]) * 4).astype(dtype)
    w = (numbers.standard_normal([taps[n] for n in kernel]) * 4).astype(dtype)
    if rng.random() < 0.2 and dtype == "f4":
        return _gradient(x, w, options)

    def network(x, w):
        return lax.conv_general_dilated(x, w, **options, preferred_element_type=wide)

    return network, [x, w]


def _gradient(x, w, options):
    """The gradients of a convolution, which are convolutions with reversed windows."""

    def total(x, w):
        return (lax.conv_general_dilated(x, w, **options) ** 2).sum()

    return jax.grad(total, rng_argument(options)), [x, w]


def rng_argument(options):
    """The gradient of the input, or of the weights."""
    return options["window_strides"][0] - 1


def reduce_window(rng, numbers):
    """Any window, dilated or not, and any start."""
    rank = rng.randint(1, 4)
    shape = [rng.randint(3, 5) for _ in range(rank)]
    dtype = rng.choice(["f4", "f4", "f4", "i4", "u1", "f2"])
    x = (numbers.standard_normal(shape) * 3).astype(dtype)
    step, start = rng.choice(
        [(lax.add, 0), (lax.mul, 1), (lax.max, 0), (lax.min, 3), (lax.add, 2)]
    )
    if rng.random() < 0.3 and dtype[0] == "f":
        step, start = rng.choice([(lax.max, -np.inf), (lax.min, np.inf)])
    window = [rng.randint(1, 3) for _ in shape]
    padding = rng.choice(["SAME", "VALID", None]) or [
        (rng.randint(0, 4), rng.randint(0, 2)) for _ in shape
    ]
    strides = [rng.randint(1, 2) for _ in shape]
    ones = [1] * rank
    is_dilated = rng.random() < 0.3 and padding != "SAME"
    base = [rng.randint(1, 2) for _ in shape] if is_dilated else ones
    inner = [1 if n > 2 else rng.randint(1, 2) for n in window] if is_dilated else ones
    start = np.array(start).astype(dtype)
    return (
        lambda x: lax.reduce_window(
            x, start, step, window, strides, padding, base, inner
        )
    ), [x]


def cumulative(rng, numbers):
    """Sums, products, maxima along an axis, from either end."""
    shape = [rng.randint(1, 5) for _ in range(rng.randint(1, 3))]
    axis, is_back = rng.randrange(len(shape)), rng.random() < 0.5
    function = rng.choice([lax.cumsum, lax.cumprod, lax.cummax, lax.cummin])
    dtype = rng.choice(["f4", "f4", "i4"])
    x = (numbers.standard_normal(shape) * 3).astype(dtype)
    return (lambda x: function(x, axis=axis, reverse=is_back)), [x]


def pool(rng, numbers):
    """Pools of networks, and their gradients."""
    x = numbers.standard_normal((1, 6, 6, 2)).astype(np.float32)
    size, stride = rng.randint(1, 3), rng.randint(1, 2)
    padding = rng.choice(["SAME", "VALID"])
    dims = ((1, size, size, 1), (1, stride, stride, 1), padding)

    def mean(x):
        total = lax.reduce_window(x, 0.0, lax.add, *dims)
        return total / lax.reduce_window(jnp.ones_like(x), 0.0, lax.add, *dims)

    def largest(x):
        return lax.reduce_window(x, -jnp.inf, lax.max, *dims)

    kind = rng.choice([mean, largest])
    if rng.random() < 0.3:
        return jax.grad(lambda x: (kind(x) ** 2).sum()), [x]
    return kind, [x]


WINDOWS = {
    "convolution": convolution,
    "reduce_window": reduce_window,
    "cumulative": cumulative,
    "pool": pool,
}
