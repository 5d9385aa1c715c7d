"""Index values as affine forms: a constant plus coefficient times variable.

`arith.addi`, `arith.muli` and constants on `index` fold into these forms and emit no
code; a form becomes instructions only inside an address or where a plain i64 is needed.
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.ir import SSAValue


class AffineForm(NamedTuple):
    """`constant + sum(coefficient * variable)`; variables are i64 values of LLVM."""

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
