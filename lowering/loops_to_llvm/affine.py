"""Index values as affine forms: a constant plus coefficient times variable.

`arith.addi`, `arith.muli` and constants on `index` fold into these forms and emit no
code; a form becomes instructions only inside an address or where a plain i64 is needed.
The walks to LLVM and to OpenCL C share them, and the rules by which they fold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, SSAValue

from glow.dialects import arith


class AffineForm(NamedTuple):
    """`constant + sum(coefficient * variable)`; variables are values of the walk."""

    constant: int
    terms: tuple[tuple[SSAValue, int], ...] = ()

    @property
    def is_constant(self) -> bool:
        """Whether the form has no variable part."""
        return not self.terms

    def plus(self, other: AffineForm, factor: int = 1) -> AffineForm:
        """Returns `self + factor * other`."""
        constant = self.constant + factor * other.constant
        if not other.terms:
            return AffineForm(constant, self.terms)
        coefficients = dict(self.terms)
        for variable, coefficient in other.terms:
            total = coefficients.get(variable, 0) + factor * coefficient
            coefficients[variable] = total
        terms = tuple(term for term in coefficients.items() if term[1])
        return AffineForm(constant, terms)

    def times(self, factor: int) -> AffineForm:
        """Returns `factor * self`."""
        if factor == 0:
            return ZERO
        terms = tuple((variable, factor * k) for variable, k in self.terms)
        return AffineForm(factor * self.constant, terms)


ZERO = AffineForm(0)


def variable(value: SSAValue) -> AffineForm:
    """Returns the form that is one variable."""
    return AffineForm(0, ((value, 1),))


# Folding -----------------------------------------------------------------------------


class IndexWalk(Protocol):
    """A walk over a function that knows the affine form of each index."""

    indices: dict[SSAValue, AffineForm]

    def index(self, value: SSAValue) -> AffineForm:
        """Returns the affine form of an index value."""
        ...


Fold = Callable[[AffineForm, AffineForm], AffineForm | None]


def is_index(op: Operation) -> bool:
    """Whether the op's first result is an index."""
    return type(op.results[0].type) is IndexType


def difference(lhs: AffineForm, rhs: AffineForm) -> AffineForm:
    return lhs.plus(rhs, -1)


def product(lhs: AffineForm, rhs: AffineForm) -> AffineForm | None:
    """The product where one factor is constant."""
    if lhs.is_constant:
        return rhs.times(lhs.constant)
    return lhs.times(rhs.constant) if rhs.is_constant else None


def of_constants(function: Callable[[int, int], int]) -> Fold:
    """Folds two constants, so that the loops that they bound stay static."""

    def fold(lhs: AffineForm, rhs: AffineForm) -> AffineForm | None:
        if not (lhs.is_constant and rhs.is_constant):
            return None
        return AffineForm(function(lhs.constant, rhs.constant))

    return fold


FOLDS: Mapping[str, Fold] = {
    arith.AddiOp.name: AffineForm.plus,
    arith.SubiOp.name: difference,
    arith.MuliOp.name: product,
    arith.MinSIOp.name: of_constants(min),
    arith.MaxSIOp.name: of_constants(max),
    arith.AndIOp.name: of_constants(int.__and__),
    arith.OrIOp.name: of_constants(int.__or__),
}
"""By name, as xDSL's own classes of `arith` fold too."""


def fold_index(walk: IndexWalk, op: Operation) -> bool:
    """Records the form of an index result where it has one; tells whether it has."""
    fold = FOLDS.get(op.name) if is_index(op) else None
    if fold is None:
        return False
    form = fold(*map(walk.index, op.operands))
    if form is None:
        return False
    walk.indices[op.results[0]] = form
    return True
