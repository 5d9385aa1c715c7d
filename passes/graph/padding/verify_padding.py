"""Whether inputs may be padded with zeros: whether all that is kept stays as it is.

Arguments, and constants that depend on a padded size, say which of their axes are padded. The
pass follows them to the results, which say it then; a node that mixes what stands beyond the end
of an axis with what stands before it is an error that names both.

    func.func @main(%x: tensor<2x8xf32> {glow.padded_axes = array<i64: 0>}, ...)
      -> (tensor<2x4xf32>) {
      %y = glow.matmul %x, %w : tensor<2x4xf32>
      %z = glow.reduce_sum %y axes [0] : tensor<4xf32>     error: reduces axis 0
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from glow.dialects.errors import GlowError
from glow.dialects.locations import place_of
from glow.dialects.node import NodeOp, node_name
from glow.passes.graph.padding.padded_value import (
    MarkedAxis,
    PaddedValue,
    padded_input,
)
from glow.passes.graph.padding.placing import Mask, PaddingError, marked_axes, marks
from glow.passes.graph.padding.relative_shifts import (
    RelativeShift,
    moved_by_distance,
    relative_shifts,
)
from glow.passes.graph.padding.rules import Rule, padded_results
from glow.passes.rewriting.contract import GraphPass

PaddedValues = dict[SSAValue, PaddedValue]


class Masker(Protocol):
    """Who makes nodes not see padding, where that can be done."""

    def mask(self, op: NodeOp, mask: Mask, found: PaddedValues) -> None:
        """Put a number beyond the end of an operand's axis."""
        ...

    def replaces(self, op: NodeOp, found: PaddedValues) -> bool:
        """Whether a node has been taken care of, results and all."""
        ...


def follow_padding(function: FuncOp, masker: Masker | None = None) -> PaddedValues:
    """The padding of all values of a function; raises GlowError where it changes a result.

    With a masker nodes that would see padding get operands that are masked.
    """
    arguments = zip(function.body.block.args, argument_axes(function), strict=True)
    found: PaddedValues = {one: padded_input(one, axes) for one, axes in arguments}
    shifts = {shift.parts[0]: shift for shift in relative_shifts(function)}
    moved: set[Operation] = set()
    for op in list(function.body.block.ops):
        if isinstance(op, ReturnOp):
            _check_results(op, found)
        elif op in moved:
            continue
        elif isinstance(op, NodeOp) and not op.regions:
            if (shift := shifts.get(op)) and _moves(shift, found):
                moved.update(shift.parts)
            elif not (masker and masker.replaces(op, found)):
                results = results_of(op, found, masker)
                found.update(zip(op.results, results, strict=True))
        else:
            _check_unpadded(op, found)
            found.update((result, PaddedValue()) for result in op.results)
    return found


def _moves(shift: RelativeShift, found: PaddedValues) -> bool:
    """Whether nodes move distances to words, what is between them being nobody else's."""
    result = moved_by_distance(shift, found)
    if result is None:
        return False
    found.update((part.results[0], PaddedValue()) for part in shift.parts)
    found[shift.parts[-1].results[0]] = result
    return True


def results_of(
    op: NodeOp,
    found: PaddedValues,
    masker: Masker | None = None,
    rule: Rule = padded_results,
) -> Sequence[PaddedValue]:
    """The results of a node whose operands are known."""
    done: set[Mask] = set()
    while True:
        try:
            return rule(op, [found[operand] for operand in op.inputs])
        except PaddingError as error:
            if masker is None or done.issuperset(error.masks):
                raise
            done.update(error.masks)
            for mask in error.masks:
                masker.mask(op, mask, found)


def argument_axes(function: FuncOp) -> list[dict[int, MarkedAxis]]:
    """The padded axes of each argument."""
    given = function.arg_attrs
    if given is None:
        return [{}] * len(function.body.block.args)
    return [marked_axes(each.data) for each in given]


def set_axes(
    function: FuncOp, axes: Sequence[Mapping[int, MarkedAxis]], of: str
) -> None:
    """Write the padded axes of arguments (`arg_attrs`) or results (`res_attrs`)."""
    if any(axes):
        function.properties[of] = ArrayAttr(DictionaryAttr(marks(one)) for one in axes)


def _check_unpadded(op: Operation, found: PaddedValues) -> None:
    """Refuse operations with regions, and others that are no nodes, on what is padded."""
    for value in [operand for inner in op.walk() for operand in inner.operands]:
        for axis in found[value].axes if value in found else ():
            raise GlowError(
                f"padding changes results: {op.name} is not known to leave padding alone "
                f"on axis {axis}, which is padded",
                node=node_name(op),
                location=place_of(op),
            )


def _check_results(op: ReturnOp, found: PaddedValues) -> None:
    """Refuse results of which what is kept is not one piece."""
    for number, value in enumerate(op.operands):
        for axis, form in found[value].axes.items():
            if form.is_open or form.around:
                raise GlowError(
                    f"how much of axis {axis} of result {number} is padding is not known",
                    location=place_of(op),
                )
            if not form.merged.is_plain:
                raise GlowError(
                    f"padding changes results: axis {axis} of result {number} has "
                    f"padding between elements that are kept",
                    location=place_of(op),
                )


def mark_results(function: FuncOp, found: PaddedValues) -> None:
    """Write the padded axes of the results of a function, as far as marks tell them."""
    last = function.body.block.last_op
    forms = [
        {axis: form.merged for axis, form in found[value].axes.items()}
        for value in (last.operands if last else ())
    ]
    axes = [
        {
            axis: MarkedAxis(form.at_front, form.shrinking.multiplier)
            for axis, form in one.items()
            if form.shrinking.divisor == 1
        }
        for one in forms
    ]
    set_axes(function, axes, "res_attrs")


class VerifyPaddingPass(GraphPass):
    """Follow the padding of arguments to the results."""

    name = "verify-padding"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        for function in op.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                mark_results(function, follow_padding(function))
