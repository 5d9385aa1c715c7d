"""Random weights to start a training from.

Weights of products and convolutions are drawn, biases are set to zero; scales and statistics
of normalizations stay. Each weight has a generator of the seed and its name, so that it does not
depend on what else a network has.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.glow.state import VariableOp
from glow.dialects.node import shape_of
from glow.dialects.weight_table import Array

KEEP = "keep"


@dataclass(frozen=True)
class Fan:
    """How many numbers go into a sum of products, and how many sums one number goes into."""

    inputs: int
    outputs: int


def xavier(fan: Fan) -> float:
    """The deviation of Glorot and Bengio 2010, "Understanding the difficulty", equation 16."""
    return math.sqrt(2.0 / (fan.inputs + fan.outputs))


def kaiming(fan: Fan) -> float:
    """The deviation of He et al. 2015, "Delving deep into rectifiers", equation 10."""
    return math.sqrt(2.0 / fan.inputs)


DEVIATIONS: dict[str, Callable[[Fan], float]] = {"xavier": xavier, "kaiming": kaiming}


def check_initialization(name: str) -> None:
    """Raise GlowError for an unknown way to begin."""
    if name != KEEP and name not in DEVIATIONS:
        raise GlowError(
            f"unknown initialization '{name}'",
            hint=f"one of {', '.join((KEEP, *DEVIATIONS))}",
        )


def draw(function: FuncOp, how: str, seed: int) -> dict[str, Array]:
    """New values of a function's variables by name: drawn weights, and zeros for biases."""
    values: dict[str, Array] = {}
    if how == KEEP:
        return values
    for op in function.walk():
        if not isinstance(op, VariableOp):
            continue
        name, shape = op.variable_name, shape_of(op.result)
        fan = fan_of(op.result)
        if fan is not None:
            key = zlib.crc32(name.encode())
            generator = np.random.default_rng((seed, key))
            drawn = generator.standard_normal(shape) * DEVIATIONS[how](fan)
            values[name] = drawn.astype(np.float32)
        elif is_bias(op.result):
            values[name] = np.zeros(shape, np.float32)
    return values


def fan_of(value: SSAValue) -> Fan | None:
    """The fan of a weight of a product or convolution, also behind transposes."""
    for use in value.uses:
        fan = _fan_at(use.operation, use.index, shape_of(value))
        if fan is not None:
            return fan
        if isinstance(use.operation, glow.TransposeOp | glow.ReshapeOp):
            behind = fan_of(use.operation.results[0])
            if behind is not None:
                return behind
    return None


def _fan_at(op: Operation, index: int, shape: tuple[int, ...]) -> Fan | None:
    if index != 1 or len(shape) < 2:
        return None
    rows, columns = shape[-2:]
    window = math.prod(shape[2:])
    if isinstance(op, glow.Conv2dOp | glow.Conv3dOp):
        return Fan(shape[1] * window, shape[0] * window)
    if isinstance(op, glow.ConvTranspose2dOp | glow.ConvTranspose3dOp):
        return Fan(shape[0] * window, shape[1] * window)
    if isinstance(op, glow.GemmOp | glow.MatmulOp | glow.FullyConnectedOp):
        is_transposed = isinstance(op, glow.GemmOp) and op.transpose_rhs is not None
        return Fan(columns, rows) if is_transposed else Fan(rows, columns)
    return None


def is_bias(value: SSAValue) -> bool:
    """Whether a vector is added to something."""
    if len(shape_of(value)) != 1:
        return False
    return any(
        isinstance(use.operation, glow.AddOp)
        or (
            use.index == 2
            and isinstance(
                use.operation, glow.Conv2dOp | glow.FullyConnectedOp | glow.GemmOp
            )
        )
        for use in value.uses
    )
