"""Masks, so that no node sees padding: a program for many sizes of one input.

Where `verify-padding` would refuse a node, its operand gets what the node does not see, beyond an
end that the program is told: it takes how many elements of the size are padding.

    func.func @main(%x: tensor<1x4x8x12xf32> {glow.padded_axes = array<i64: 3>}) {
      %y = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<1x4x8x12xf32>
      %z = glow.softmax %y axis 3 : tensor<1x4x8x12xf32>

    func.func @main(%x: ..., %padding: tensor<1xi64>) {
      %length = glow.sub %12, %padding : tensor<1xi64>
      %inside = glow.less %places, %length : tensor<12xi1>             places 0, 1, 2, ...
      %y = glow.conv2d %x, %w pads [1, 1, 1, 1]                        its input ends in zeros
      %masked = glow.select %inside, %y, %lowest
      %z = glow.softmax %masked axis 3

A mean over a padded axis is one of zeros beyond the end, times padded over kept elements. Layers
that go on over a sequence get gates that keep the state beyond its end (`mask_steps.py`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.hints import isa

from glow.dialects import glow
from glow.dialects.attributes import array_values, ints_attr
from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import COUNTS, FROM_END, INPUT_NAMES
from glow.dialects.glow.recurrent import RecurrentOp
from glow.dialects.node import NodeOp, element_of, node_name, shape_of, tensor_type
from glow.dialects.weight_table import dtype_of
from glow.passes.graph.padding.counts import count_of, counted
from glow.passes.graph.padding.element_range import MODERATE
from glow.passes.graph.padding.lookup_rules import (
    LOOKUPS,
    moved_results,
    padded_places,
)
from glow.passes.graph.padding.mask_lookups import move_indices
from glow.passes.graph.padding.mask_pads import mirrored, take_pads
from glow.passes.graph.padding.mask_steps import is_seen, keep_states
from glow.passes.graph.padding.padded_value import PaddedAxis, PaddedValue
from glow.passes.graph.padding.placing import Mask, refusal
from glow.passes.graph.padding.product_rules import has_masked_keys, padded_keys
from glow.passes.graph.padding.rules import reduced, sequence_of
from glow.passes.graph.padding.verify_padding import (
    PaddedValues,
    argument_axes,
    follow_padding,
    mark_results,
    results_of,
)
from glow.passes.graph.padding.window_rules import averaged, global_axes
from glow.passes.rewriting.contract import MEANING, GraphPass
from glow.passes.rewriting.node_builder import NodeBuilder

PADDING = "padding"
"""The name of the argument, where no other is given."""


class Masks:
    """Masks operands beyond the end of their axes, which an argument tells."""

    def __init__(self, function: FuncOp, padding: SSAValue) -> None:
        """`padding` is a tensor<1xi64> of steps of padding."""
        first = function.body.block.first_op
        assert first is not None
        self.padding = padding
        self._start = NodeBuilder(first)
        self._lengths: dict[PaddedAxis, SSAValue] = {}
        self._insides: dict[tuple[PaddedAxis, int], SSAValue] = {}

    def mask(self, op: NodeOp, mask: Mask, found: PaddedValues) -> None:
        """Put a number, or its last element, beyond the end of an operand's axis."""
        value = op.inputs[mask.operand]
        padded = found[value]
        form = padded.axes[mask.axis]
        inside = self._inside(form, len(shape_of(value)) - 1 - mask.axis)
        builder = NodeBuilder(op)
        if mask.number is None:
            other = self._last_element(op, value, mask.axis, form)
            known = padded.repeating(mask.axis)
        else:
            other = builder.splat(_number(mask.number, value), element_of(value))
            known = padded.masked(mask.axis, mask.number)
        masked = builder.node(glow.SelectOp, inside, value, other)
        found[masked] = known
        op.operands[mask.operand] = masked

    def _last_element(
        self, op: NodeOp, value: SSAValue, axis: int, form: PaddedAxis
    ) -> SSAValue:
        """The element before the end of an axis, which has one then."""
        if not form.merged.is_plain:
            raise refusal(op, axis, "repeats the last element of")
        builder = NodeBuilder(op)
        one = builder.splat(1, i64)
        place = builder.node(glow.SubOp, self._length(form.merged), one)
        return builder.node(glow.GatherOp, value, place, axis=axis)

    def replaces(self, op: NodeOp, found: PaddedValues) -> bool:
        """Whether a node is a mean over padded axes, or a layer that sees padded steps."""
        if isinstance(op, glow.ReduceMeanOp | glow.AvgPool2dOp):
            return self._replaces_mean(op, found)
        if isinstance(op, RecurrentOp):
            return self._replaces_layer(op, found)
        if isinstance(op, glow.AttentionOp):
            return self._replaces_attention(op, found)
        if type(op) in LOOKUPS:
            return self._replaces_lookup(op, found)
        if isinstance(op, glow.SplatOp) and COUNTS in op.attributes:
            return self._replaces_count(op, found)
        if isinstance(op, glow.MatmulOp):
            self._let_be_finite(op, found)
        if isinstance(op, glow.SliceOp):
            self._look_up_ends(op, found)
        if isinstance(op, glow.PadOp):
            self._mirror(op, found)
        return False

    def _replaces_mean(
        self, op: glow.ReduceMeanOp | glow.AvgPool2dOp, found: PaddedValues
    ) -> bool:
        is_pool = isinstance(op, glow.AvgPool2dOp)
        over = global_axes(op) if is_pool else op.attributes_view().ints("axes")
        axes = sorted(set(over) & set(found[op.input].axes))
        if not axes or not is_float(op.result):
            return False
        for axis in axes:
            if found[op.input].beyond[axis].number != 0:
                self.mask(op, Mask(0, axis, 0.0), found)
        value = found[op.input]
        result = averaged(op, value) if is_pool else reduced(op, value)
        mean = self._rescaled(op.result, [value.axes[axis] for axis in axes])
        found[op.result] = found[mean] = result
        return True

    def _replaces_layer(self, op: RecurrentOp, found: PaddedValues) -> bool:
        value = found[op.input]
        form = value.axes.get(0)
        if form is None or not is_seen(op):
            return False
        if not form.is_plain or len(value.axes) > 1:
            raise refusal(op, 0, "goes on over")
        if not value.outside.is_finite:
            self.mask(op, Mask(0, 0, 0.0), found)
        new, last = keep_states(op, self._inside(form, 2), self._length(form))
        for old, other in zip(op.results, [new.sequence, *last], strict=True):
            old.replace_all_uses_with(other)
            found[old] = found[other] = PaddedValue()
        found[op.sequence] = found[new.sequence] = sequence_of(form)
        return True

    def _replaces_attention(self, op: glow.AttentionOp, found: PaddedValues) -> bool:
        """Attention whose keys are padding for some queries: a mask hides them from all."""
        operands = [found[operand] for operand in op.inputs]
        form = padded_keys(op, operands)
        if form is None or has_masked_keys(op, operands):
            return False
        builder, element = NodeBuilder(op), element_of(op.result)
        given = op.mask if op.mask is not None else builder.splat(0.0, element)
        lowest = builder.splat(float("-inf"), element)
        mask = builder.node(glow.SelectOp, self._inside(form, 0), given, lowest)
        known = found.get(given, PaddedValue())
        last, shift = (
            len(shape_of(mask)) - 1,
            len(shape_of(mask)) - len(shape_of(given)),
        )
        known = known.shifted(shift) if shape_of(given) else known
        axes = {**known.axes, last: form}
        found[mask] = replace(known, axes=axes).masked(last, float("-inf"))
        new = builder.node(
            glow.AttentionOp,
            *(op.queries, op.keys, op.values, mask),
            scale=op.attributes_view().float("scale"),
        )
        assert isinstance(new.owner, NodeOp)
        op.result.replace_all_uses_with(new)
        found[op.result] = found[new] = results_of(new.owner, found, self)[0]
        return True

    def _replaces_lookup(self, op: NodeOp, found: PaddedValues) -> bool:
        """Lookups on a padded axis by indices that may be of its end."""
        source = found[op.inputs[0]]
        padded = padded_places(op, source, found[op.inputs[1]])
        if not padded:
            return False
        for axis, beyond in found[op.inputs[1]].beyond.items():
            if beyond.number != 0:
                self.mask(op, Mask(1, axis, 0.0), found)
        indices = found[op.inputs[1]]
        for axis, column in padded.items():
            form = self._plain(op, axis, source)
            move_indices(op, form.size, self._length(form), column)
            found[op.inputs[1]] = indices
        results = results_of(op, found, self, moved_results)
        found.update(zip(op.results, results, strict=True))
        return True

    def _replaces_count(self, op: glow.SplatOp, found: PaddedValues) -> bool:
        """A number of elements is that of those that are kept."""
        shorter, added = array_values(cast(DenseArrayBase, op.attributes[COUNTS]))
        values = (form for value in found.values() for form in value.axes.values())
        forms = [form._replace(outer=1, inner=1) for form in values if not form.around]
        known = count_of(op, shorter, int(added), forms)
        if known is None:
            message = f"{op.name} has other contents for other sizes"
            raise GlowError(message, node=node_name(op))
        form, count = known
        number = counted(op, count, self._length(form))
        op.result.replace_all_uses_with(number)
        found[op.result] = found[number] = PaddedValue(inside=MODERATE)
        return True

    def _mirror(self, op: glow.PadOp, found: PaddedValues) -> None:
        """Mirror padded axes by themselves, where what is kept of them ends."""
        view, rank = op.attributes_view(), len(shape_of(op.result))
        pads = view.ints("pads")
        for axis in found[op.input].axes if view.string("mode") == "reflect" else ():
            if min(pads[axis], pads[axis + rank]) < 0 or not any(pads[axis::rank]):
                continue
            value = found[op.input]
            form = self._plain(op, axis, value)
            mirror = mirrored(op, axis, take_pads(op, axis), self._length(form))
            axes = {**value.axes, axis: form._replace(size=shape_of(mirror)[axis])}
            whole = value.everywhere
            beyond = dict.fromkeys(axes, whole)
            found[mirror] = PaddedValue(axes, value.inside, beyond, whole)
            op.operands[0] = mirror

    def _plain(self, op: NodeOp, axis: int, value: PaddedValue) -> PaddedAxis:
        """The form of a padded axis, all that is kept of which comes first."""
        form = value.axes[axis].merged
        if not form.is_plain:
            raise refusal(op, axis, "looks up elements of")
        return form

    def _let_be_finite(self, op: glow.MatmulOp, found: PaddedValues) -> None:
        """Mask factors that may be NaN or infinite beyond an end.

        Scores of such keys are hidden by adding to them where attention becomes one node.
        """
        for number, operand in enumerate(op.inputs):
            for axis, beyond in found[operand].beyond.items():
                if not beyond.is_finite:
                    self.mask(op, Mask(number, axis, 0.0), found)

    def _look_up_ends(self, op: glow.SliceOp, found: PaddedValues) -> None:
        """Look up what is near the end of an axis before a slice takes parts of others."""
        for axis in axes_from_end(op):
            value = found[op.input]
            if axis in value.axes:
                form = value.axes[axis].merged
                if not form.is_plain:
                    raise refusal(op, axis, "takes the end of")
                last = self._from_end(op, axis, self._length(form))
                kept = {other: other for other in value.axes if other != axis}
                found[last] = value.moved(kept)
                op.operands[0] = last

    def _from_end(self, op: glow.SliceOp, axis: int, length: SSAValue) -> SSAValue:
        """The elements that a slice takes of an axis, which it takes all of then."""
        builder, view = NodeBuilder(op), op.attributes_view()
        starts, steps = list(view.ints("starts")), list(view.ints("steps"))
        behind = shape_of(op.input)[axis] - starts[axis]
        count = np.arange(view.ints("sizes")[axis], dtype=np.int64)
        offsets = count * steps[axis] - behind
        constant = builder.constant(offsets, "from_end")
        places = builder.node(glow.AddOp, length, constant)
        starts[axis], steps[axis] = 0, 1
        op.starts, op.steps = ints_attr(*starts), ints_attr(*steps)
        return builder.node(glow.GatherOp, op.input, places, axis=axis)

    def _rescaled(self, mean: SSAValue, forms: list[PaddedAxis]) -> SSAValue:
        """The mean of what is before the ends, of one that has zeros beyond them."""
        assert isinstance(mean.owner, Operation)
        following = mean.owner.next_op
        assert following is not None
        builder, element = NodeBuilder(following), element_of(mean)
        uses = list(mean.uses)
        types = [tensor_type((1,), element)]
        for form in forms:
            whole, operands = builder.splat(form.size, element), [self._length(form)]
            length = builder.create(glow.ConvertOp, operands, {}, types=types)
            ratio = builder.node(glow.DivOp, whole, length)
            ratio = builder.reshape(ratio, () if not shape_of(mean) else (1,))
            mean = builder.node(glow.MulOp, mean, ratio)
        for use in uses:
            use.operation.operands[use.index] = mean
        return mean

    def _length(self, form: PaddedAxis) -> SSAValue:
        """How many elements of the padded axis are kept, a tensor<1xi64>."""
        form = form._replace(outer=1, inner=1)
        if form.is_open or form.around:
            raise GlowError("how much of a constant is padding is not known")
        if form not in self._lengths:
            build, (multiplier, divisor, remainder) = self._start, form.shrinking
            steps = build.node(glow.MulOp, self.padding, self._number(multiplier))
            whole = self._number(form.size * divisor + remainder)
            rest = build.node(glow.SubOp, whole, steps)
            self._lengths[form] = build.node(glow.DivOp, rest, self._number(divisor))
        return self._lengths[form]

    def _number(self, number: int) -> SSAValue:
        return self._start.splat(number, i64)

    def _inside(self, form: PaddedAxis, below: int) -> SSAValue:
        """Whether elements are kept, on an axis with so many others behind it."""
        key = form, below
        if key not in self._insides:
            extent = form.outer * form.size * form.inner
            places = np.arange(extent, dtype=np.int64) // form.inner % form.size
            shape = (extent, *[1] * below)
            constant = self._start.constant(places.reshape(shape), "places")
            self._insides[key] = self._start.node(
                glow.LessOp, constant, self._length(form)
            )
        return self._insides[key]


def _number(number: float, value: SSAValue) -> float:
    """A number of a value's elements: the lowest or highest for minus or plus infinity."""
    dtype = dtype_of(element_of(value))
    if is_float(value):
        return number
    if dtype.kind == "b":
        return float(number > 0)
    ends = np.iinfo(dtype.name)
    if math.isinf(number):  # As a float the largest i64 would be one too large.
        return int(ends.max if number > 0 else ends.min)
    return int(number)


def axes_from_end(op: glow.SliceOp) -> list[int]:
    """The axes that a slice takes what is near the end of, as its mark tells."""
    listed = op.attributes.get(FROM_END)
    return list(map(int, array_values(listed))) if isa(listed, DenseArrayBase) else []


def is_float(value: SSAValue) -> bool:
    """Whether the elements are floats."""
    return (
        dtype_of(element_of(value)).kind not in "biu"
    )  # That of bf16 is none of NumPy's.


def mask_padding(function: FuncOp, name: str = PADDING) -> PaddedValues:
    """Mask what its marked arguments are padded with; an argument more tells how much that is.

    Returns the padding of all values; raises GlowError for what masks do not help, before
    which the function may have changed.
    """
    block = function.body.block
    padding = block.insert_arg(tensor_type((1,), i64), len(block.args))
    names = function.attributes.get(INPUT_NAMES)
    if isa(names, ArrayAttr[StringAttr]):
        function.attributes[INPUT_NAMES] = ArrayAttr([*names, StringAttr(name)])
    if function.arg_attrs is not None:
        function.arg_attrs = ArrayAttr([*function.arg_attrs, DictionaryAttr({})])
    found = follow_padding(function, Masks(function, padding))
    function.update_function_type()
    return found


class MaskPaddingPass(GraphPass):
    """Mask what the padded arguments of each function have beyond their end."""

    name = "mask-padding"
    preserves = MEANING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        for function in op.ops:
            if isinstance(function, FuncOp) and any(argument_axes(function)):
                mark_results(function, mask_padding(function))
