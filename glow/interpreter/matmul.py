"""Matrix products; sums accumulate in float64 (see `convolution.exact`)."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from glow.dialects.glow import FullyConnectedOp, GemmOp, LuOp, MatmulOp
from glow.dialects.node import GlowOp
from glow.interpreter.arrays import Array, exact, widen
from glow.interpreter.convolution import activate
from glow.interpreter.scalar_functions import Function


def product(op: GlowOp, lhs: Array, rhs: Array) -> Array:
    """`lhs x rhs` over the last two axes, transposed as the properties say."""
    attributes = op.attributes_view()
    if attributes.has("transpose_lhs"):
        lhs = np.swapaxes(lhs, -1, -2)
    if attributes.has("transpose_rhs"):
        rhs = np.swapaxes(rhs, -1, -2)
    return exact(lhs) @ exact(rhs)


def run_fully_connected(
    op: GlowOp, x: Array, weights: Array, bias: Array | None = None
) -> Array:
    """`glow.fully_connected`."""
    result = exact(x) @ exact(weights)
    if bias is not None:
        result = result + exact(bias)
    return activate(op.attributes_view(), result)


def run_gemm(op: GlowOp, lhs: Array, rhs: Array, addend: Array | None = None) -> Array:
    """`glow.gemm`."""
    attributes = op.attributes_view()
    result = scaled(product(op, lhs, rhs), attributes.float("alpha"))
    if addend is not None:
        result = result + scaled(exact(addend), attributes.float("beta"))
    return result


def scaled(array: Array, factor: float) -> Array:
    """The product with a factor; whole factors leave integers what they are."""
    whole = array.dtype.kind in "iu" and factor.is_integer()
    return array * (int(factor) if whole else factor)


def run_lu(op: GlowOp, x: Array) -> tuple[Array, Array]:
    """`glow.lu`: all matrices at once, column by column."""
    factors = widen(x).copy()
    size, sign = x.shape[-1], np.ones(x.shape[:-2])
    for k in range(size):
        column = np.abs(factors[..., k:, k])
        rows = k + np.argmax(np.where(np.isnan(column), -1, column), axis=-1)
        chosen = rows[..., None, None]
        upper = factors[..., k : k + 1, :].copy()
        lower = np.take_along_axis(factors, chosen, axis=-2)
        np.put_along_axis(factors, chosen, upper, axis=-2)
        factors[..., k : k + 1, :] = lower
        sign = np.where(rows == k, sign, -sign)
        pivot = factors[..., k : k + 1, k]
        below = factors[..., k + 1 :, k]
        below = np.where(pivot == 0, below, below / pivot)
        factors[..., k + 1 :, k] = below
        change = below[..., :, None] * factors[..., k : k + 1, k + 1 :]
        factors[..., k + 1 :, k + 1 :] -= np.where(pivot[..., None] == 0, 0, change)
    return factors, sign


NODES: dict[type[Operation], Function] = {
    MatmulOp: product,
    FullyConnectedOp: run_fully_connected,
    GemmOp: run_gemm,
    LuOp: run_lu,
}
