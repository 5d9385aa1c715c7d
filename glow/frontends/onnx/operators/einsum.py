"""Einsum as diagonals, sums, products and transposes.

A term of the equation names the axes of an operand; a name that the result has not is summed
over as soon as no other operand has it. Two operands at a time become one: a matrix product
over the names that end with them, or an element-wise one where none does.

    "bij,bjk->bik"  is a matmul
    "ii->i"         is a slice of every n + 1st element
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from string import ascii_letters

from xdsl.dialects.builtin import i32

from glow.dialects.errors import GlowError
from glow.dialects.glow import MatmulOp, MulOp, ReduceSumOp, SliceOp, is_integer
from glow.dialects.weight_table import dtype_of
from glow.frontends.onnx.node import OnnxNode, Operand, Value, element_type, shape
from glow.frontends.onnx.registry import onnx_op

DOTS = "..."


@dataclass(frozen=True)
class Term:
    """A value and the name of each of its axes, all different."""

    value: Operand
    names: tuple[str, ...]

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes by name."""
        return dict(zip(self.names, shape(self.value), strict=True))


def _split(text: str) -> list[str]:
    """The names of a term: letters, and dots for all axes that have none."""
    before, *after = text.split(DOTS)
    names = [*before, *([DOTS, *after[0]] if after else [])]
    if len(after) > 1 or not set(names) <= {*ascii_letters, DOTS}:
        raise GlowError(f"'{text}' is no list of letters with at most one ...")
    return names


def _spelled_out(names: Sequence[str], rank: int) -> list[str]:
    """The names with one for each axis behind the dots, counted from the last one."""
    if DOTS not in names:
        spelled = list(names)
    else:
        at, count = names.index(DOTS), rank - len(names) + 1
        dots = [f"{DOTS}{number}" for number in reversed(range(count))]
        spelled = [*names[:at], *dots, *names[at + 1 :]]
    if len(spelled) != rank:
        raise GlowError(f"the term '{''.join(names)}' is not one of rank {rank}")
    return spelled


def _result_names(given: str | None, terms: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The names of the result: without an arrow, those that stand once, in their order."""
    found = [name for term in terms for name in term]
    longest = max(([n for n in term if n.startswith(DOTS)] for term in terms), key=len)
    if given is None:
        once = sorted(n for n in found if n in ascii_letters and found.count(n) == 1)
        return (*longest, *once)
    names = _split(given)
    if DOTS in names:
        at = names.index(DOTS)
        names = [*names[:at], *longest, *names[at + 1 :]]
    for name in names:
        if name not in found or names.count(name) > 1:
            raise GlowError(f"the result's '{name}' is in no term, or there twice")
    return tuple(names)


class _Einsum:
    """The einsum of one node."""

    def __init__(self, node: OnnxNode) -> None:
        self.node = node

    def parse(self, equation: str) -> tuple[list[Term], tuple[str, ...]]:
        """The terms without repeated names, and the names of the result."""
        left, *right = "".join(equation.split()).split("->")
        values, parts = self.node.values(), left.split(",")
        if len(right) > 1:
            raise GlowError("it has several arrows")
        if len(parts) != len(values):
            raise GlowError(f"it has {len(parts)} terms for {len(values)} operands")
        spelled = [
            _spelled_out(_split(part), len(shape(value)))
            for part, value in zip(parts, values, strict=True)
        ]
        result = _result_names(right[0] if right else None, spelled)
        terms = [
            self._distinct(value, names)
            for value, names in zip(values, spelled, strict=True)
        ]
        return self._without_repeated(terms), result

    def _without_repeated(self, terms: Sequence[Term]) -> list[Term]:
        """The terms without axes of size 1 that are longer elsewhere."""
        whole: dict[str, int] = {}
        for name, size in (pair for term in terms for pair in term.sizes.items()):
            known = whole.get(name, 1)
            if 1 not in (known, size) and known != size:
                raise GlowError(f"'{name}' is {known} and {size}")
            whole[name] = size if known == 1 else known
        return [
            self._restricted(
                term, [n for n, size in term.sizes.items() if size == whole[n]]
            )
            for term in terms
        ]

    def _restricted(self, term: Term, names: Sequence[str]) -> Term:
        """The term without other names, whose axes have size 1."""
        sizes = term.sizes
        value = self.node.reshape(term.value, [sizes[name] for name in names])
        return Term(value, tuple(names))

    def _distinct(self, value: Operand, names: Sequence[str]) -> Term:
        """A term with each name once: the diagonal of axes that have one."""
        node = self.node
        names = list(names)
        while repeated := [name for name in names if names.count(name) > 1]:
            name, sizes = repeated[0], shape(value)
            first, second = [a for a, other in enumerate(names) if other == name][:2]
            size, rest = sizes[first], range(len(names))
            rest = [a for a in rest if a not in (first, second)]
            if sizes[second] != size:
                raise GlowError(f"'{name}' is {size} and {sizes[second]}")
            value = node.transpose(value, [*rest, first, second])
            kept = [sizes[a] for a in rest]
            value = node.reshape(value, (*kept, size * size))
            value = node.emit(
                SliceOp,
                value,
                starts=[0] * (len(kept) + 1),
                sizes=[*kept, size],
                steps=[*[1] * len(kept), size + 1],
            )
            names = [*(names[a] for a in rest), name]
        return Term(value, tuple(names))

    def summed(self, term: Term, wanted: Collection[str]) -> Term:
        """The term summed over the names that nobody wants any more."""
        axes = [axis for axis, name in enumerate(term.names) if name not in wanted]
        if not axes:
            return term
        value = self.node.emit(ReduceSumOp, term.value, axes=axes)
        return Term(value, tuple(name for name in term.names if name in wanted))

    def joined(self, left: Term, right: Term, wanted: Collection[str]) -> Term:
        """One term of two: their product, summed over what nobody wants any more."""
        sizes = {**left.sizes, **right.sizes}
        common = [name for name in left.names if name in right.names]
        batch = [name for name in common if name in wanted]
        summed = [name for name in common if name not in wanted]
        rows = [name for name in left.names if name not in common]
        columns = [name for name in right.names if name not in common]

        def matrices(term: Term, first: Sequence[str], then: Sequence[str]) -> Operand:
            order = [term.names.index(name) for name in (*batch, *first, *then)]
            flat = (prod(sizes[n] for n in names) for names in (batch, first, then))
            return self.node.reshape(self.node.transpose(term.value, order), [*flat])

        # Without a name to sum over this is a product of a column and a row.
        op_class = MatmulOp if summed else MulOp
        value: Operand = self.node.emit(
            op_class, matrices(left, rows, summed), matrices(right, summed, columns)
        )
        names = (*batch, *rows, *columns)
        return Term(self.node.reshape(value, [sizes[n] for n in names]), names)

    def compute(self, equation: str) -> Operand:
        """The result."""
        terms, result = self.parse(equation)
        while True:
            terms = [
                self.summed(term, {*result, *_names_of(_without(terms, [term]))})
                for term in terms
            ]
            if len(terms) == 1:
                break
            pair = min(
                combinations(terms, 2), key=lambda pair: _size(pair, result, terms)
            )
            others = _without(terms, pair)
            terms = [*others, self.joined(*pair, {*result, *_names_of(others)})]
        (term,) = terms
        return self._in_order(term, result)

    def _in_order(self, term: Term, result: Sequence[str]) -> Operand:
        """The value with its axes as the result names them; missing ones have size 1."""
        order = [term.names.index(name) for name in result if name in term.names]
        value = self.node.transpose(term.value, order)
        sizes = term.sizes
        return self.node.reshape(value, [sizes.get(name, 1) for name in result])


def _without(terms: Sequence[Term], some: Sequence[Term]) -> list[Term]:
    return [term for term in terms if not any(term is other for other in some)]


def _names_of(terms: Sequence[Term]) -> Iterator[str]:
    return (name for term in terms for name in term.names)


def _size(pair: tuple[Term, Term], result: Sequence[str], terms: Sequence[Term]) -> int:
    """The number of elements of what joins two terms."""
    wanted = {*result, *_names_of(_without(terms, pair))}
    sizes = {**pair[0].sizes, **pair[1].sizes}
    return prod(size for name, size in sizes.items() if name in wanted)


@onnx_op("Einsum")
def einsum(node: OnnxNode) -> Value:
    """Sums of products of what an equation names; narrow integers wrap."""
    equation, element = node.attr_string("equation", ""), element_type(node.value(0))
    narrow = is_integer(element) and dtype_of(element).itemsize < dtype_of(i32).itemsize
    operands = [node.convert(x, i32) if narrow else x for x in node.values()]
    inner = OnnxNode(node.proto, operands, node.graph, node.opset, frozenset())
    try:
        return node.convert(_Einsum(inner).compute(equation), element)
    except GlowError as error:
        raise GlowError(f"equation '{equation}': {error.message}") from None
