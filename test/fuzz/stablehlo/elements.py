"""Element-wise operations on the numbers at the edges, for `programs.py`."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

EDGES = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan]
NEAR = [1e-7, -1e-7, 1e-4, -3e-3, 0.49999997, 3.7, -3.7, 9.0, -27.0, 60.0]
FLOATS = ["float32", "float32", "float16", "bfloat16", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]

UNARY = (
    "abs ceil cos exp floor log logistic neg rsqrt sign sin sqrt tan tanh log1p expm1 cbrt "
    "is_finite acos asin atan erf erfc square sinh cosh asinh acosh atanh erf_inv lgamma "
    "digamma round_even round_away reciprocal"
).split()
BINARY = "add sub mul div rem max min pow atan2 eq ne lt le gt ge nextafter".split()
OF_INTEGERS = (
    "add sub mul div rem max min bitwise_and bitwise_or bitwise_xor shift_left "
    "shift_right_logical shift_right_arithmetic eq ne lt le gt ge floor_divide mod"
).split()
UNARY_OF_INTEGERS = "abs neg sign bitwise_not population_count clz square".split()

OTHERS = {
    "round_even": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    "round_away": lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
    "floor_divide": lambda x, y: x // y,
    "mod": lambda x, y: x % y,
}


def function_of(name):
    """JAX's function."""
    return OTHERS.get(name) or getattr(lax, name)


def float_array(rng, numbers):
    """Edges and others in a line."""
    dtype = rng.choice(FLOATS)
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    line = [*EDGES, *NEAR, *numbers.standard_normal(10)]
    return np.array(line).astype(kind)


def integer_array(rng, numbers):
    """Ends of the range and others in a line."""
    bounds = np.iinfo(rng.choice(INTEGERS))
    line = [bounds.min, bounds.max, 0, 1, 2, 7, bounds.max - 1]
    line += [int(n) for n in numbers.integers(0, 100, 8)]
    if bounds.min < 0:
        line += [-1, -2, -7, bounds.min + 1]
    return np.array(line, bounds.dtype)


def unary(rng, numbers):
    """Of one float."""
    return function_of(rng.choice(UNARY)), [float_array(rng, numbers)]


def binary(rng, numbers):
    """Of all pairs of floats."""
    x = float_array(rng, numbers)
    function = function_of(rng.choice(BINARY))
    n = len(x)
    return function, [np.repeat(x, n).reshape(n, n), np.tile(x, (n, 1))]


def integer_unary(rng, numbers):
    """Of one integer."""
    x, name = integer_array(rng, numbers), rng.choice(UNARY_OF_INTEGERS)
    if name in ("abs", "neg") and x.dtype.kind == "u":
        name = "bitwise_not"
    return function_of(name), [x]


def integer_binary(rng, numbers):
    """Of all pairs of integers."""
    x = integer_array(rng, numbers)
    function = function_of(rng.choice(OF_INTEGERS))
    n = len(x)
    return function, [np.repeat(x, n).reshape(n, n), np.tile(x, (n, 1))]


def boolean(rng, numbers):
    """Of truth values."""
    x, y = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    names = "bitwise_and bitwise_or bitwise_xor eq ne lt le gt ge max min".split()
    return function_of(rng.choice(names)), [x, y]


def convert(rng, numbers):
    """Between types, inside the range."""
    target = rng.choice([*INTEGERS, *FLOATS, "bool"])
    if rng.random() < 0.5:
        x = integer_array(rng, numbers)
        if target in ("float16",):
            x = np.clip(x, 0, 2000)
        return (lambda x: lax.convert_element_type(x, target)), [x]
    x = np.array([0, 0.5, 1.5, 2.75, 100.2, 3]).astype(rng.choice(["f4", "f2", "f8"]))
    return (lambda x: lax.convert_element_type(x, target)), [x]


def clamp(rng, numbers):
    """Bounds as numbers or arrays, also crossed."""
    x = rng.choice([float_array, integer_array])(rng, numbers)
    low, high = x[rng.randrange(len(x))], x[rng.randrange(len(x))]
    if rng.random() < 0.5:
        low, high = x[::-1].copy(), np.roll(x, 3)
    return lax.clamp, [low, x, high]


def activation(rng, numbers):
    """Of networks, with their gradients."""
    names = "relu gelu silu softplus elu selu leaky_relu hard_swish sigmoid log_sigmoid"
    function = getattr(jax.nn, rng.choice(names.split()))
    x = (numbers.standard_normal(20) * 3).astype(np.float32)
    if rng.random() < 0.5:
        return jax.grad(lambda x: jnp.sum(function(x))), [x]
    return function, [x]


def select(rng, numbers):
    """Whole or by elements."""
    x = float_array(rng, numbers)
    flag = (
        np.array(rng.random() < 0.5)
        if rng.random() < 0.5
        else numbers.random(len(x)) < 0.5
    )
    return lax.select, [flag, x, x[::-1].copy()]


ELEMENTWISE = {
    "unary": unary,
    "binary": binary,
    "integer_unary": integer_unary,
    "integer_binary": integer_binary,
    "boolean": boolean,
    "convert": convert,
    "clamp": clamp,
    "activation": activation,
    "select": select,
}
