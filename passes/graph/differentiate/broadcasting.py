"""Undoes broadcasting, in one place: a gradient gets the shape of the value that it is of.

    %y = glow.add %x, %bias : tensor<8x4xf32>              // %bias : tensor<4xf32>
    %bias.grad = glow.reduce_sum %y.grad axes [0] : tensor<4xf32>

A gradient may itself be smaller than what it stands for, such as one number for all
elements; then a number of equal terms is a product.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from glow.dialects.node import shape_of
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder


def reduce_to(
    builder: GradientBuilder,
    gradient: SSAValue,
    computed: Sequence[int],
    wanted: Sequence[int],
) -> SSAValue:
    """The sum of a gradient over the axes along which a value was repeated.

    The value of shape `wanted` was repeated to `computed`, to which the gradient broadcasts.
    The result broadcasts to `wanted`.
    """
    repeated = repeated_axes(computed, wanted)
    shape = shape_of(gradient)
    absent = len(computed) - len(shape)
    present = [axis for axis in repeated if axis >= absent and shape[axis - absent] > 1]
    equal_terms = prod(computed[axis] for axis in repeated if axis not in present)
    axes = [axis - absent for axis in present]
    leading = axes == list(range(len(axes)))
    total = builder.sum(gradient, axes, keepdims=not leading)
    total = builder.scale(total, equal_terms)
    surplus = len(shape_of(total)) - len(wanted)
    return builder.reshape(total, shape_of(total)[max(surplus, 0) :])


def repeated_axes(computed: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """The axes of `computed` that a value of shape `wanted` lacks, or where it has size 1."""
    missing = len(computed) - len(wanted)
    return [
        axis
        for axis, size in enumerate(computed)
        if axis < missing or (wanted[axis - missing] == 1 and size != 1)
    ]
