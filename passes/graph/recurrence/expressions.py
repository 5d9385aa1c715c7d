"""What a cell computes for its units: functions of sums of products with weights.

A unit's expression is the same for all units but for the columns of weights that it reads, so
an expression stands for a range of columns; slices and concatenations are gone in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow


@dataclass(frozen=True)
class Number:
    """One number."""

    value: float


@dataclass(frozen=True)
class State:
    """A state of the loop, by its place among those that it carries."""

    index: int


@dataclass(frozen=True)
class Sequence:
    """The element of a step: of `value`, moved as the operations of `path` move the outcome of
    a product with it.
    """

    value: SSAValue
    path: tuple[Operation, ...] = ()


@dataclass(frozen=True)
class Weights:
    """A part of a value that stays the same: columns, and rows unless it is a bias."""

    value: SSAValue
    columns: tuple[int, int]
    rows: tuple[int, int] | None = None
    is_transposed: bool = False


@dataclass(frozen=True)
class Affine:
    """Products with weights, biases and numbers, added up."""

    products: tuple[tuple[Expression, Weights], ...] = ()
    biases: tuple[Weights, ...] = ()
    number: float = 0.0


@dataclass(frozen=True)
class Apply:
    """A node of one or two operands."""

    op_class: type[Operation]
    operands: tuple[Expression, ...]


Expression = Number | State | Sequence | Affine | Apply

Numbers = NDArray[np.float64]


def sigmoid(x: Numbers) -> Numbers:
    """The logistic function."""
    return 1 / (1 + np.exp(-x))


FUNCTIONS: Mapping[type[Operation], Callable[..., Numbers]] = {
    glow.AddOp: np.add,
    glow.DivOp: np.divide,
    glow.ExpOp: np.exp,
    glow.MulOp: np.multiply,
    glow.NegOp: np.negative,
    glow.SigmoidOp: sigmoid,
    glow.SubOp: np.subtract,
    glow.TanhOp: np.tanh,
}
"""Analytic functions only: two of them that agree at random places are the same."""


def total(lhs: Expression, rhs: Expression) -> Expression:
    """The sum, in which there is at most one affine addend, the first one."""
    affine, others = Affine(), list[Expression]()
    for one in (*addends(lhs), *addends(rhs)):
        match one:
            case Affine(products, biases, number):
                affine = Affine(
                    affine.products + products,
                    affine.biases + biases,
                    affine.number + number,
                )
            case Number(number):
                affine = Affine(affine.products, affine.biases, affine.number + number)
            case _:
                others.append(one)
    is_number = not (affine.products or affine.biases)
    first = Number(affine.number) if is_number else affine
    result: Expression | None = None if first == Number(0) else first
    for other in others:
        result = other if result is None else Apply(glow.AddOp, (result, other))
    return first if result is None else result


def addends(expression: Expression) -> Iterator[Expression]:
    """The terms of a sum; itself where it is none."""
    if isinstance(expression, Apply) and expression.op_class is glow.AddOp:
        for operand in expression.operands:
            yield from addends(operand)
    else:
        yield expression


def leaves(expression: Expression) -> Iterator[Expression]:
    """The affine sums and the states that an expression reads."""
    if isinstance(expression, Apply):
        for operand in expression.operands:
            yield from leaves(operand)
    elif not isinstance(expression, Number):
        yield expression


def evaluate(expression: Expression, numbers: Mapping[Expression, Numbers]) -> Numbers:
    """An expression where leaves have these numbers, f64."""
    match expression:
        case Number(value):
            return np.asarray(value)
        case Apply(op_class, operands):
            found = [evaluate(operand, numbers) for operand in operands]
            return FUNCTIONS[op_class](*found)
        case _:
            return numbers[expression]
