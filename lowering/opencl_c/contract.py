"""Rule for `vector.contract`: sums of products of narrow elements.

`acc[m, n, l] += a[m, k] * w[n, l, k]` with a short `k` (four bytes, two bf16), or, where each lane
has factors of its own, `acc[m, l] += a[m, k, l] * w[l, k]`: a product and a sum for each `k`.
Whole numbers are exact, so that this is bit for bit what other targets compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects import vector
from glow.lowering.loops_to_llvm.contract import verify_form
from glow.lowering.loops_to_llvm.contract_operands import iterators_of
from glow.lowering.loops_to_llvm.function_lowering import entry
from glow.lowering.loops_to_llvm.layout import integer_width, row_major
from glow.lowering.opencl_c.c_types import type_name
from glow.lowering.opencl_c.function_printer import FunctionPrinter, Rule
from glow.lowering.opencl_c.vectors import Lane, compose, lanes_of_row


class Factors:
    """The lanes of an operand by the numbers of its iterators."""

    def __init__(
        self, out: FunctionPrinter, value: SSAValue, iterators: Sequence[int]
    ) -> None:
        self.layout = out.layout(value)
        registers = out.registers(value)
        rows = range(self.layout.rows)
        self.rows = [lanes_of_row(self.layout, registers, row) for row in rows]
        self.iterators = iterators

    def lane(self, where: dict[int, int]) -> Lane:
        """The element at a place."""
        *outer, last = (where[iterator] for iterator in self.iterators)
        steps = row_major(self.layout.shape)
        row = sum(k * step for k, step in zip(outer, steps, strict=True))
        return self.rows[row][last]


def contract(out: FunctionPrinter, op: vector.ContractOp) -> None:
    lhs_map, rhs_map, acc_map = map(iterators_of, op.indexing_maps)
    verify_form(op, lhs_map, rhs_map, acc_map)
    lhs, rhs = Factors(out, op.lhs, lhs_map), Factors(out, op.rhs, rhs_map)
    (depth,) = {*rhs_map} - {*acc_map}
    steps = range(rhs.layout.width)
    layout, texts = out.layout(op.acc), list[str]()
    places = product(*map(range, layout.shape))
    accumulators = iter(out.registers(op.acc))
    for place in places:
        for first, count in layout.chunks:
            text = next(accumulators)
            for k in steps:
                where = [
                    dict(zip(acc_map, (*place, lane), strict=True)) | {depth: k}
                    for lane in range(first, first + count)
                ]
                a, w = (
                    variable(out, each, [each.lane(one) for one in where])
                    for each in (lhs, rhs)
                )
                text = added(out, layout.element, text, a, w)
            texts.append(text)
    out.define(op.result, texts)


def variable(out: FunctionPrinter, factors: Factors, lanes: Sequence[Lane]) -> str:
    """A register out of lanes."""
    element = factors.layout.element
    if len(set(lanes)) == 1 and len(lanes) > 1:
        scalar = compose(element, lanes[:1])
        return f"({type_name(element, len(lanes))})({scalar})"
    return compose(element, lanes)


def added(out: FunctionPrinter, element: Attribute, total: str, a: str, w: str) -> str:
    """A sum with a product."""
    if integer_width(element) or not out.has_fma:
        return f"{total} + {a} * {w}"
    return f"fma({a}, {w}, {total})"


RULES: dict[type[Operation], Rule] = dict([entry(vector.ContractOp, contract)])
