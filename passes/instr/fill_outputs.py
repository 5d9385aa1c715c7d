"""Leaves it to the caller to write an input into an output, where it goes nowhere else.

A language model gives back the keys and values that it takes, with those of one more word. Who
calls it with a past that is padded writes that past once more to pad it; as it can be written into
the output right away, the program need not copy it there.

    func.func @main(%past: memref<2x8x4xf32>, %x: memref<2x1x4xf32>, %all: memref<2x9x4xf32>)
      instr.insert @inout %all, @in %past offsets [0, 0, 0]
      instr.insert @inout %all, @in %new offsets [0, 8, 0]
  becomes
    func.func @main(...) attributes {glow.filled = [array<i64: 0, 2, 0, 0, 0>], ...}
      instr.insert @inout %all, @in %new offsets [0, 8, 0]

The attribute lists for each the number of the input, that of the output, and the offsets
(`function_attributes.py`). Nothing else may read the input, nor touch that part of the output
before. A copy into a run of the output, as a single head is, is left to the caller as well.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from glow.dialects import instr
from glow.dialects.function_attributes import (
    INPUT_COUNT,
    FilledOutput,
    set_filled_outputs,
)
from glow.dialects.node import shape_of
from glow.passes.instr.accesses import AccessTable, functions_of
from glow.passes.instr.buffers import item_size


def fill_outputs(function: FuncOp) -> None:
    """Remove what only writes an input into an output, and note it."""
    count = function.attributes.get(INPUT_COUNT)
    if not isinstance(count, IntegerAttr):
        return
    arguments: list[SSAValue] = list(function.body.block.args)
    outputs = arguments[count.value.data :]
    table = AccessTable(function.body.block)
    filled: list[FilledOutput] = []
    for number, past in enumerate(arguments[: count.value.data]):
        op = _only_use(past)
        found = None if op is None else _offsets(table, op)
        if op is None or found is None or found.output not in outputs:
            continue
        place = arguments.index(found.output)
        filled.append(FilledOutput(number, place, found.offsets))
        table.forget(op)
        op.detach()
        op.erase()
    if filled:
        set_filled_outputs(function, filled)


class _Place(NamedTuple):
    """Where an input is written."""

    output: SSAValue
    offsets: tuple[int, ...]


def _only_use(argument: SSAValue) -> instr.InsertOp | instr.CopyOp | None:
    """The instruction that writes an argument elsewhere, if nothing else uses it."""
    ops = [use.operation for use in argument.uses]
    is_written = len(ops) == 1 and isinstance(ops[0], instr.InsertOp | instr.CopyOp)
    return cast("instr.InsertOp", ops[0]) if is_written else None


def _offsets(table: AccessTable, op: instr.InsertOp | instr.CopyOp) -> _Place | None:
    """Where an instruction at the top level writes, if nothing touches the place before."""
    if op not in table.by_op:
        return None
    target = op.inouts[0] if isinstance(op, instr.InsertOp) else op.outs[0]
    place = table.place(target)
    before = [one for one in table.by_root[place.root] if one.at < table.position[op]]
    if place.path or any(one.place.overlaps(place) for one in before):
        return None
    if isinstance(op, instr.InsertOp):
        offsets = tuple(op.attributes_view().ints("offsets"))
        return _Place(target, offsets) if target is place.root else None
    run = _run_at(shape_of(op.ins[0]), shape_of(place.root), place.start, op)
    return None if run is None else _Place(place.root, run)


def _run_at(
    part: tuple[int, ...], whole: tuple[int, ...], start: int, op: instr.CopyOp
) -> tuple[int, ...] | None:
    """The offsets of a run of memory that is a box of a buffer; None where it is none."""
    if len(part) != len(whole) or 0 in whole:
        return None
    cut = next((a for a, n in enumerate(part) if n != whole[a]), 0)
    if any(size != 1 for size in part[:cut]) or part[cut + 1 :] != whole[cut + 1 :]:
        return None
    element = start // item_size(op.ins[0].type)
    offsets = np.unravel_index(element, whole)
    return tuple(int(offset) for offset in offsets)


class FillOutputsPass(ModulePass):
    """Leave the writing of inputs into outputs to the caller."""

    name = "fill-outputs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        for function in functions_of(op):
            fill_outputs(function)
